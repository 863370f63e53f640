"""People who sign in with PIN or badge: who they are, and who is signed in."""

import asyncio
import hashlib
import math
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
from tuner.daemon import hashes
from tuner.daemon.intake import FAILURES
from tuner.daemon.people_file import PeopleFile, PeopleFileError, Person
from tuner.daemon.sender import Sender, lesser
from tuner.daemon.tries import FREE_TRIES, NAMELESS_OF_A_CLIENT, Tries
from tuner.daemon.turns import MOST_WAITING, Turns
from tuner.journal.security import Category
from tuner.wire.people import NewPerson, Opened, PeopleBody, PersonView, SessionsBody, SessionView

T = TypeVar("T")
IDLE_S = 20 * 60.0
LONGEST_S = 12 * 3600.0
MOST_SESSIONS = 500
MOST_OF_ONE = 20  # sessions of one person: nobody takes all of them
_MOST_DONE = 200  # requests of one client whose answers are remembered
_CHANGES = frozenset({"person_added", "pin_set", "badge_set", "person_disabled", "person_enabled"})


@dataclass(frozen=True, slots=True)
class Signed:
    """Somebody who is signed in, at one client: a key, or a door of this host.

    Attributes:
        role: What the person may do; what the client's key may do is looked up at each request.
        via: The client's key, as the journal has it.
    """

    number: int
    name: str
    role: Role
    client: str
    via: str
    opened_at: datetime
    opened_s: float
    used_s: float


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
    _count: int = 0
    _done: dict[str, dict[str, tuple[str, asyncio.Future[Any]]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._file = PeopleFile(self.state_directory)
        self._tries = Tries(self.clock)
        # A hash takes 64 MB and a tenth of a second: one at a time. What engineers change waits for no sign-in. Nothing
        # is awaited between a look at the file and the line that is written because of it.
        self._sign_ins, self._changes = Turns(), Turns()

    async def once(self, client: str, request_id: str, meaning: str, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Do what a request asks for once, however often it is sent: a hash may take longer than a client waits.

        What only failed is done again when it is asked for again.

        Raises:
            Refusal: The id was used for another meaning: whoever knows an id gets no answer that was meant for others.
        """
        done = self._done.setdefault(client, {})
        known = done.get(request_id)
        if known is None:
            answered = [one for one, (_, result) in done.items() if result.done()]
            for one in answered[: max(0, len(done) - _MOST_DONE + 1)]:
                del done[one]
            known = done[request_id] = (meaning, asyncio.ensure_future(work()))
        if known[0] != meaning:
            raise Refusal("id_reused", say("request.id_reused"))
        try:
            return cast("T", await asyncio.shield(known[1]))
        except Refusal as refusal:
            if refusal.code in FAILURES:
                done.pop(request_id, None)
            raise

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

    async def add(self, body: NewPerson, by: str, client: str) -> PeopleBody:
        """Another person."""
        try:
            name = person_name(body.name)
        except NameProblemError as error:
            raise Refusal("bad_request", say("refused.name", why=str(error))) from None
        if body.role is Role.CONTROLLER:
            raise Refusal("bad_request", say("people.no_controller"))
        secrets_of = await self._secrets(body.pin, body.badge, client)
        if self._file.find(name) is not None:
            raise Refusal("exists", say("people.exists", name=name))
        self._only_of(name, secrets_of)
        self._write("person_added", by, name, role=body.role, language=body.language, **secrets_of)
        return self.list()

    async def set_pin(self, name: str, pin: str, by: str, client: str) -> PeopleBody:
        """Another PIN; who is signed in stays so."""
        secrets_of = await self._secrets(pin, None, client)
        person = self._known(name)
        self._write("pin_set", by, person.name, **secrets_of)
        self._tries.forget(person.name)
        return self.list()

    async def set_badge(self, name: str, badge: str | None, by: str, client: str) -> PeopleBody:
        """Another badge, or none; whoever came with the old one is signed out."""
        secrets_of = await self._secrets(None, badge, client)
        person = self._known(name)
        self._only_of(person.name, secrets_of)
        self._write("badge_set", by, person.name, badge=secrets_of.get("badge"))
        self._end_all(person.name)
        return self.list()

    async def disable(self, name: str, by: str, *, disabled: bool) -> PeopleBody:
        """Let somebody sign in no more, or again; it waits for nothing."""
        person = self._known(name)
        if person.disabled != disabled:
            self._write("person_disabled" if disabled else "person_enabled", by, person.name, disabled=disabled)
        if disabled:
            self._end_all(person.name)
        return self.list()

    async def open(self, name: str | None, pin: str | None, badge: str | None, sender: Sender) -> Opened:
        """Sign somebody in at a client.

        Raises:
            Refusal: Name, PIN or badge is wrong, which of them is not told; or it was wrong too often.
        """
        given = (name is not None, pin is not None, badge is not None)
        if given not in ((True, True, False), (False, False, True)):
            raise Refusal("bad_request", say("people.name_and_pin"))
        named = self._file.find(name) if name is not None else None
        who = named.name if named is not None else ""  # a badge, or a name that nobody has
        most = MOST_WAITING if who else NAMELESS_OF_A_CLIENT.at_once  # at a change of shift everybody shows a badge
        async with self._sign_ins.of(sender.client, who, most):
            self._slow_down(who, sender)
            self._tries.begin(sender.client, who)
            person = await self._by_badge(badge) if badge is not None else await self._by_pin(who, pin or "")
            if person is None or person.disabled:
                self._wrong(who, person, sender)
                raise Refusal("wrong_pin", say("people.wrong_pin"))
            self._tries.right(sender.client, who, person.name)
            return self._begin(person, sender)

    def signed_in(self, token: str, sender: Sender) -> Signed | None:
        """Whose session it is, with what the person and the client may do now; None: it has ended, or is another's."""
        found = self._sessions.get(_digest(token))
        if found is None or found.client != sender.client or sender.role is Role.CONTROLLER:
            return None
        now_s = self.clock()
        if now_s - found.used_s > self.idle_s or now_s - found.opened_s > self.longest_s:
            self._end(_digest(token), "session_expired", "")
            return None
        return replace(found, role=lesser(found.role, sender.role))

    def used(self, token: str) -> None:
        """The person has done something."""
        known = self._sessions.get(_digest(token))
        if known is not None:
            self._sessions[_digest(token)] = replace(known, used_s=self.clock())

    def close(self, token: str | None, sender: Sender) -> None:
        """Sign out."""
        if token is not None and self.signed_in(token, sender) is not None:
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
                    via=one.via,
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

    async def _secrets(self, pin: str | None, badge: str | None, client: str) -> dict[str, str]:
        found = {}
        if pin is not None:
            hashes.checked_pin(pin)
        async with self._changes.of(client):
            if pin is not None:
                found["pin"] = await in_own_thread(hashes.pin_hash, pin)
            if badge is not None:
                found["badge"] = await in_own_thread(hashes.badge_hash, badge)
        return found

    def _only_of(self, name: str, secrets_of: dict[str, str]) -> None:
        """A badge says who it is: no two people have the same."""
        badge = secrets_of.get("badge")
        if badge is not None and any(one.badge == badge and one.name != name for one in self._file.people.values()):
            raise Refusal("exists", say("people.badge_taken"))

    async def _by_badge(self, badge: str) -> Person | None:
        found = await in_own_thread(hashes.badge_hash, badge)
        return next((one for one in self._file.people.values() if one.badge == found), None)

    async def _by_pin(self, who: str, pin: str) -> Person | None:
        person = self._file.people.get(who)
        kept = person.pin if person is not None else None
        right = await in_own_thread(hashes.verify, kept or hashes.NOBODY, pin)
        person = self._file.people.get(who)  # as it is now: the hash took its time
        return person if right and person is not None and person.pin == kept else None

    def _slow_down(self, who: str, sender: Sender) -> None:
        wait_s = self._tries.wait_s(sender.client, who)
        if wait_s > 0:
            self.note("pin", "slowed down", _source(sender), f"for {who or 'unknown names and badges'}")
            raise Refusal("slow_down", say("people.slow_down", seconds=math.ceil(wait_s)))

    def _wrong(self, who: str, person: Person | None, sender: Sender) -> None:
        count, client = self._tries.wrong(sender.client, who), _source(sender)
        name = who or (person.name if person is not None else "")
        # what was typed as an unknown name may be a PIN: it is written nowhere
        self.note("pin", "refused", client, f"for {name or 'an unknown name or badge'}, {count} in a row")
        if name and count % FREE_TRIES == 0:
            self._write("sign_in_refused", client, name, tries=count)

    def _begin(self, person: Person, sender: Sender) -> Opened:
        self._sweep()
        own = [digest for digest, one in self._sessions.items() if one.name == person.name]
        if len(own) >= MOST_OF_ONE:
            self._end(min(own, key=lambda digest: self._sessions[digest].used_s), "session_ended", "")
        if len(self._sessions) >= MOST_SESSIONS:
            raise Refusal("busy", say("people.too_many"))
        self._count += 1
        now, now_s, token = self.now(), self.clock(), secrets.token_urlsafe(32)
        self._write("signed_in", person.name, person.name, session=self._count, via=sender.key)
        self._sessions[_digest(token)] = Signed(
            self._count, person.name, person.role, sender.client, sender.key, now, now_s, now_s
        )
        return Opened(
            session=token,
            number=self._count,
            name=person.name,
            role=lesser(person.role, sender.role),
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


def _source(sender: Sender) -> str:
    """A client, as security events call it."""
    return f"key {sender.key}" if sender.key else sender.client
