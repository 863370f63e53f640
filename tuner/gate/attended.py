"""A machine some of whose parameters people change by hand: it is told only of the others."""

from collections.abc import Mapping
from dataclasses import dataclass

from tuner.adapter import Health, Value
from tuner.campaign.events import SettingMap
from tuner.gate.gate import Link


@dataclass(frozen=True, slots=True)
class Attended:
    """A link; `by_hand` are the values that people have confirmed, or were asked for."""

    _link: Link
    _by_hand: SettingMap

    async def health(self) -> Health:
        """Ask how it is."""
        return await self._link.health()

    async def read_back(self) -> dict[str, Value]:
        """What the machine has, and what people say that it has."""
        have = await self._link.read_back()
        return {**have, **self._by_hand} if have else have

    async def apply(self, setting: Mapping[str, Value]) -> None:
        """Send what it has a place for."""
        await self._link.apply(self._its_own(setting))

    async def go_to(self, setting: Mapping[str, Value]) -> None:
        """Send it home, as far as that is its own matter."""
        await self._link.go_to(self._its_own(setting))

    def _its_own(self, setting: Mapping[str, Value]) -> dict[str, Value]:
        return {name: value for name, value in setting.items() if name not in self._by_hand}
