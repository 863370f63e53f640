"""People who sign in, without sockets: clients, a clock, and hashes that cost nothing."""

from datetime import UTC, datetime

import pytest

from tuner.basics.vocabulary import Role
from tuner.campaign.decide import Refusal
from tuner.daemon import hashes
from tuner.daemon.sender import Sender
from tuner.wire.people import NewPerson

NOW = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)
HERE = Sender("", Role.ENGINEER, "owner")
TABLET = Sender("tablet", Role.OPERATOR, "network")
DESK = Sender("desk", Role.ENGINEER, "network")


class Clock:
    now_s = 0.0

    def __call__(self):
        return self.now_s


def cheap_hashes(monkeypatch) -> None:
    """A hash that costs nothing: what is tested is who is let in."""
    monkeypatch.setattr(hashes, "pin_hash", lambda pin: f"pin {pin}")
    monkeypatch.setattr(hashes, "verify", lambda hashed, pin: hashed == f"pin {pin}")
    monkeypatch.setattr(hashes, "badge_hash", lambda badge: f"badge {badge}")


async def add(people, name, pin=None, role=Role.OPERATOR, **more):
    await people.add(NewPerson(name=name, role=role, pin=pin, **more), "ines", HERE.client)


async def anna(people, role=Role.OPERATOR, **more):
    await add(people, "anna", "4711", role, language="de", **more)


async def code_of(call):
    """What a call is refused with."""
    with pytest.raises(Refusal) as caught:
        await call
    return caught.value.code
