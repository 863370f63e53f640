"""A moulding machine behind a real OPC UA server on loopback, and the settings to reach it."""

import asyncio
import json
import socket
import threading
import time
from datetime import UTC, datetime, timedelta

from asyncua import Server, ua
from asyncua.common.callback import CallbackType
from asyncua.common.utils import ServiceError
from asyncua.crypto.cert_gen import setup_self_signed_certificate
from asyncua.crypto.permission_rules import User, UserRole
from asyncua.server.binary_server_asyncio import BinaryServer
from cryptography.x509.oid import ExtendedKeyUsageOID

from adapters.opcua import OpcuaAdapter
from adapters.opcua.node_map import OpcuaSettings
from tests.adapters.helpers import PARAMETERS, changed
from tests.patience import PATIENT_S

URI = "urn:example:press"
GOOD = {"temperature": 230.0, "speed": 81.25, "pressure": 400, "cooling": "oil"}
NODES = {
    "Temperature": (0.0, ua.VariantType.Double),
    "Speed": (0.0, ua.VariantType.Float),
    "Pressure": (0, ua.VariantType.UInt16),
    "ActivePressure": (0, ua.VariantType.UInt16),
    "Cooling": (1, ua.VariantType.Byte),
    "Medium": ("water", ua.VariantType.String),
    "Start": (False, ua.VariantType.Boolean),
    "Done": (False, ua.VariantType.Boolean),
    "Valid": (False, ua.VariantType.Boolean),
    "Busy": (False, ua.VariantType.Boolean),
    "Reason": ("", ua.VariantType.String),
    "Tag": ("", ua.VariantType.String),
    "Made": ("", ua.VariantType.String),
    "Alarm": (0, ua.VariantType.Int32),
    "Mode": (3, ua.VariantType.Int16),
    "Guard": (True, ua.VariantType.Boolean),
    "Weight": (0.0, ua.VariantType.Double),
    "Text": ("twelve", ua.VariantType.String),
    "Numbers": ([1.0, 2.0], ua.VariantType.Double),
    "Number": (0.0, ua.VariantType.Float),
    "Order": (0, ua.VariantType.UInt32),
    "Note": (ua.LocalizedText("part stuck"), ua.VariantType.LocalizedText),
}
ABSTRACT = {"Number": ua.NodeId(ua.ObjectIds.Number)}  # data types that leave open how a value is stored
READ_ONLY = {"ActivePressure", "Weight", "Guard"}


def table(**changes):
    """The settings as a TOML file would give them; `trial__tag=None` leaves an entry out."""
    settings = {
        "namespace": URI,
        "poll_interval_s": 0.005,
        "parameters": {
            "temperature": {"node": "s=Temperature"},
            "speed": {"node": "s=Speed", "scale": 1000.0},
            "pressure": {"node": "s=Pressure", "read_node": "s=ActivePressure"},
            "cooling": {"node": "s=Cooling", "codes": {"water": 1, "oil": 2}},
        },
        "trial": {
            "start": {"node": "s=Start"},
            "done": {"node": "s=Done"},
            "valid": {"node": "s=Valid"},
            "reason": {"node": "s=Reason"},
            "tag": {"node": "s=Tag"},
        },
        "state": {
            "alarm": {"node": "s=Alarm", "codes": {"101": "the mould does not close"}},
            "ready": {"node": "s=Mode", "on": 3},
        },
        "interlocks": {"guard": {"node": "s=Guard"}},
        "measurements": {"weight_g": {"node": "s=Weight"}},
    }
    return changed(settings, changes)


def made_from(endpoint, sleep=time.sleep, clock=time.monotonic, **changes):
    settings = OpcuaSettings.model_validate_json(json.dumps({"endpoint": endpoint, **table(**changes)}))
    assert OpcuaAdapter.complaints(settings, PARAMETERS) == []
    return OpcuaAdapter(settings, PARAMETERS, sleep, clock)


class Users:
    def get_user(self, iserver, username=None, password=None, certificate=None):
        return User(role=UserRole.User) if username is None or (username, password) == ("tuner", "secret") else None


class Press:
    """A moulding machine behind a real server on loopback, in a thread of its own, that can be switched off and on."""

    def __init__(self, directory):
        self.directory = directory
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()
        self.nodes = {}
        self.port = 0
        self.speaking = asyncio.Event()
        self.run(self.build())
        self.reset()
        self.on()

    def run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(PATIENT_S)

    @property
    def endpoint(self):
        return f"opc.tcp://127.0.0.1:{self.port}/press"

    async def build(self):
        self.server = server = Server(user_manager=Users())
        await server.init()
        server.set_endpoint("opc.tcp://127.0.0.1:0/press")
        usage = {"server": ExtendedKeyUsageOID.SERVER_AUTH, "tuner": ExtendedKeyUsageOID.CLIENT_AUTH}
        uris = {"server": "urn:freeopcua:python:server", "tuner": "urn:process-tuner"}
        for name in ("server", "tuner"):
            key, certificate = self.directory / f"{name}.pem", self.directory / f"{name}.der"
            await setup_self_signed_certificate(key, certificate, uris[name], socket.gethostname(), [usage[name]], {})
        await server.load_certificate(str(self.directory / "server.der"))
        await server.load_private_key(str(self.directory / "server.pem"))
        server.set_security_policy(
            [ua.SecurityPolicyType.NoSecurity, ua.SecurityPolicyType.Basic256Sha256_SignAndEncrypt]
        )
        await server.register_namespace("urn:example:other")
        self.index = index = await server.register_namespace(URI)
        press = await server.nodes.objects.add_object(ua.NodeId("Press", index), "Press")
        for name, (value, kind) in NODES.items():
            node_id = ua.NodeId(name, index)
            self.nodes[name] = await press.add_variable(node_id, name, value, kind, ABSTRACT.get(name))
            if name not in READ_ONLY:
                await self.nodes[name].set_writable()
        await press.add_method(ua.NodeId("MakePart", index), "MakePart", self.make_part, [ua.VariantType.String], [])
        await press.add_method(ua.NodeId("MakeAny", index), "MakeAny", self.make_any, [], [])
        server.subscribe_server_callback(CallbackType.PreWrite, self.before_write)
        server.subscribe_server_callback(CallbackType.PostWrite, self.after_write)
        server.subscribe_server_callback(CallbackType.PreRead, self.before_read)
        await server.start()
        self.port = server.bserver._server.sockets[0].getsockname()[1]
        await server.bserver.stop()

    def reset(self):
        self.parts = []
        self.pulse = False
        self.loop.call_soon_threadsafe(self.speaking.set)
        self.looks_per_part, self.looks, self.alarm_in_part, self.refuse_write, self.started = 3, None, 0, False, False
        for name, (value, _) in NODES.items():
            self.put(name, value)

    def on(self):
        self.run(self._on())

    async def _on(self):
        self.server.bserver = BinaryServer(self.server.iserver, "127.0.0.1", self.port, self.server.limits)
        self.server.bserver.set_policies(self.server._policies)
        await self.server.bserver.start()

    def off(self):
        self.run(self.server.bserver.stop())

    def close(self):
        self.run(self.server.stop())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(PATIENT_S)
        self.loop.close()

    def put(self, name, value, status=None):
        variant = ua.Variant(value, NODES[name][1])
        data = ua.DataValue(variant, StatusCode=ua.StatusCode(status)) if status else ua.DataValue(variant)
        self.run(self.nodes[name].write_value(data))

    def age(self, name, hours):
        """Its value was measured so long ago."""
        measured = datetime.now(UTC) - timedelta(hours=hours)
        variant = ua.Variant(NODES[name][0], NODES[name][1])
        self.run(self.nodes[name].write_value(ua.DataValue(variant, SourceTimestamp=measured)))

    def get(self, name):
        return self.run(self.nodes[name].read_value())

    def mute(self):
        self.loop.call_soon_threadsafe(self.speaking.clear)

    async def before_write(self, event, _service):
        if event.is_external:
            await self.speaking.wait()
        if event.is_external and self.refuse_write:
            raise ServiceError(ua.StatusCodes.BadOutOfRange)

    async def after_write(self, event, _service):
        if not event.is_external:
            return
        for item in event.request_params.NodesToWrite:
            if item.NodeId == self.nodes["Pressure"].nodeid:
                await self.set("ActivePressure", item.Value.Value.Value)
            if item.NodeId == self.nodes["Start"].nodeid:
                await self.start(item.Value.Value.Value)

    async def before_read(self, event, _service):
        if event.is_external:
            await self.speaking.wait()
        done = self.nodes["Done"].nodeid
        looked = event.is_external and any(item.NodeId == done for item in event.request_params.NodesToRead)
        if looked and self.looks is not None and self.started:
            self.looks -= 1
            if self.looks <= 0:
                await self.finish()

    async def set(self, name, value):
        await self.nodes[name].write_value(ua.Variant(value, NODES[name][1]))

    async def start(self, on):
        if on and not self.started:
            self.parts.append(await self.nodes["Tag"].read_value())
            self.looks = self.looks_per_part
            await self.set("Alarm", self.alarm_in_part)
            if self.pulse:
                await self.finish()
        if not on:
            await self.set("Done", False)
        self.started = on

    async def finish(self):
        self.looks = None
        hot = await self.nodes["Temperature"].read_value() > 250
        await self.set("Valid", not hot)
        await self.set("Reason", "short shot" if hot else "")
        await self.set("Weight", 42.5)
        await self.set("Made", await self.nodes["Tag"].read_value())
        await self.set("Done", True)
        if self.pulse:  # on for a moment only
            await self.set("Done", False)

    async def make_part(self, _parent, tag):
        if tag.Value == "no":
            return ua.StatusCode(ua.StatusCodes.BadInvalidState)
        await self.set("Done", False)
        await self.set("Tag", tag.Value)
        self.started = False
        await self.start(True)
        return []

    async def make_any(self, _parent):
        self.started = False
        await self.start(True)
        return []
