"""PINs and badges as they are kept: hashes of argon2id, each of which takes 64 MB and a tenth of a second."""

import itertools
import re

from tuner.basics.sentences import say
from tuner.campaign.decide import Refusal

NOBODY = "$argon2id$v=19$m=65536,t=3,p=1$c29tZXNhbHRzb21lc2FsdA$" + "A" * 43  # fits no PIN
_PIN = re.compile(r"[0-9]{4,12}", re.ASCII)
_BADGE_SALT = b"tuner badge of a person"  # the same for all: a badge says who it is by itself


def checked_pin(pin: str) -> str:
    """A PIN that is not the first that anybody tries."""
    if not _PIN.fullmatch(pin):
        raise Refusal("bad_request", say("people.pin_digits"))
    steps = {int(after) - int(before) for before, after in itertools.pairwise(pin)}
    if steps in ({0}, {1}, {-1}):
        raise Refusal("bad_request", say("people.pin_guessed"))
    return pin


def pin_hash(pin: str) -> str:
    """What is kept of a PIN."""
    from argon2 import PasswordHasher  # only now: most daemons know no people

    return PasswordHasher(parallelism=1).hash(pin)


def verify(hashed: str, pin: str) -> bool:
    """Whether a PIN is the one that is kept."""
    from argon2 import PasswordHasher
    from argon2.exceptions import InvalidHashError, VerificationError

    try:
        return PasswordHasher().verify(hashed, pin)
    except (VerificationError, InvalidHashError):
        return False


def badge_hash(badge: str) -> str:
    """What is kept of a badge."""
    from argon2.low_level import Type, hash_secret_raw

    return hash_secret_raw(
        badge.strip().encode("utf-8", "surrogatepass"),
        _BADGE_SALT,
        time_cost=3,
        memory_cost=65536,
        parallelism=1,
        hash_len=32,
        type=Type.ID,
    ).hex()
