"""Watches what belongs to no campaign (clock, keys, room on the disk), and writes security events and anchors.

Whatever fails here is an alarm that `status` tells, and stops nothing. Nobody waits for it: what happened is noted in
memory, at most so many kinds at a time, and written by a thread once a second.
"""

import asyncio
import hashlib
import logging
import re
import shutil
import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path

from tuner.basics.sentences import NOTHING, Sentence, listing, say
from tuner.basics.times import text_of
from tuner.campaign.events import CampaignCreated, HomeAnswered, SettingAnswered
from tuner.campaign.evolve import Recorded
from tuner.campaign.step import SYSTEM
from tuner.campaign.terms import Terms
from tuner.config import Config
from tuner.daemon.anchoring import Anchoring, AnchorPlan
from tuner.daemon.journal_thread import JournalThread
from tuner.daemon.troubles import Troubles
from tuner.errors import TunerError
from tuner.journal import anchor as anchors
from tuner.journal.chain import GENESIS
from tuner.journal.errors import JournalError
from tuner.journal.security import OTHERS, Category, SecurityLog
from tuner.wire.key_ring import KeyRing

LEAST_FREE_BYTES = 100_000_000
CLOCK_JUMP_S = 5.0  # more than a clock that is kept right is ever set by at once
_LOOK_S = 1.0
_REPORT_S = 60.0
_MOST_PENDING = 100  # kinds of events between two looks

log = logging.getLogger(__name__)

Note = Callable[[Category, str, str, str], None]


class Guard:
    """The daemon's guard.

    Args:
        directory: The state directory.
        archive: Whose head is anchored.
        keys: The key ring, if there is an encrypted socket.
        plan: If anchors are wanted.
    """

    def __init__(
        self,
        directory: Path,
        archive: JournalThread,
        clock: Callable[[], datetime],
        troubles: Troubles,
        keys: KeyRing | None = None,
        plan: AnchorPlan | None = None,
        even_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._directory = directory
        self._archive = archive
        self._clock = clock
        self._troubles = troubles
        self._keys = keys
        self._even_s = even_s
        self._pending: Counter[tuple[Category, str, str]] = Counter()
        self._texts: dict[tuple[Category, str, str], str] = {}
        self._known = self._key_table()
        self._offset_s = self._offset()
        self._reported_s = even_s()
        self._raised: dict[str, Sentence] = {}
        self._log: SecurityLog | None = None
        try:
            self._log = SecurityLog(directory, clock)
        except JournalError as error:
            self._raised["security"] = Sentence.of(str(error))
        self._anchoring = None
        if plan is not None:
            make = partial(self._anchor_now, plan.secret)
            self._anchoring = Anchoring(plan, make, self._anchor_failed, troubles, even_s)

    @property
    def alarms(self) -> list[Sentence]:
        """What needs an administrator now, as sentences."""
        return sorted(self._raised.values())

    def configured(self, refused: str = "", problems: Sequence[str] = ()) -> None:
        """Tell what came of a configuration; an alarm goes away when one was read without a problem."""
        for problem in problems:
            log.error("%s", problem)
        text = say("guard.config_partly", problems=list(problems)) if problems else NOTHING
        if refused:
            self.note("configuration", "refused", "reload", refused)
            lines = refused.splitlines()
            text = say("guard.config_refused", mistakes=len(lines), place=_place_of(lines[0]))
        self._alarm("configuration", text)

    def begin(self, version: str, configuration: str) -> None:
        """Say that the daemon has started, with which keys, which configuration (its hash), and how the last ended."""
        log = self._log
        crashed = log is not None and log.last not in ("", "daemon stopped")
        torn = "; a line that was cut off was removed" if log is not None and log.torn else ""
        how = f", after one that did not end in good order{torn}" if crashed else ""
        self.note("daemon", "started", f"tuner {version}", f"tuner {version}{how}")
        self.note("configuration", "read", "start", f"sha256 {configuration}")
        if self._keys is not None:
            table = hashlib.sha256(repr(sorted(self._known.items())).encode()).hexdigest()
            self.note("keys", "read", "start", f"{len(self._known)} keys, sha256 {table}")

    def note(self, category: Category, result: str, source: str, text: str = "") -> None:
        """Remember an event; it is written soon."""
        key = (category, result, source)
        if key not in self._pending and len(self._pending) >= _MOST_PENDING:
            key = (category, result, OTHERS)
        self._pending[key] += 1
        self._texts[key] = text

    def heard(self, name: str, one: Recorded) -> None:
        """Note what of a campaign's events is one of security too."""
        event = one.event
        if isinstance(event, SettingAnswered | HomeAnswered) and event.result == "refused":
            self.note("gate", "refused", name, event.text)
        elif isinstance(event, CampaignCreated) and one.actor != SYSTEM.name:  # files are noted as a whole
            self.note("configuration", "campaign created", name, f"by {one.actor}")

    def crowded(self, files: int, most: int) -> None:
        """Tell that connections have taken too many files, and nobody new is let in; or that there is room again."""
        text = say("guard.crowded", files=files, most=most) if files else NOTHING
        self.note("daemon", "crowded" if files else "has room again", "connections", text)
        self._alarm("crowd", text)

    async def run(self) -> None:
        """Look and write for ever."""
        while True:
            await self.look()
            await asyncio.sleep(_LOOK_S)

    async def look(self) -> None:
        """Look once at everything, and write what there is to write."""
        for part in (self._look_at_clock, self._look_at_keys, self._look_at_room):
            try:
                part()
            except Exception:  # noqa: BLE001 - the other parts go on
                self._troubles.note("looking after the daemon")
        try:
            await asyncio.to_thread(self._write)
            if self._anchoring is not None:
                self._anchoring.look()
        except Exception:  # noqa: BLE001 - this loop must not end
            self._troubles.note("writing security events")

    async def close(self, why: str) -> None:
        """Write the last events, that the daemon has stopped as the very last one, and an anchor of it all."""
        await self.look()
        if self._log is not None:
            await asyncio.to_thread(self._log.settle)
            self.note("daemon", "stopped", "daemon", why)
            await asyncio.to_thread(self._write)
        if self._anchoring is not None:
            await self._anchoring.close()
        if self._log is not None:
            self._log.close()
            self._log = None

    def _write(self) -> None:
        if self._log is None:
            self._pending.clear()
            return
        pending, self._pending = self._pending, Counter()
        texts, self._texts = self._texts, {}
        for key, count in pending.items():
            self._log.note(*key, texts.get(key, ""), count)
        if self._even_s() - self._reported_s >= _REPORT_S:
            self._reported_s = self._even_s()
            self._log.report()
        self._log.look()
        self._alarm("security", self._log.failure)

    def _alarm(self, name: str, text: Sentence) -> None:
        """Raise an alarm, or take it back."""
        if text:
            if name not in self._raised:
                log.warning("%s", text)
            self._raised[name] = text
        else:
            self._raised.pop(name, None)

    def _offset(self) -> float:
        return self._clock().timestamp() - self._even_s()

    def _look_at_clock(self) -> None:
        before, self._offset_s = self._offset_s, self._offset()
        if abs(self._offset_s - before) > CLOCK_JUMP_S:
            self.note("clock", "jumped", "clock", f"by {self._offset_s - before:+.1f} s")

    def _key_table(self) -> dict[str, tuple[str, str, bool]]:
        if self._keys is None:
            return {}
        return {key.name: (key.public, key.role, bool(key.revoked)) for key in self._keys.list()}

    def _look_at_keys(self) -> None:
        if self._keys is None:
            return
        try:
            self._keys.refresh()
        except TunerError as error:
            self._alarm("keys", say("guard.keys_unread", why=str(error)))
            return
        problems = self._keys.problems[:3]
        self._alarm("keys", listing(problems) if problems else NOTHING)
        before, self._known = self._known, self._key_table()
        for name in sorted(before.keys() | self._known.keys()):
            if before.get(name) != self._known.get(name):
                old, new = before.get(name), self._known.get(name)
                result = "removed" if new is None else "added" if old is None else "revoked" if new[2] else "changed"
                self.note("keys", result, name, f"role {(new or old or ('', ''))[1]}")

    def _look_at_room(self) -> None:
        free = shutil.disk_usage(self._directory).free
        text = NOTHING
        if free < LEAST_FREE_BYTES:
            text = say("guard.room", free=round(free / 1e6), directory=self._directory)
        if bool(text) != ("room" in self._raised):
            self.note("store", "nearly full" if text else "has room again", str(self._directory), text)
        self._alarm("room", text)

    async def _anchor_now(self, secret: str) -> anchors.Anchor:
        seq, head = await self._archive.call(lambda store: store.head)
        security = self._log.head if self._log is not None else (0, GENESIS)
        return anchors.sealed(anchors.Anchor(text_of(self._clock()), seq, head, *security), secret)

    def _anchor_failed(self, place: str, why: str) -> None:
        name = f"anchor {place}"
        if why and name not in self._raised:
            self.note("anchor", "failed", place, why)
        self._alarm(name, say("guard.no_anchor", place=place, why=why) if why else NOTHING)


def _place_of(mistake: str) -> str:
    """File, line and key of a line that a configuration's error has."""
    found = re.match(r"(.+?:\d+: [^:\s]+): ", mistake)
    return found[1] if found else mistake


def digest_of(config: Config, campaigns: Sequence[tuple[str, Terms]]) -> str:
    """The same for the same configuration, whatever its files look like."""
    parts = [config.model_dump_json(), *(f"{name} {terms.model_dump_json()}" for name, terms in campaigns)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
