"""Machines that speak OPC UA: parameters are variables, a part is started by a variable or a method."""

import asyncio
import struct
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar, TypeVar

from adapters.opcua import contact
from adapters.opcua.browsing import described, variables
from adapters.opcua.certificates import files, fingerprint, make_own, own_fingerprint
from adapters.opcua.link import LINK_FAILURES, Link
from adapters.opcua.node_map import NODE_ID, Element, Node, OpcuaConnection, OpcuaSettings, Start, complaints_on
from adapters.opcua.variants import INTEGERS, variant
from tuner.adapter import AdapterError, AdapterSettings, LinkError, Offered, ParameterInfo, RefusedError
from tuner.basics.address import endpoint_address
from tuner.basics.sentences import say, written
from tuner.basics.text import shown
from tuner.handshake import HandshakeAdapter, Place, Raw, whole, with_bit

try:
    from asyncua import ua
    from asyncua.ua.attribute_ids import AttributeIds
    from asyncua.ua.uaerrors import UaStatusCodeError
except ImportError as error:
    raise ImportError('the OPC UA adapter needs asyncua: pip install "process-tuner[opcua]"') from error

T = TypeVar("T")

_REFUSALS = {
    "BadArgumentsMissing", "BadAttributeIdInvalid", "BadIdentityTokenInvalid", "BadIdentityTokenRejected",
    "BadInvalidArgument", "BadInvalidState", "BadMethodInvalid", "BadNodeIdInvalid", "BadNodeIdUnknown",
    "BadNotExecutable", "BadNotReadable", "BadNotSupported", "BadNotWritable", "BadOutOfRange", "BadRequestNotAllowed",
    "BadSecurityChecksFailed", "BadSecurityModeRejected", "BadSecurityPolicyRejected", "BadTooManyArguments",
    "BadTypeMismatch", "BadUserAccessDenied", "BadWriteNotSupported",
}  # fmt: skip
DEFAULT_PORT = 4840


class OpcuaAdapter(HandshakeAdapter[OpcuaSettings]):
    """A machine that speaks OPC UA; every value is written in the type its node has."""

    Settings: ClassVar[type[AdapterSettings]] = OpcuaSettings
    Connection: ClassVar[type[AdapterSettings] | None] = OpcuaConnection
    _link: Link | None = None
    _types: Mapping[str, ua.VariantType] = {}
    _pulse: threading.Event | None = None  # set when done was on since the part was ordered

    @classmethod
    def complaints(cls, settings: OpcuaSettings, parameters: Sequence[ParameterInfo]) -> Sequence[str]:
        """What is wrong with the node map."""
        return complaints_on(settings, parameters)

    @classmethod
    def occupies(cls, settings: OpcuaSettings) -> Sequence[str]:
        """The nodes that are written: one server may bear several machines; a namespace has a number and a name."""
        start = settings.trial.start
        parts = [_identifier(entry.node) for entry in settings.parameters.values()]
        if start.node:
            parts.append(_identifier(start.node))
        if start.object and start.method:  # objects of one kind may share the node of a method
            parts.append(f"{_identifier(start.object)}/{_identifier(start.method)}")
        return tuple(endpoint_address(settings.endpoint, DEFAULT_PORT, part) for part in parts)

    @classmethod
    def of_this_host(cls, settings: OpcuaSettings) -> Sequence[str]:
        """Files, and the variable of a password."""
        return (*super().of_this_host(settings), *(["password_env"] if settings.password_env else []))

    @classmethod
    def browse(cls, connection: OpcuaConnection, deadline_s: float) -> Sequence[Offered]:
        """All variables and methods below Objects, as they are written in the settings."""
        link = Link(connection, deadline_s / 4)  # which leaves time to find out why there is no answer
        try:
            link.run(link.connect(), deadline_s)
            return link.run(variables(link.client, link.namespaces, connection.namespace, deadline_s), deadline_s)
        except LINK_FAILURES as error:
            why = str(error) or say("opcua.says_nothing")
            raise LinkError(f"the machine at {connection.endpoint} does not show what it has: {why}") from error
        finally:
            link.close(polite=True)

    @classmethod
    def introduce(cls, settings: OpcuaSettings, deadline_s: float) -> Sequence[str]:
        """Make tuner's certificate unless it is there, and take the one that the machine shows."""
        if settings.security is None:
            return ("the configuration has no table security: there are no certificates to exchange",)
        where = files(settings, settings.security)
        made = make_own(where, settings.security.application_uri)
        told = [
            f"tuner's certificate {'was made' if made else 'is there'}: {where.certificate}, {own_fingerprint(where)}"
        ]
        if where.server.exists():
            return (*told, f"the machine's is there: {where.server}; remove the file first to take another one")
        try:
            endpoints = asyncio.run(asyncio.wait_for(contact.offered(settings, deadline_s), deadline_s))
        except Exception as error:  # whatever the library fails with
            why = contact.unreached(settings, deadline_s) or "look whether this is the port of an OPC UA server"
            raise LinkError(f"the machine at {settings.endpoint} shows no certificate: {why}") from error
        shown_one = next((one.ServerCertificate for one in endpoints if one.ServerCertificate), None)
        if not shown_one:
            raise RefusedError(f"the machine at {settings.endpoint}: {contact.unknown_server(where, None)}")
        try:
            where.server.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            where.server.write_bytes(shown_one)
        except OSError as error:
            raise RefusedError(f"the machine's certificate cannot be written: {error}") from error
        return (*told, f"the machine's was taken: {where.server}, fingerprint {fingerprint(shown_one)}")

    def _disconnect(self) -> None:
        self._drop(polite=True)

    def _where(self) -> str:
        return say("machine.named", address=self.settings.endpoint)

    def _drop(self, *, polite: bool = False) -> None:
        link, self._link, self._types, self._pulse = self._link, None, {}, None
        if link is not None:
            link.close(polite=polite)

    def _connect(self) -> None:
        """Try out an old connection before it is relied on: the machine may have been restarted since."""
        if self._link is not None:
            try:
                self._read(self._one_place())
            except LinkError:
                self._drop()
            except RefusedError:  # it answers; what is wrong with this place is told when it is needed
                pass
        if self._link is None:
            self._left_s(say("machine.did_not_answer"))
            self._link = Link(self.settings, self.settings.timeout_s)
            try:
                self._ask(say("machine.a_connection"), lambda link: link.connect())
            except AdapterError:
                self._drop()
                raise

    def _one_place(self) -> dict[str, Place]:
        trial = self.settings.trial
        place = trial.done or trial.made or trial.count
        return {} if place is None else {"trial.done": place}

    def _ask(self, what: str, request: Callable[[Link], Coroutine[Any, Any, T]]) -> T:
        """One request; a connection that failed is dropped, so that the next call makes a new one."""
        left_s = self._left_s(say("machine.did_not_answer_to", what=what))
        if self._link is None:
            raise LinkError(say("machine.connection_lost", where=self._where()))
        try:
            return self._link.run(request(self._link), left_s)
        except UaStatusCodeError as error:
            raise self._error(what, ua.StatusCode(error.code)) from error
        except LINK_FAILURES as error:
            self._drop()
            self._left_s(say("machine.did_not_answer_to", what=what))
            why = str(error) or type(error).__name__
            raise LinkError(say("machine.no_answer_to", where=self._where(), what=what, why=why)) from error

    def _error(self, what: str, status: ua.StatusCode) -> AdapterError:
        if status.name in _REFUSALS or status.name.startswith("BadCertificate"):
            return RefusedError(say("machine.refuses", where=self._where(), what=what, why=status.name))
        return LinkError(say("machine.cannot_answer", where=self._where(), what=what, why=status.name))

    def _read(self, places: Mapping[str, Place]) -> dict[str, Raw]:
        if not places:
            return {}

        async def read(link: Link) -> list[ua.DataValue]:
            ids = [link.node_id(_node(place)) for place in places.values()]
            return await link.client.uaclient.read_attributes(ids, AttributeIds.Value)

        answer = self._ask(", ".join(places), read)
        if len(answer) != len(places):
            raise LinkError(
                say(
                    "machine.other_count",
                    where=self._where(),
                    what=", ".join(places),
                    has=len(answer),
                    count=len(places),
                )
            )
        return {name: self._raw(name, place, data) for (name, place), data in zip(places.items(), answer, strict=True)}

    def _raw(self, name: str, place: Place, data: ua.DataValue) -> Raw:
        status, element = data.StatusCode, _element(place)
        if status is not None and not status.is_good():
            raise self._error(name, status)
        value = None if data.Value is None else data.Value.Value
        if element.fresh_s is not None:
            _check_fresh(name, element.fresh_s, data)
        if element.index is not None:
            value = _array(name, value, element.index)[element.index]
        if isinstance(value, ua.LocalizedText):
            value = value.Text or ""
        if isinstance(value, bool | int | float | str):
            return value
        raise LinkError(say("machine.neither", name=name, value=written(value)))

    def _kept(self, name: str, place: Place, raw: Raw) -> Raw:
        kind = self._type(name, _node(place))
        kept: Raw = variant(name, kind, raw).Value
        return struct.unpack("f", struct.pack("f", kept))[0] if kind is ua.VariantType.Float else kept

    def _write(self, values: Sequence[tuple[str, Place, Raw]]) -> None:
        sent: dict[str, ua.Variant] = {}
        names: dict[str, str] = {}
        for name, place, raw in values:
            node, index = _node(place), _element(place).index
            one = variant(name, self._type(name, node), raw)
            names[node] = f"{names[node]}, {name}" if node in names else f"{name} = {shown(one.Value)}"
            sent[node] = one if index is None else self._with_element(name, node, index, one, sent.get(node))

        async def write(link: Link) -> list[ua.StatusCode]:
            ids = [link.node_id(node) for node in sent]
            return await link.client.uaclient.write_attributes(ids, [ua.DataValue(v) for v in sent.values()])

        answer = self._ask(", ".join(name for name, _, _ in values), write)
        for node, status in zip(sent, answer, strict=True):
            if not status.is_good():
                raise self._error(names[node], status)

    def _with_element(
        self, name: str, node: str, index: int, one: ua.Variant, pending: ua.Variant | None
    ) -> ua.Variant:
        """The whole array with one element changed: many servers cannot write a single one."""
        if pending is None:

            async def read(link: Link) -> list[ua.DataValue]:
                return await link.client.uaclient.read_attributes([link.node_id(node)], AttributeIds.Value)

            data = self._ask(name, read)[0]
            pending = ua.Variant() if data.Value is None else data.Value
        array = list(_array(name, pending.Value, index))
        array[index] = one.Value
        return ua.Variant(array, one.VariantType, is_array=True)

    def _write_bit(self, name: str, place: Place, bit: int, raw: Raw) -> None:
        word = whole(name, self._read({name: place})[name])
        bits = self._tag_bits(name, place) or 64
        new = with_bit(name, word & (2**bits - 1), bit, raw)
        low, _ = INTEGERS.get(self._type(name, _node(place)), (0, 0))
        self._write([(name, place, new - 2**bits if low < 0 and new >= 2 ** (bits - 1) else new)])

    def _tag_bits(self, name: str, place: Place) -> int:
        low, high = INTEGERS.get(self._type(name, _node(place)), (0, 0))
        return (high - low).bit_length()

    def _address(self, place: Place) -> str:
        if isinstance(place, Start) and place.method is not None:
            return f"method {place.method} of {place.object}"
        element = _element(place)
        index = "" if element.index is None else f"[{element.index}]"
        return f"{_node(place)}{index}{'' if element.bit is None else f' bit {element.bit}'}"

    def _described(self, name: str, place: Place, *, written: bool) -> str:
        called = place if isinstance(place, Start) and place.method is not None else None
        node = called.method if called else _node(place)

        async def look(link: Link) -> str:
            owner = None if called is None else link.node_id(called.object or "")
            arguments = None if called is None else int(called.pass_tag)
            return await described(link.client, link.node_id(node or ""), owner, arguments, written=written)

        with self._lock:
            return self._ask(name, look)

    def _type(self, name: str, node: str) -> ua.VariantType:
        """The type of a node; where that is abstract, the type of the value it has."""
        if node not in self._types:

            async def read(link: Link) -> ua.VariantType:
                found = link.client.get_node(link.node_id(node))
                kind = await found.read_data_type_as_variant_type()
                if kind is not ua.VariantType.Variant:
                    return kind
                value = (await found.read_data_value()).Value
                return kind if value is None else value.VariantType

            self._types = {**self._types, node: self._ask(f"the type of {name}", read)}
        return self._types[node]

    def _rearm(self) -> None:
        """A method clears done itself, before it returns."""
        done = self.settings.trial.done
        if self.settings.trial.start.method is None or (done is not None and done.clear):
            super()._rearm()
        if done is not None and done.pulse:
            self._subscribe(done.node, done.on)

    def _subscribe(self, node: str, on: object) -> None:
        """Hear of done from now on; what it is at the beginning is no news."""
        pulse, first = threading.Event(), [True]

        def heard(value: object) -> None:
            if not first[0] and value == on:
                pulse.set()
            first[0] = False

        with self._lock:
            self._ask("a subscription to trial.done", lambda link: link.watch(link.node_id(node), heard))
            self._pulse = pulse

    def _done_stays(self) -> bool:
        done = self.settings.trial.done
        return done is not None and not done.pulse

    def _shows_done(self) -> bool:
        """A pulse was heard; who did not order the part itself has the tag that the machine shows."""
        done = self.settings.trial.done
        if done is None or not done.pulse:
            return super()._shows_done()
        if self._pulse is None:
            return self.settings.trial.made is not None
        if self._pulse.is_set():
            return True
        self._get(self._one_place())  # a link that is lost tells no pulse, and only who asks notices that
        return False

    def _started(self) -> bool:
        return self.settings.trial.start.method is None and super()._started()

    def _release(self) -> None:
        if self.settings.trial.start.method is None:
            super()._release()

    def _trigger(self, tag: str) -> None:
        start, place = self.settings.trial.start, self.settings.trial.tag
        if start.method is None or start.object is None:
            super()._trigger(tag)
            return
        method, owner = start.method, start.object
        arguments = [ua.Variant(tag, ua.VariantType.String)] if start.pass_tag else []
        if place and not start.pass_tag:
            self._put([("trial.tag", place, self._told("trial.tag", place, tag))])

        async def call(link: Link) -> None:
            await link.client.get_node(link.node_id(owner)).call_method(link.node_id(method), *arguments)

        with self._lock:
            self._ask("trial.start", call)


def _node(place: Place) -> str:
    node = place.node if isinstance(place, Node | Start) else None
    if node is None:
        raise TypeError(f"{place!r} is not a variable")
    return node


def _element(place: Place) -> Element:
    if not isinstance(place, Element):
        raise TypeError(f"{place!r} is not a variable")
    return place


def _array(name: str, value: object, index: int) -> Sequence[Any]:
    if not isinstance(value, list):
        raise LinkError(say("opcua.no_array", name=name, value=written(value)))
    if index >= len(value):
        raise RefusedError(say("opcua.no_element", name=name, count=len(value), index=index))
    return value


def _check_fresh(name: str, fresh_s: float, data: ua.DataValue) -> None:
    """Compare the server's two times with each other where it tells both: our own clock may be another."""
    measured = data.SourceTimestamp
    if measured is None:
        raise LinkError(say("opcua.no_time", name=name))
    now = data.ServerTimestamp or datetime.now(measured.tzinfo or UTC)
    if (now.tzinfo is None) != (measured.tzinfo is None):
        now = now.replace(tzinfo=measured.tzinfo)
    age_s = (now - measured).total_seconds()
    if age_s > fresh_s:
        raise LinkError(say("opcua.stale", name=name, seconds=age_s))


def _identifier(node: str) -> str:
    """A node id without its namespace."""
    match = NODE_ID.fullmatch(node)
    return match["identifier"] if match else node
