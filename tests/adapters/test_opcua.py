import asyncio
import json
import math
import socket
import sys
import threading
import time
from pathlib import Path

import pytest
from asyncua import Server, ua
from asyncua.common.callback import CallbackType
from asyncua.common.utils import ServiceError
from asyncua.crypto.cert_gen import setup_self_signed_certificate
from asyncua.crypto.permission_rules import User, UserRole
from asyncua.server.binary_server_asyncio import BinaryServer
from cryptography.x509.oid import ExtendedKeyUsageOID
from pydantic import ValidationError

from adapters.opcua import OpcuaAdapter
from adapters.opcua_map import OpcuaSettings
from tests.adapters.hands import Hurry, changed
from tuner.adapter import DeadlineError, LinkError, ParameterInfo, RefusedError
from tuner.config import load_config
from tuner.plugins import AdapterNotFoundError, load_adapter
from tuner.testing import LinkConformance

URI = "urn:example:press"
PARAMETERS = (
    ParameterInfo("temperature", "stepped", 230.0, 200.0, 300.0, 0.5, tolerance=0.05),
    ParameterInfo("speed", "continuous", 80.0, 20.0, 150.0, tolerance=0.01),
    ParameterInfo("pressure", "integer", 400, 200, 700),
    ParameterInfo("cooling", "choice", "water", choices=("water", "oil")),
)
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
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(30)

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
        self.thread.join(10)
        self.loop.close()

    def put(self, name, value, status=None):
        variant = ua.Variant(value, NODES[name][1])
        data = ua.DataValue(variant, StatusCode=ua.StatusCode(status)) if status else ua.DataValue(variant)
        self.run(self.nodes[name].write_value(data))

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


@pytest.fixture(scope="module")
def plant(tmp_path_factory):
    press = Press(tmp_path_factory.mktemp("press"))
    yield press
    press.close()


@pytest.fixture
def press(plant):
    plant.reset()
    return plant


@pytest.fixture
def adapters(press):
    made = []
    before = set(threading.enumerate())

    def make(*, opened=True, **changes):
        made.append(made_from(press.endpoint, **changes))
        if opened:
            made[-1].open(10.0)
        return made[-1]

    yield make
    for adapter in made:
        adapter.close()
    for thread in set(threading.enumerate()) - before:
        thread.join(5)
        assert not thread.is_alive()


@pytest.fixture
def adapter(adapters):
    return adapters()


@pytest.fixture
def hurried(adapters):
    hurry = Hurry()
    return lambda **changes: adapters(sleep=hurry.sleep, clock=hurry.clock, **changes)


def test_it_is_found_by_its_entry_point():
    assert load_adapter("opcua") is OpcuaAdapter


def test_without_its_library_it_says_which_extra_to_install(monkeypatch):
    monkeypatch.delitem(sys.modules, "adapters.opcua")
    monkeypatch.delitem(sys.modules, "adapters.opcua_link")
    monkeypatch.setitem(sys.modules, "asyncua", None)
    with pytest.raises(AdapterNotFoundError, match=r'needs asyncua: pip install "process-tuner\[opcua\]"'):
        load_adapter("opcua")


def test_the_sample_configuration_is_right():
    config = load_config(Path(__file__).parents[2] / "configs" / "opcua.toml")
    assert config.campaigns[0].adapter.settings.parameters["injection_speed"].scale == 1000.0


def test_a_setting_is_written_in_the_types_of_the_nodes_and_read_back_in_ours(adapter, press):
    adapter.apply({**GOOD, "temperature": 230}, 5.0)  # an integer for a Double
    assert press.get("Temperature") == 230.0
    assert press.get("Speed") == pytest.approx(0.08125)
    assert press.get("Pressure") == 400
    assert press.get("Cooling") == 2
    back = adapter.read_back(5.0)
    assert back == {**GOOD, "speed": pytest.approx(81.25)}
    assert [type(value) for value in back.values()] == [float, float, int, str]


def test_a_read_back_node_of_its_own_is_used(adapter, press):
    adapter.apply(GOOD, 5.0)
    press.put("ActivePressure", 399)  # the machine took another value than it was told
    assert adapter.read_back(5.0)["pressure"] == 399


def test_a_choice_without_codes_is_written_as_text(adapters, press):
    adapter = adapters(parameters__cooling={"node": "s=Medium"})
    adapter.apply(GOOD, 5.0)
    assert press.get("Medium") == "oil"
    assert adapter.read_back(5.0)["cooling"] == "oil"


@pytest.mark.parametrize("node", ["ns={index};s=Temperature", "nsu=urn:example:press;s=Temperature"])
def test_a_namespace_can_be_given_by_its_number_or_its_uri(adapters, press, node):
    adapter = adapters(parameters__temperature={"node": node.format(index=press.index)})
    adapter.apply(GOOD, 5.0)
    assert press.get("Temperature") == 230.0


def test_where_the_type_of_a_node_is_abstract_that_of_its_value_is_used(adapters, press):
    adapter = adapters(parameters__temperature={"node": "s=Number"})
    adapter.apply(GOOD, 5.0)
    assert press.get("Number") == 230.0


def test_a_localized_text_can_be_the_reason(adapters, press):
    adapter = adapters(trial__reason={"node": "s=Note"})
    adapter.apply({**GOOD, "temperature": 260.0}, 5.0)
    assert adapter.run_trial("A1", 5.0).reason == "part stuck"


def test_a_text_node_takes_no_other_kind(adapters):
    adapter = adapters(parameters__temperature={"node": "s=Note"})
    with pytest.raises(RefusedError, match="of type LocalizedText"):
        adapter.apply(GOOD, 5.0)


def test_a_method_without_the_tag_needs_done_cleared_and_the_tag_is_written(adapters, press):
    start = {"object": "s=Press", "method": "s=MakeAny"}
    adapter = adapters(trial__start=start, trial__done={"node": "s=Done", "clear": True})
    for tag in ("A1", "A2", "A2"):
        assert adapter.run_trial(tag, 5.0).valid
    assert press.parts == ["A1", "A2"]


def test_a_few_settings_in_a_row_make_parts_with_their_outcomes(adapter, press):
    for number, temperature in enumerate([230.0, 251.0, 240.5]):
        adapter.apply({**GOOD, "temperature": temperature}, 5.0)
        assert adapter.read_back(5.0)["temperature"] == temperature
        outcome = adapter.run_trial(f"A{number}", 5.0)
        assert outcome.valid == (temperature <= 250)
        assert outcome.reason == ("" if outcome.valid else "short shot")
        assert outcome.measurements == ({"weight_g": 42.5} if outcome.valid else {})
    assert press.parts == ["A0", "A1", "A2"]


def test_the_same_tag_again_is_the_same_part_also_for_a_new_adapter(adapter, adapters, press):
    first = adapter.run_trial("A7", 5.0)
    assert adapters().run_trial("A7", 5.0) == first
    assert press.parts == ["A7"]


def test_a_method_can_start_a_part_and_be_given_its_tag(adapters, press):
    start = {"object": "s=Press", "method": "s=MakePart", "pass_tag": True}
    adapter = adapters(trial__start=start)
    for tag in ("A1", "A2", "A2"):
        assert adapter.run_trial(tag, 5.0).valid
    assert press.parts == ["A1", "A2"]
    with pytest.raises(RefusedError, match=r"refuses trial\.start: BadInvalidState"):
        adapter.run_trial("no", 5.0)


def test_while_the_machine_makes_another_part_none_is_ordered(hurried, press):
    adapter = hurried(trial__busy={"node": "s=Busy"})
    press.put("Busy", True)
    with pytest.raises(DeadlineError, match="another part"):
        adapter.run_trial("A1", 20.0)
    assert press.parts == []


def test_where_the_machine_shows_the_finished_tag_only_that_counts_as_done(hurried, press):
    adapter = hurried(trial__made={"node": "s=Made"})
    assert adapter.run_trial("A1", 20.0).valid
    press.put("Made", "A0")
    with pytest.raises(DeadlineError, match="did not finish part A1"):
        adapter.run_trial("A1", 20.0)


def test_a_part_that_takes_too_long_is_a_missed_deadline_and_the_order_is_withdrawn(hurried, press):
    adapter = hurried()
    press.looks_per_part = None
    with pytest.raises(DeadlineError, match=r"did not finish part A1 within 20 s") as caught:
        adapter.run_trial("A1", 20.0)
    assert caught.value.retry
    assert press.get("Start") is False


def test_an_alarm_during_the_trial_is_an_outcome_with_its_reason(adapter, press):
    press.alarm_in_part, press.looks_per_part = 101, None
    outcome = adapter.run_trial("A1", 5.0)
    assert not outcome.valid
    assert outcome.reason == "the mould does not close"
    assert press.get("Start") is False


def test_an_alarm_before_the_trial_forbids_it(adapter, press):
    press.put("Alarm", 7)
    with pytest.raises(RefusedError, match="alarm 7"):
        adapter.run_trial("A1", 5.0)
    assert press.parts == []


def test_health_tells_readiness_and_interlocks(adapter, press):
    health = adapter.health(5.0)
    assert health.ok
    assert health.interlocks == {"guard": True}
    press.put("Guard", False)
    assert adapter.health(5.0).interlocks == {"guard": False}
    press.put("Mode", 1)
    health = adapter.health(5.0)
    assert not health.ok
    assert "not ready" in health.text


def test_what_the_machine_refuses_is_refused(adapter, press):
    press.refuse_write = True
    with pytest.raises(RefusedError, match="BadOutOfRange") as caught:
        adapter.apply(GOOD, 5.0)
    assert not caught.value.retry


def test_a_node_that_cannot_be_written_is_refused_and_named(adapters):
    adapter = adapters(parameters__pressure={"node": "s=ActivePressure"})
    with pytest.raises(RefusedError, match=r"refuses pressure = 400: Bad(NotWritable|UserAccessDenied)"):
        adapter.apply(GOOD, 5.0)


def test_a_node_that_is_not_there_is_refused_and_named(adapters):
    adapter = adapters(parameters__pressure={"node": "s=Nothing"})
    with pytest.raises(RefusedError, match="refuses pressure: BadNodeIdUnknown"):
        adapter.read_back(5.0)


def test_a_namespace_that_is_not_there_is_refused(adapters):
    adapter = adapters(opened=False, namespace="urn:example:nowhere")
    adapter.open(5.0)
    with pytest.raises(RefusedError, match='no namespace "urn:example:nowhere"'):
        adapter.read_back(5.0)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"parameters__temperature": {"node": "s=Text"}}, r"temperature = 230\.0 does not fit .* of type String"),
        ({"parameters__cooling": {"node": "s=Pressure2"}}, "BadNodeIdUnknown"),
        ({"parameters__pressure": {"node": "s=Valid"}}, r"pressure = 400\.0 does not fit .* of type Boolean"),
        ({"parameters__pressure": {"node": "s=Pressure", "scale": 0.001}}, "does not fit .* of type UInt16"),
    ],
)
def test_a_node_of_another_type_takes_no_value_and_nothing_is_written(adapters, press, change, sentence):
    adapter = adapters(**change)
    with pytest.raises(RefusedError, match=sentence):
        adapter.apply(GOOD, 5.0)
    assert press.get("Temperature") == 0.0


@pytest.mark.parametrize(
    ("node", "sentence"),
    [
        ("s=Text", 'temperature reads "twelve", which is not a number'),
        ("s=Guard", "temperature reads true, which is not a number"),
        ("s=Numbers", "temperature reads a list, which is neither a number nor a text"),
    ],
)
def test_a_node_of_another_type_is_nonsense_when_it_is_read(adapters, node, sentence):
    adapter = adapters(parameters__temperature={"node": node})
    with pytest.raises(LinkError, match=sentence):
        adapter.read_back(5.0)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_number_that_is_not_finite_is_nonsense_with_the_parameters_name(adapter, press, value):
    press.put("Temperature", value)
    with pytest.raises(LinkError, match=r"temperature reads .* not a finite number"):
        adapter.read_back(5.0)


def test_a_value_with_a_bad_status_is_worth_another_try(adapter, press):
    press.put("Temperature", 230.0, ua.StatusCodes.BadSensorFailure)
    with pytest.raises(LinkError, match="temperature: BadSensorFailure") as caught:
        adapter.read_back(5.0)
    assert caught.value.retry


def test_a_code_that_stands_for_no_choice_is_nonsense(adapter, press):
    press.put("Cooling", 9)
    with pytest.raises(LinkError, match='cooling reads 9, which stands for none of "water", "oil"'):
        adapter.read_back(5.0)


def test_the_machine_goes_and_comes_back_and_the_next_call_finds_it(adapter, press):
    adapter.apply(GOOD, 5.0)
    press.off()
    try:
        with pytest.raises(LinkError) as caught:
            adapter.read_back(2.0)
        assert caught.value.retry
        assert not adapter.health(2.0).ok
    finally:
        press.on()
    assert adapter.read_back(10.0)["pressure"] == 400


def test_a_restart_between_two_calls_is_not_noticed(adapter, press):
    adapter.apply(GOOD, 5.0)
    press.off()
    press.on()
    assert adapter.read_back(10.0)["pressure"] == 400


def test_a_machine_that_goes_during_a_trial_is_a_lost_link_and_the_part_is_found_afterwards(press):
    press.looks_per_part = 1000
    naps = []

    def nap(seconds):
        naps.append(seconds)
        if len(naps) == 2:
            press.off()

    adapter = made_from(press.endpoint, sleep=nap)
    adapter.open(10.0)
    with pytest.raises(LinkError):
        adapter.run_trial("A1", 5.0)
    press.on()
    press.looks = 1
    assert adapter.run_trial("A1", 10.0).valid
    assert press.parts == ["A1"]
    adapter.close()


def test_a_machine_that_takes_the_call_and_says_nothing_is_a_missed_deadline_or_a_lost_link():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        endpoint = f"opc.tcp://127.0.0.1:{listener.getsockname()[1]}"
        adapter = made_from(endpoint, timeout_s=0.1)
        with pytest.raises(LinkError, match="does not answer to a connection"):
            adapter.open(5.0)
        with pytest.raises(DeadlineError, match=r"within 0\.05 s"):
            adapter.open(0.05)
        adapter.close()


def test_a_server_that_speaks_another_protocol_is_a_lost_link():
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def chat():
            connection, _ = listener.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=chat)
        thread.start()
        adapter = made_from(f"opc.tcp://127.0.0.1:{listener.getsockname()[1]}", timeout_s=1.0)
        with pytest.raises(LinkError):
            adapter.open(5.0)
        adapter.close()
        thread.join(5)


def test_it_can_be_closed_twice_and_does_not_answer_afterwards(adapter):
    adapter.close()
    adapter.close()
    with pytest.raises(LinkError, match="is closed"):
        adapter.read_back(1.0)
    assert not adapter.health(1.0).ok
    adapter.open(5.0)
    assert adapter.health(5.0).ok


class TestConformance(LinkConformance):
    adapter = OpcuaAdapter
    parameters = PARAMETERS

    @pytest.fixture
    def settings(self, press):
        self.press, self.lost = press, False
        yield OpcuaSettings.model_validate_json(json.dumps({"endpoint": press.endpoint, **table()}))
        press.reset()
        if self.lost:
            press.on()

    def lose_machine(self):
        self.press.off()
        self.lost = True

    def return_machine(self):
        self.press.on()
        self.lost = False

    def mute_machine(self):
        self.press.mute()


def security(directory, **changes):
    return {
        "certificate_file": str(directory / "tuner.der"),
        "key_file": str(directory / "tuner.pem"),
        "server_certificate_file": str(directory / "server.der"),
        **changes,
    }


def test_a_signed_and_encrypted_session_with_a_password_from_a_file_or_the_environment(
    adapters, press, tmp_path, monkeypatch
):
    (tmp_path / "password").write_text("secret\n")
    monkeypatch.setenv("PRESS_PASSWORD", "secret")
    for source in ({"password_file": str(tmp_path / "password")}, {"password_env": "PRESS_PASSWORD"}):
        adapter = adapters(security=security(press.directory), user="tuner", **source)
        adapter.apply(GOOD, 5.0)
        assert adapter.read_back(5.0)["pressure"] == 400


def test_a_wrong_password_is_refused(adapters, press, monkeypatch):
    monkeypatch.setenv("PRESS_PASSWORD", "guess")
    source = {"password_env": "PRESS_PASSWORD"}
    adapter = adapters(opened=False, security=security(press.directory), user="tuner", **source)
    with pytest.raises(RefusedError, match="refuses a connection: Bad"):
        adapter.open(5.0)


@pytest.mark.parametrize("source", [{"password_file": "/nowhere/password"}, {"password_env": "NO_SUCH_PASSWORD"}])
def test_a_password_that_cannot_be_found_is_told(adapters, source):
    adapter = adapters(opened=False, user="tuner", **source)
    with pytest.raises(RefusedError, match="password"):
        adapter.open(5.0)


def test_a_server_with_another_certificate_than_the_expected_is_not_trusted(adapters, press):
    wrong = security(press.directory, server_certificate_file=str(press.directory / "tuner.der"))
    adapter = adapters(opened=False, security=wrong, timeout_s=0.5)
    with pytest.raises((LinkError, RefusedError)):
        adapter.open(5.0)


def test_a_certificate_that_cannot_be_read_is_told(adapters, press):
    adapter = adapters(opened=False, security=security(press.directory, key_file="/nowhere/key.pem"))
    with pytest.raises(RefusedError, match="certificates"):
        adapter.open(5.0)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"parameters__speed": None}, "parameters.speed is missing: where the machine keeps it"),
        (
            {"parameters__sped": {"node": "s=X"}},
            'parameters.sped is no parameter of the campaign; did you mean "speed"?',
        ),
        ({"parameters__speed__codes": {"a": 1}}, "parameters.speed is a number, it has no codes"),
        ({"parameters__cooling__codes": {"water": 1}}, 'parameters.cooling.codes lacks "oil"'),
        (
            {"parameters__cooling__codes": {"water": 1, "oil": 2, "air": 3}},
            'parameters.cooling.codes has "air", which cannot be chosen',
        ),
        ({"parameters__cooling__codes": {"water": 1, "oil": 1}}, "parameters.cooling.codes has the same code twice"),
        ({"parameters__speed": {"node": "s=Start"}}, "trial.start and parameters.speed are both written at s=Start"),
        (
            {"parameters__speed": {"node": "s=S", "read_node": "s=ActivePressure"}},
            "parameters.pressure and parameters.speed are both read back at s=ActivePressure",
        ),
        ({"trial__tag": None, "trial__made": {"node": "s=Made"}}, "trial.made needs trial.tag"),
        ({"user": "tuner"}, "a user needs either password_file or password_env"),
        ({"password_env": "X"}, "a password needs a user"),
        ({"trial__start": {"object": "s=P", "method": "s=M"}}, "trial.tag with a start method needs start.pass_tag"),
    ],
)
def test_a_map_that_does_not_fit_is_complained_about(changes, sentence):
    settings = OpcuaSettings.model_validate_json(json.dumps({"endpoint": "opc.tcp://host:4840", **table(**changes)}))
    found = OpcuaAdapter.complaints(settings, PARAMETERS)
    assert len(found) == 1
    assert found[0].startswith(sentence)


@pytest.mark.parametrize(
    "changes",
    [
        {"endpoint": "http://host"},
        {"endpoint": "opc.tcp://tuner:secret@host:4840"},  # a password does not belong into a file that is read by all
        {"parameters__speed": {"node": "Speed"}},
        {"parameters__speed": {"node": "ns=x;s=Speed"}},
        {"parameters__speed": {"node": "s=Speed", "scale": 0.0}},
        {"parameters__speed": {"node": "s=Speed", "tyop": "x"}},
        {"trial__start": {}},
        {"trial__start": {"method": "s=M"}},
        {"trial__start": {"node": "s=S", "pass_tag": True}},
    ],
)
def test_settings_that_make_no_sense_are_not_accepted(changes):
    with pytest.raises(ValidationError):
        OpcuaSettings.model_validate_json(json.dumps({"endpoint": "opc.tcp://host:4840", **table(**changes)}))
