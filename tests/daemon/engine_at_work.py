"""An engine at work for tests, with a real journal and without machines."""

import asyncio
import contextlib
from datetime import UTC, datetime, timedelta

from tests.campaign.helpers import ENGINEER, proposed, terms
from tuner.campaign import commands as c
from tuner.daemon.engine import Engine
from tuner.daemon.journal_thread import JournalThread


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(milliseconds=1)
        return self.now


class Desk:
    """An engine at work, and what it has published and asked for."""

    def __init__(self, archive: JournalThread) -> None:
        self.archive = archive
        self.clock = Clock()
        self.published: list[str] = []
        self.followed: list[str] = []
        self.engine = Engine(archive, self.clock, self._publish, lambda state: self.followed.append(state.name))

    def _publish(self, name, one, state) -> None:
        self.published.append(f"{name} {state.count} {one.event.type}")


@contextlib.asynccontextmanager
async def desk(directory):
    archive = await JournalThread.open(directory)
    made = Desk(archive)
    await made.engine.load()
    work = asyncio.create_task(made.engine.run())
    try:
        yield made
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        await archive.close()


async def make(engine: Engine, name: str, given=None) -> None:
    assert (await engine.post(name, c.Create(terms=given or terms()))).status == "done"


async def run_once(engine: Engine, name: str) -> None:
    """The open trial through gate and machine."""
    number = engine.states[name].trial.number
    await engine.post(name, c.SendSetting(trial=number))
    await engine.post(name, c.AnswerSetting(trial=number, result="applied"))
    await engine.post(name, c.BeginTrial(trial=number))
    await engine.post(name, c.MachineOutcome(trial=number, valid=True))


async def propose(engine: Engine, name: str, x: float) -> None:
    command = proposed(engine.states[name], {"x": x, "n": 2})
    assert (await engine.post(name, command, ENGINEER)).status == "done"
