"""Who a request comes from: a key, or somebody of this host."""

from dataclasses import dataclass
from typing import Literal

from tuner.basics.vocabulary import Role

Door = Literal["network", "group", "owner"]  # the sockets: with keys, for the daemon's group, for its own user


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
