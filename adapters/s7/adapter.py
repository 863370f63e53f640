"""Siemens S7 controllers: parameters, handshake and measurements are places in data blocks, flags and outputs."""

import struct
from collections.abc import Mapping, Sequence
from typing import ClassVar

from adapters.s7.block_map import FLOATS, FORMATS, S7Connection, S7Place, S7Settings, complaints_on
from adapters.s7.link import S7Link
from tuner.adapter import AdapterSettings, LinkError, Offered, ParameterInfo, RefusedError
from tuner.basics.address import host_address
from tuner.basics.sentences import say, written
from tuner.basics.text import shown
from tuner.handshake import HandshakeAdapter, Place, Raw, with_bit


class S7Adapter(HandshakeAdapter[S7Settings]):
    """A machine with a Siemens S7 controller, spoken to by S7 communication (PUT/GET) over ISO-on-TCP."""

    Settings: ClassVar[type[AdapterSettings]] = S7Settings
    Connection: ClassVar[type[AdapterSettings] | None] = S7Connection
    _link: S7Link | None = None

    @classmethod
    def complaints(cls, settings: S7Settings, parameters: Sequence[ParameterInfo]) -> Sequence[str]:
        """What is wrong with the map."""
        return complaints_on(settings, parameters)

    @classmethod
    def occupies(cls, settings: S7Settings) -> Sequence[str]:
        """The data blocks and areas that are written: one controller may run several machines."""
        places = [*settings.parameters.values(), settings.trial.start]
        areas = {f"{place.spot.area}{place.spot.block or ''}" for place in places}
        return tuple(host_address(settings.host, settings.port, area) for area in sorted(areas))

    @classmethod
    def browse(cls, connection: S7Connection, deadline_s: float) -> Sequence[Offered]:
        """The data blocks of the controller; what is in them stands in its engineering software."""
        link = S7Link(connection, deadline_s)
        try:
            return link.blocks()
        finally:
            link.close()

    def _where(self) -> str:
        return say("machine.controller", address=self.settings.host)

    def _disconnect(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            link.close()

    def _connect(self) -> None:
        """Try out an old connection before it is relied on: the controller may have been restarted since."""
        trial = self.settings.trial
        place = trial.done or trial.made or trial.count
        if self._link is not None and place is not None:
            try:
                self._read({"trial.done": place})
            except LinkError:
                self._disconnect()
            except RefusedError:  # it answers; what is wrong with this place is told when it is needed
                pass
        if self._link is None:
            self._link = S7Link(
                self.settings, min(self.settings.timeout_s, self._left_s(say("machine.did_not_answer")))
            )

    def _ready(self, what: str) -> S7Link:
        left_s = self._left_s(say("machine.did_not_answer_to", what=what))
        if self._link is None:
            raise LinkError(say("machine.connection_lost", where=self._where()))
        self._link.allow(min(self.settings.timeout_s, left_s))
        return self._link

    def _bytes(self, name: str, place: S7Place) -> bytes:
        try:
            return self._ready(name).read(name, place.spot, place.bytes)
        except LinkError:
            self._lost(name)
            raise

    def _lost(self, what: str) -> None:
        """A late answer must not be taken for the next one."""
        self._disconnect()
        self._left_s(say("machine.did_not_answer_to", what=what))

    def _read(self, places: Mapping[str, Place]) -> dict[str, Raw]:
        return {name: _raw(name, _s7(place), self._bytes(name, _s7(place))) for name, place in places.items()}

    def _kept(self, name: str, place: Place, raw: Raw) -> Raw:
        return _raw(name, _s7(place), _packed(name, _s7(place), raw))

    def _write(self, values: Sequence[tuple[str, Place, Raw]]) -> None:
        packed = [(name, _s7(place), raw, _packed(name, _s7(place), raw)) for name, place, raw in values]
        for name, place, raw, data in packed:
            what = f"{name} = {shown(raw)}"
            try:
                if place.spot.bit is None:
                    self._ready(what).write(what, place.spot, data)
                elif self.settings.bit_writes == "single":
                    self._ready(what).write_bit(what, place.spot, bool(raw))
                else:
                    new = with_bit(name, self._bytes(name, place)[0], place.spot.bit, raw)
                    self._ready(what).write(what, place.spot, bytes([new]))
            except LinkError:
                self._lost(what)
                raise

    def _tag_bits(self, name: str, place: Place) -> int:
        form = _s7(place).form
        return 8 * struct.calcsize(FORMATS[form]) if form in FORMATS and form not in FLOATS else 0

    def _address(self, place: Place) -> str:
        form, length = _s7(place).form, _s7(place).length
        return f"{_s7(place).address} {form}{f'[{length}]' if length else ''}"

    def _described(self, name: str, place: Place, *, written: bool) -> str:
        return "written (S7 does not tell whether it may be)" if written else "read"


def _s7(place: Place) -> S7Place:
    if not isinstance(place, S7Place):
        raise TypeError(f"{place!r} is not a place of a controller")
    return place


def _raw(name: str, place: S7Place, data: bytes) -> Raw:
    if place.spot.bit is not None:
        return bool(data[0] >> place.spot.bit & 1)
    if place.form != "STRING":
        number: int | float = struct.unpack(FORMATS[place.form], data)[0]
        return number
    length = data[1]
    if data[0] > 254 or length > len(data) - 2:
        raise LinkError(say("s7.no_string", name=name, length=place.length))
    return data[2 : 2 + length].decode("latin-1")


def _packed(name: str, place: S7Place, raw: Raw) -> bytes:
    if place.form == "STRING":
        text = str(raw).encode("latin-1", "replace")
        room = place.length or 0
        if len(text) > room:
            raise RefusedError(say("machine.no_room", name=name, room=room, value=written(raw)))
        return bytes([room, len(text)]) + text.ljust(room, b"\0")
    if isinstance(raw, str):
        raise RefusedError(say("s7.not_for", name=name, type=place.form, value=written(raw)))
    if place.form == "BOOL":
        if raw not in (0, 1):
            raise RefusedError(say("handshake.one_bit", name=name, value=written(raw)))
        return bytes([int(raw) << (place.spot.bit or 0)])
    try:
        return struct.pack(FORMATS[place.form], raw if place.form in FLOATS else round(raw))
    except (struct.error, OverflowError) as error:
        raise RefusedError(
            say("machine.does_not_fit", name=name, value=say("value.number", number=f"{raw:g}"), type=place.form)
        ) from error
