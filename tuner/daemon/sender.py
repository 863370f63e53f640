"""Who a request comes from: a key, or somebody of this host."""

from dataclasses import dataclass
from typing import Literal

from tuner.basics.vocabulary import Role

Door = Literal["network", "group", "owner"]  # the sockets: with keys, for the daemon's group, for its own user

_RIGHTS = {Role.VIEWER: 0, Role.OPERATOR: 1, Role.CONTROLLER: 1, Role.ENGINEER: 2}


@dataclass(frozen=True, slots=True)
class Sender:
    """Who has sent a request: a key by its name, or by one of this host's doors somebody without a key."""

    key: str
    role: Role
    door: Door

    @property
    def client(self) -> str:
        """Whose limits, request ids, sessions and wrong PINs these are; no key can be called as a door is."""
        return self.key or f"local {self.door}"


def lesser(role: Role, most: Role | None) -> Role:
    """A role, or another one that may not be gone beyond, if there is one; it never gives more."""
    return role if most is None or _RIGHTS[most] >= _RIGHTS[role] else most
