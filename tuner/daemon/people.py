"""People who sign in with PIN or badge: who they are, who is signed in, and how wrong PINs slow down."""

import asyncio
import hashlib
import itertools
import math
import re
import secrets
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar, cast

from tuner.basics.names import NameProblemError, person_name
from tuner.basics.sentences import say
from tuner.basics.threads import in_own_thread
from tuner.basics.times import text_of
from tuner.basics.vocabulary import Role
from tuner.campaign.decide import Refusal
from tuner.daemon.people_file import PeopleFile, PeopleFileError, Person
from tuner.journal.security import Category
from tuner.wire.people import NewPerson, Opened, PeopleBody, PersonView, SessionsBody, SessionView

T = TypeVar("T")
IDLE_S = 20 * 60.0
LONGEST_S = 12 * 3600.0
MOST_SESSIONS = 500
MOST_OF_ONE = 20  # sessions of one person: nobody takes all of them
FREE_TRIES = 3
LONGEST_WAIT_S = 900.0
_MOST_REMEMBERED = 2000
_MOST_DONE = 200
_CHANGES = frozenset({"person_added", "pin_set", "badge_set", "person_disabled", "person_enabled"})
_PIN = re.compile(r"[0-9]{4,12}", re.ASCII)
_RANKS = (Role.VIEWER, Role.OPERATOR, Role.ENGINEER)
_BADGE_SALT = b"tuner badge of a person"  # the same for all: a badge says who it is by itself
_NOBODY = "$argon2id$v=19$m=65536,t=3,p=1$c29tZXNhbHRzb21lc2FsdA$" + "A" * 43


@dataclass(frozen=True, slots=True)
class Signed:
    """Somebody who is signed in, at one client."""

    number: int
    name: str
    role: Role
    key: str
    opened_at: datetime
    opened_s: float
    used_s: float


@dataclass
class Tries:
    """Wrong PINs in a row, when the next may be tried, and when the last was wrong."""

    count: int = 0
    next_s: float = 0.0
    wrong_s: float = -math.inf


@dataclass
class People:
    """Who may sign in and who is; the clocks are those of the day and of spans, `note` writes security events."""

    state_directory: Path
    now: Callable[[], datetime]
    clock: Callable[[], float] = time.monotonic
    idle_s: float = IDLE_S
    longest_s: float = LONGEST_S
    note: Callable[[Category, str, str, str], None] = lambda *_: None
    _sessions: dict[str, Signed] = field(default_factory=dict)
    _tries: dict[str, Tries] = field(default_factory=dict)
    _count: int = 0
    _done: dict[tuple[str, str], tuple[str, asyncio.Future[Any]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._file = PeopleFile(self.state_directory)
        self._one = asyncio.Lock()  # a hash takes 64 MB and a tenth of a second: one at a time, and no race of guesses

    async def once(self, request: tuple[str, str], meaning: str, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Do what a request asks for once, however often it is sent: a hash may take longer than a client waits.

        Raises:
            Refusal: The id was used for another meaning: whoever knows an id gets no answer that was meant for others.
        """
        known = self._done.get(request)
        if known is None:
            while len(self._done) >= _MOST_DONE:
                del self._done[next(iter(self._done))]
            known = self._done[request] = (meaning, asyncio.ensure_future(work()))
        if known[0] != meaning:
            raise Refusal("id_reused", say("request.id_reused"))
        return cast("T", await asyncio.shield(known[1]))

    @property
    def count(self) -> int:
        """How many can sign in."""
        return sum(not one.disabled and bool(one.pin or one.badge) for one in self._file.people.values())

    def list(self) -> PeopleBody:
        """Everybody, also who may sign in no more."""
        ordered = sorted(self._file.people.values(), key=lambda one: one.name.casefold())
        return PeopleBody(
            people=[
                PersonView(
                    name=one.name,
                    role=one.role,
                    language=one.language,
                    disabled=one.disabled,
                    pin=one.pin is not None,
                    badge=one.badge is not None,
                    since=one.since,
                )
                for one in ordered
            ]
        )

    async def add(self, body: NewPerson, by: str) -> PeopleBody:
        """Another person."""
        try:
            name = person_name(body.name)
        except NameProblemError as error:
            raise Refusal("bad_request", say("refused.name", why=str(error))) from None
        if body.role is Role.CONTROLLER:
            raise Refusal("bad_request", say("people.no_controller"))
        async with self._one:
            if self._file.find(name) is not None:
                raise Refusal("exists", say("people.exists", name=name))
            secrets_of = await self._secrets(name, body.pin, body.badge)
            self._write("person_added", by, name, role=body.role, language=body.language, **secrets_of)
        return self.list()

    async def set_pin(self, name: str, pin: str, by: str) -> PeopleBody:
        """Another PIN; who is signed in stays so."""
        async with self._one:
            person = self._known(name)
            self._write("pin_set", by, person.name, **await self._secrets(person.name, pin, None))
            self._tries.pop(person.name, None)
        return self.list()

    async def set_badge(self, name: str, badge: str | None, by: str) -> PeopleBody:
        """Another badge, or none; whoever came with the old one is signed out."""
        async with self._one:
            person = self._known(name)
            changed = await self._secrets(person.name, None, badge) if badge is not None else {"badge": None}
            self._write("badge_set", by, person.name, **changed)
            self._end_all(person.name)
        return self.list()

    async def disable(self, name: str, by: str, *, disabled: bool) -> PeopleBody:
        """Let somebody sign in no more, or again."""
        async with self._one:
            person = self._known(name)
            if person.disabled != disabled:
                self._write("person_disabled" if disabled else "person_enabled", by, person.name, disabled=disabled)
            if disabled:
                self._end_all(person.name)
        return self.list()

    async def open(self, name: str | None, pin: str | None, badge: str | None, key: str, role: Role) -> Opened:
        """Sign somebody in at a client whose key has a role.

        Raises:
            Refusal: Name, PIN or badge is wrong, which of them is not told; or it was wrong too often.
        """
        if (badge is None) == (name is None or pin is None):
            raise Refusal("bad_request", say("people.name_and_pin"))
        async with self._one:
            person = self._file.find(name) if name is not None else None
            client = f"key {key}" if key else "local"
            tries = self._slow_down(person.name if person is not None else f" {key}", client)
            if badge is not None:
                found = await in_own_thread(_badge_hash, badge)
                person = next((one for one in self._file.people.values() if one.badge == found), None)
                right = person is not None
            else:
                right = await in_own_thread(_verify, (person.pin if person else None) or _NOBODY, pin or "")
            if person is None or not right or person.disabled:
                tries.count, tries.wrong_s = tries.count + 1, self.clock()
                if tries.count >= FREE_TRIES:
                    tries.next_s = self.clock() + min(LONGEST_WAIT_S, 2.0 ** (tries.count - FREE_TRIES + 1))
                # what was typed as an unknown name may be a PIN: it is written nowhere
                whose = f"for {person.name}" if person is not None else "for an unknown name or badge"
                self.note("pin", "refused", client, f"{whose}, {tries.count} in a row")
                if person is not None and tries.count % FREE_TRIES == 0:
                    self._write("sign_in_refused", client, person.name, tries=tries.count)
                raise Refusal("wrong_pin", say("people.wrong_pin"))
            self._tries.pop(person.name, None)
            return self._begin(person, key, role)

    def signed_in(self, token: str, key: str) -> Signed | None:
        """Whose session it is; None: it has ended, or it is another client's."""
        found = self._sessions.get(_digest(token))
        if found is None or found.key != key:
            return None
        now_s = self.clock()
        if now_s - found.used_s > self.idle_s or now_s - found.opened_s > self.longest_s:
            self._end(_digest(token), "session_expired", "")
            return None
        return found

    def used(self, token: str) -> None:
        """The person has done something."""
        known = self._sessions.get(_digest(token))
        if known is not None:
            self._sessions[_digest(token)] = replace(known, used_s=self.clock())

    def close(self, token: str | None) -> None:
        """Sign out."""
        if token is not None:
            self._end(_digest(token), "signed_out", "")

    def sessions(self) -> SessionsBody:
        """Who is signed in."""
        self._sweep()
        now, now_s = self.now(), self.clock()
        return SessionsBody(
            sessions=[
                SessionView(
                    number=one.number,
                    name=one.name,
                    role=one.role,
                    via=one.key,
                    opened_at=text_of(one.opened_at),
                    used_at=text_of(now - timedelta(seconds=now_s - one.used_s)),
                )
                for one in sorted(self._sessions.values(), key=lambda one: one.number)
            ]
        )

    def end(self, number: int, by: str) -> SessionsBody:
        """End somebody's session."""
        found = next((token for token, one in self._sessions.items() if one.number == number), None)
        if found is None:
            raise Refusal("not_found", say("people.no_session", number=number))
        self._end(found, "session_ended", by)
        return self.sessions()

    def _known(self, name: str) -> Person:
        person = self._file.find(name)
        if person is None:
            raise Refusal("not_found", say("people.no_person", name=name))
        return person

    async def _secrets(self, name: str, pin: str | None, badge: str | None) -> dict[str, str]:
        found = {}
        if pin is not None:
            found["pin"] = await in_own_thread(_pin_hash, _checked_pin(pin))
        if badge is not None:
            found["badge"] = await in_own_thread(_badge_hash, badge)
            if any(one.badge == found["badge"] and one.name != name for one in self._file.people.values()):
                raise Refusal("exists", say("people.badge_taken"))
        return found

    def _slow_down(self, who: str, client: str) -> Tries:
        while len(self._tries) >= _MOST_REMEMBERED:
            del self._tries[next(iter(self._tries))]
        tries = self._tries.setdefault(who, Tries())
        if who.startswith(" ") and self.clock() - tries.wrong_s > LONGEST_WAIT_S:
            tries.count = 0  # a client's own: no single person's success shows that all before were slips
        wait_s = tries.next_s - self.clock()
        if wait_s > 0:
            self.note("pin", "slowed down", client, f"for {who.strip() or client}")
            raise Refusal("slow_down", say("people.slow_down", seconds=math.ceil(wait_s)))
        return tries

    def _begin(self, person: Person, key: str, role: Role) -> Opened:
        self._sweep()
        own = [digest for digest, one in self._sessions.items() if one.name == person.name]
        if len(own) >= MOST_OF_ONE:
            self._end(min(own, key=lambda digest: self._sessions[digest].used_s), "session_ended", "")
        if len(self._sessions) >= MOST_SESSIONS:
            raise Refusal("busy", say("people.too_many"))
        self._count += 1
        now, now_s, token = self.now(), self.clock(), secrets.token_urlsafe(32)
        allowed = min(person.role, role, key=_RANKS.index)
        self._write("signed_in", person.name, person.name, session=self._count, via=key)
        self._sessions[_digest(token)] = Signed(self._count, person.name, allowed, key, now, now_s, now_s)
        return Opened(
            session=token,
            number=self._count,
            name=person.name,
            role=allowed,
            language=person.language,
            idle_s=self.idle_s,
            expires_at=text_of(now + timedelta(seconds=self.longest_s)),
        )

    def _end(self, digest: str, type_: str, by: str) -> None:
        known = self._sessions.pop(digest, None)
        if known is not None:
            self._write(type_, by or known.name, known.name, session=known.number)

    def _end_all(self, name: str) -> None:
        for digest, one in list(self._sessions.items()):
            if one.name == name:
                self._end(digest, "session_ended", "")

    def _sweep(self) -> None:
        now_s = self.clock()
        for digest, one in list(self._sessions.items()):
            if now_s - one.used_s > self.idle_s or now_s - one.opened_s > self.longest_s:
                self._end(digest, "session_expired", "")

    def _write(self, type_: str, by: str, name: str, **more: object) -> None:
        try:
            self._file.append(type_, text_of(self.now()), by, name, **more)
        except PeopleFileError as error:
            raise Refusal("disk_full", say("people.not_written", why=str(error))) from error
        if type_ in _CHANGES:
            self.note("people", type_.replace("_", " "), name, f"by {by}")


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _checked_pin(pin: str) -> str:
    """A PIN that is not the first that anybody tries."""
    if not _PIN.fullmatch(pin):
        raise Refusal("bad_request", say("people.pin_digits"))
    steps = {int(after) - int(before) for before, after in itertools.pairwise(pin)}
    if steps in ({0}, {1}, {-1}):
        raise Refusal("bad_request", say("people.pin_guessed"))
    return pin


def _pin_hash(pin: str) -> str:
    from argon2 import PasswordHasher  # only now: most daemons know no people

    return PasswordHasher(parallelism=1).hash(pin)


def _verify(hashed: str, pin: str) -> bool:
    from argon2 import PasswordHasher
    from argon2.exceptions import InvalidHashError, VerificationError

    try:
        return PasswordHasher().verify(hashed, pin)
    except (VerificationError, InvalidHashError):
        return False


def _badge_hash(badge: str) -> str:
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
