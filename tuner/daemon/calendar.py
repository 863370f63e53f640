"""What happens by the calendar: backups, questions when their window opens, restrictions that end, re-checks."""

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from apscheduler.schedulers.asyncio import AsyncIOScheduler

from tuner.basics.times import text_of
from tuner.campaign import commands as c
from tuner.campaign.effects import wake_at
from tuner.campaign.restricting import next_end
from tuner.campaign.state import State
from tuner.daemon.engine import Post
from tuner.daemon.journal_thread import JournalThread
from tuner.journal.errors import JournalError
from tuner.journal.store import Store

BACKUPS_KEPT = 7
REPLIES_KEPT = timedelta(days=7)
_GRACE_S = 3600

log = logging.getLogger(__name__)


class Calendar:
    """Jobs by the wall clock; watchdog, heartbeats and deadlines are not here, they must not jump with it."""

    def __init__(self, post: Post, archive: JournalThread, clock: Callable[[], datetime], backups: Path) -> None:
        self._post = post
        self._archive = archive
        self._clock = clock
        self._backups = backups
        defaults = {"coalesce": True, "max_instances": 1, "misfire_grace_time": _GRACE_S}
        self._scheduler: Any = AsyncIOScheduler(timezone="UTC", job_defaults=defaults)
        self._reduels: dict[str, float] = {}

    def start(self, backup_hours: float) -> None:
        """Begin."""
        self._scheduler.start()
        self.backup_every(backup_hours)
        self._scheduler.add_job(self._forget_replies, "interval", hours=24, id="~replies")

    def backup_every(self, hours: float) -> None:
        """Back the journal up this often, counted from the last backup: a daemon may be started anew every day."""
        known = [datetime.fromtimestamp(old.stat().st_mtime, UTC) for old in self._backups.glob("journal-*.sqlite")]
        due = max([*known, datetime.min.replace(tzinfo=UTC)]) + timedelta(hours=hours)
        first = max(due, self._clock() + timedelta(minutes=1))
        self._scheduler.add_job(
            self.back_up, "interval", hours=hours, id="~backup", replace_existing=True, next_run_time=first
        )

    def stop(self) -> None:
        """End; nothing happens if it never began."""
        if self._scheduler.running:
            self._scheduler.shutdown(wait=False)

    def follow(self, state: State) -> None:
        """Wake up when a campaign's question may be asked or a restriction ends; let its champion be judged again."""
        moment = wake_at(state, self._clock())
        self._wake(state.name, f"wake {state.name}", moment)
        self._wake(state.name, f"restriction {state.name}", next_end(state))
        hours = state.terms.policy.champion_reduel_hours
        if hours != self._reduels.get(state.name):
            self._set_reduel(state, hours)

    def _wake(self, name: str, identity: str, moment: datetime | None) -> None:
        if moment is not None:
            self._scheduler.add_job(
                self._tick,
                "date",
                run_date=moment,
                args=[name],
                id=identity,
                replace_existing=True,
                misfire_grace_time=None,  # after a night's sleep of the computer it is still due
            )

    def _set_reduel(self, state: State, hours: float | None) -> None:
        name = state.name
        identity = f"reduel {name}"
        if hours is None:
            self._scheduler.remove_job(identity)
            self._reduels.pop(name, None)
            return
        self._reduels[name] = hours
        last = max([d.asked_at for d in state.duels if d.why == "reduel"], default=state.created_at)
        first = max(last + timedelta(hours=hours), self._clock() + timedelta(minutes=1))
        self._scheduler.add_job(
            self._reduel,
            "interval",
            hours=hours,
            args=[name],
            id=identity,
            replace_existing=True,
            next_run_time=first,
        )

    async def _tick(self, name: str) -> None:
        await self._post(name, c.Tick())

    async def _reduel(self, name: str) -> None:
        await self._post(name, c.Reduel())

    async def back_up(self) -> Path | None:
        """Write a checked copy of the journal and remove the oldest ones."""
        now = text_of(self._clock()).replace(":", "").partition(".")[0]
        target = self._backups / f"journal-{now}Z.sqlite"
        try:
            self._backups.mkdir(mode=0o700, parents=True, exist_ok=True)
            path = await self._archive.call(lambda store: store.path)
            await asyncio.to_thread(_back_up, path, target)
        except (JournalError, OSError):
            log.exception("no backup was made")
            return None
        log.info("backup written to %s", target)
        for old in sorted(self._backups.glob("journal-*.sqlite"))[:-BACKUPS_KEPT]:
            old.unlink(missing_ok=True)
        return target

    async def _forget_replies(self) -> None:
        """The calendar may jump: how long ago a reply was given is the journal's to say."""
        await self._archive.call(lambda store: store.prune_replies(REPLIES_KEPT.total_seconds()))


def _back_up(path: Path, target: Path) -> None:
    """By a connection that only reads, so that answers need not wait for a large copy."""
    with Store.open_reading(path) as store:
        store.backup(target)
