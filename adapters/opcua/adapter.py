"""Machines that speak OPC UA: parameters are variables, a part is started by a variable or a method."""

import math
import struct
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from adapters.opcua.link import LINK_FAILURES, Link
from adapters.opcua.node_map import NODE_ID, Node, OpcuaSettings, Start, complaints_on
from adapters.shared.handshake import HandshakeAdapter
from adapters.shared.signals import Place, Raw
from tuner.adapter import AdapterError, AdapterSettings, LinkError, ParameterInfo, RefusedError
from tuner.basics.address import endpoint_address
from tuner.basics.text import shown

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
_INTEGERS = {
    ua.VariantType.SByte: (-(2**7), 2**7 - 1), ua.VariantType.Byte: (0, 2**8 - 1),
    ua.VariantType.Int16: (-(2**15), 2**15 - 1), ua.VariantType.UInt16: (0, 2**16 - 1),
    ua.VariantType.Int32: (-(2**31), 2**31 - 1), ua.VariantType.UInt32: (0, 2**32 - 1),
    ua.VariantType.Int64: (-(2**63), 2**63 - 1), ua.VariantType.UInt64: (0, 2**64 - 1),
}  # fmt: skip
_LARGEST_FLOAT = 3.4028234e38
DEFAULT_PORT = 4840


class OpcuaAdapter(HandshakeAdapter[OpcuaSettings]):
    """A machine that speaks OPC UA; every value is written in the type its node has."""

    Settings: ClassVar[type[AdapterSettings]] = OpcuaSettings
    _link: Link | None = None
    _types: Mapping[str, ua.VariantType] = {}

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

    def close(self) -> None:
        """End the session."""
        self._opened = False
        self._drop(polite=True)

    def _where(self) -> str:
        return f"the machine at {self.settings.endpoint}"

    def _drop(self, *, polite: bool = False) -> None:
        link, self._link, self._types = self._link, None, {}
        if link is not None:
            link.close(polite=polite)

    def _connect(self) -> None:
        """Try out an old connection before it is relied on: the machine may have been restarted since."""
        if self._link is not None:
            try:
                self._one("trial.done", self.settings.trial.done)
            except LinkError:
                self._drop()
        if self._link is None:
            self._left_s("did not answer")
            self._link = Link(self.settings)
            try:
                self._ask("a connection", lambda link: link.connect())
            except AdapterError:
                self._drop()
                raise

    def _ask(self, what: str, request: Callable[[Link], Coroutine[Any, Any, T]]) -> T:
        """One request; a connection that failed is dropped, so that the next call makes a new one."""
        left_s = self._left_s(f"did not answer to {what}")
        if self._link is None:
            raise LinkError(f"the connection to {self._where()} is lost")
        try:
            return self._link.run(request(self._link), left_s)
        except UaStatusCodeError as error:
            raise self._error(what, ua.StatusCode(error.code)) from error
        except LINK_FAILURES as error:
            self._drop()
            self._left_s(f"did not answer to {what}")
            raise LinkError(f"{self._where()} does not answer to {what}: {error or type(error).__name__}") from error

    def _error(self, what: str, status: ua.StatusCode) -> AdapterError:
        if status.name in _REFUSALS or status.name.startswith("BadCertificate"):
            return RefusedError(f"{self._where()} refuses {what}: {status.name}")
        return LinkError(f"{self._where()} cannot answer to {what}: {status.name}")

    def _read(self, places: Mapping[str, Place]) -> dict[str, Raw]:
        if not places:
            return {}

        async def read(link: Link) -> list[ua.DataValue]:
            ids = [link.node_id(_node(place)) for place in places.values()]
            return await link.client.uaclient.read_attributes(ids, AttributeIds.Value)

        answer = self._ask(", ".join(places), read)
        if len(answer) != len(places):
            raise LinkError(f"{self._where()} answered with {len(answer)} values instead of {len(places)}")
        return {name: self._raw(name, data) for name, data in zip(places, answer, strict=True)}

    def _raw(self, name: str, data: ua.DataValue) -> Raw:
        status = data.StatusCode
        if status is not None and not status.is_good():
            raise self._error(name, status)
        value = None if data.Value is None else data.Value.Value
        if isinstance(value, ua.LocalizedText):
            value = value.Text or ""
        if isinstance(value, bool | int | float | str):
            return value
        raise LinkError(f"{name} reads {shown(value)}, which is neither a number nor a text")

    def _kept(self, name: str, place: Place, raw: Raw) -> Raw:
        kind = self._type(name, _node(place))
        kept: Raw = _variant(name, kind, raw).Value
        return struct.unpack("f", struct.pack("f", kept))[0] if kind is ua.VariantType.Float else kept

    def _write(self, values: Sequence[tuple[str, Place, Raw]]) -> None:
        variants = [_variant(name, self._type(name, _node(place)), raw) for name, place, raw in values]

        async def write(link: Link) -> list[ua.StatusCode]:
            ids = [link.node_id(_node(place)) for _, place, _ in values]
            return await link.client.uaclient.write_attributes(ids, [ua.DataValue(v) for v in variants])

        answer = self._ask(", ".join(name for name, _, _ in values), write)
        for (name, _, _), variant, status in zip(values, variants, answer, strict=True):
            if not status.is_good():
                raise self._error(f"{name} = {shown(variant.Value)}", status)

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
        if self.settings.trial.start.method is None or self.settings.trial.done.clear:
            super()._rearm()

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
            self._write([("trial.tag", place, tag)])

        async def call(link: Link) -> None:
            await link.client.get_node(link.node_id(owner)).call_method(link.node_id(method), *arguments)

        self._ask("trial.start", call)


def _node(place: Place) -> str:
    node = place.node if isinstance(place, Node | Start) else None
    if node is None:
        raise TypeError(f"{place!r} is not a variable")
    return node


def _variant(name: str, kind: ua.VariantType, raw: Raw) -> ua.Variant:
    """A value in the type of its node: a server takes no integer for a Double."""
    value: Raw | None = None
    if kind is ua.VariantType.String:
        value = raw if isinstance(raw, str) else None
    elif isinstance(raw, str):
        value = None
    elif kind is ua.VariantType.Boolean:
        value = bool(raw) if raw in (0, 1) else None
    elif kind in _INTEGERS:
        low, high = _INTEGERS[kind]
        value = round(raw) if low <= round(raw) <= high else None
    elif kind is ua.VariantType.Double or (kind is ua.VariantType.Float and abs(raw) <= _LARGEST_FLOAT):
        value = float(raw) if math.isfinite(raw) else None
    if value is None:
        raise RefusedError(f"{name} = {shown(raw)} does not fit into its node, which is of type {kind.name}")
    return ua.Variant(value, kind)


def _identifier(node: str) -> str:
    """A node id without its namespace."""
    match = NODE_ID.fullmatch(node)
    return match["identifier"] if match else node
