"""`tuner replay`: computes every proposal and question of a journal again and compares them, bit for bit."""

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tuner.basics.text import counted
from tuner.basics.threads import one_blas_thread
from tuner.campaign.events import DuelWanted, ProposalMade
from tuner.campaign.evolve import HistoryError, evolve, fold, parsed
from tuner.campaign.model_input import model_input
from tuner.campaign.state import State
from tuner.cli.run_options import cores, jobs_option
from tuner.cli.state_option import state_directory, state_option
from tuner.compute.backend import Job
from tuner.compute.engine_name import engine_name
from tuner.compute.worker_pool import Pool
from tuner.core.optimizer.questions import Question
from tuner.core.optimizer.records import Proposal
from tuner.daemon.journal_thread import kept_state
from tuner.errors import TunerError
from tuner.journal.records import Row
from tuner.journal.store import FILE_NAME, Store
from tuner.tables.bundle import read as read_bundle

TASKS = {"model": "next_step", "fallback": "fallback"}
_AHEAD = 20


@dataclass(frozen=True)
class Made:
    """A proposal or a question of the journal and what the model knew then."""

    campaign: str
    seq: int
    event: ProposalMade | DuelWanted
    payload: dict[str, Any]

    @property
    def task(self) -> str:
        """What computes it."""
        return TASKS[self.event.source] if isinstance(self.event, ProposalMade) else TASKS["model"]

    @property
    def said(self) -> dict[str, Any]:
        """What the model said then, in the form of `tuner.compute.tasks.next_step`."""
        event, memory = self.event, None if self.event.model is None else self.event.model.to_json()
        if isinstance(event, ProposalMade):
            number = len(self.payload["state"]["trials"]) + 1  # with an earlier campaign's trials
            return {"proposal": Proposal.of(event, number=number).to_json(), "question": None, "model": memory}
        asked = Question(event.trial, event.opponent, repeat=event.why == "again", why=event.why)
        return {"proposal": None, "question": asked.to_json(), "model": memory}


@dataclass(frozen=True)
class Replayed:
    """A proposal or a question computed again, and what it has different."""

    made: Made
    differences: tuple[str, ...]

    @property
    def comparable(self) -> bool:
        """Whether this engine made it, so that it must come out the same; one that names none is not excused."""
        return self.made.event.engine in ("", engine_name())


def computed(rows: Iterable[Row], faults: dict[str, str]) -> Iterator[Made]:
    """Every proposal and question that was computed, in order; `faults` gets the campaigns that cannot be read."""
    states: dict[str, State] = {}
    for row in rows:
        state = states.get(row.campaign)
        if row.campaign in faults:
            continue
        try:
            one = parsed(row.seq, row.at, row.actor, row.body)
            states[row.campaign] = evolve(row.campaign, state, one)
        except HistoryError as error:
            faults[row.campaign] = str(error)
            continue
        event = one.event
        by_hand = isinstance(event, ProposalMade) and event.source not in TASKS
        if isinstance(event, ProposalMade | DuelWanted) and not by_hand and state is not None:
            yield Made(row.campaign, row.seq, event, model_input(state))


def wrong_snapshots(store: Store, campaign: str | None, faults: Mapping[str, str]) -> list[str]:
    """Campaigns whose kept state is not what their events give."""
    wrong = []
    for row in store.campaigns():
        kept, seq = kept_state(store, row.name) if campaign in (None, row.name) else (None, 0)
        if kept is None or row.name in faults:
            continue
        rows = (one for one in store.rows(campaign=row.name) if one.seq <= seq)
        state = fold(row.name, (parsed(one.seq, one.at, one.actor, one.body) for one in rows))
        if state != kept:
            wrong.append(row.name)
    return wrong


def differences(then: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """What an answer of the model computed again has different: its fields by name where both are of one kind."""
    different = []
    for name in then:
        old, new = then[name], now[name]
        if name != "model" and isinstance(old, dict) and isinstance(new, dict):
            different += differences(old, new)
        elif json.dumps(old, sort_keys=True) != json.dumps(new, sort_keys=True):
            different.append(name)
    return different


@click.command()
@click.argument("bundle", metavar="[BUNDLE]", required=False, type=click.Path(path_type=Path))
@state_option
@click.option("--campaign", help="Only this campaign.")
@jobs_option(most=None, default=cores, show_default="all cores")
def replay(bundle: Path | None, state: Path | None, campaign: str | None, jobs: int) -> None:
    """Compute every proposal and question again from the journal and compare it with what was said, bit for bit.

    Each names what made it: the version of tuner, a digest of its source, numpy, scipy, the kind of processor.
    What this very engine made must come out the same. What another one made may differ: it is said, and no failure.
    BUNDLE is a file of `tuner bundle`, instead of the journal.
    """
    one_blas_thread()
    faults: dict[str, str] = {}
    if bundle is not None:
        rows = [row for row in read_bundle(bundle) if campaign in (None, row.campaign)]
        found = asyncio.run(_replay(lambda: rows, jobs, sum(1 for _ in computed(rows, faults))))
    else:
        with Store.open_reading(state_directory(state) / FILE_NAME) as store:
            total = sum(1 for _ in computed(store.rows(campaign=campaign), faults))
            snapshots = wrong_snapshots(store, campaign, faults)
            if snapshots:
                raise TunerError(f"the kept state is not what the events give: {', '.join(snapshots[:20])}")
            found = asyncio.run(_replay(lambda: store.rows(campaign=campaign), jobs, total))
    unread = [f"campaign {name}: {why}" for name, why in faults.items()]
    if not found and not unread:
        raise TunerError(
            "the journal has no proposals to replay" + (f" in the campaign {campaign}" if campaign else "")
        )
    ours = [one for one in found if one.comparable]
    wrong = [one for one in ours if one.differences]
    if wrong:
        lines = [
            f"event {one.made.seq}, {one.made.campaign} trial {one.made.event.trial}: {', '.join(one.differences)}"
            for one in wrong
        ]
        lines = [*unread, *lines[:20]]
        raise TunerError(f"{len(wrong)} of {_counted(ours)} differ (made by {_makers(ours)}):\n" + "\n".join(lines))
    if ours:
        click.echo(f"{_counted(ours)} recomputed, every one identical (made by {_makers(ours)})")
    for line in _foreign([one for one in found if not one.comparable]):
        click.echo(line)
    if unread:
        raise TunerError("not all campaigns can be read:\n" + "\n".join(unread))


def _counted(found: Sequence[Replayed]) -> str:
    """As in "12 proposals and 1 question"."""
    questions = sum(isinstance(one.made.event, DuelWanted) for one in found)
    proposals = counted(len(found) - questions, "proposal")
    return f"{proposals} and {counted(questions, 'question')}" if questions else proposals


def _makers(found: Sequence[Replayed]) -> str:
    return ", ".join(sorted({one.made.event.engine or "an unknown version" for one in found}))


def _foreign(found: Sequence[Replayed]) -> Iterator[str]:
    """Say for each other engine how many of its proposals this one makes too; those that differ prove nothing."""
    for engine in sorted({one.made.event.engine for one in found}):
        theirs = [one for one in found if one.made.event.engine == engine]
        differ = sum(bool(one.differences) for one in theirs)
        verdict = (
            "every one identical"
            if not differ
            else f"{differ} not the same here; only that version can compute {'it' if differ == 1 else 'them'} again"
        )
        made = f"{_counted(theirs)} made by another version, {engine}"
        yield f"{made}: {verdict} (this is {engine_name()})"


async def _replay(rows: Callable[[], Iterable[Row]], jobs: int, total: int) -> list[Replayed]:
    columns = (TextColumn("replay"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    found: list[Replayed] = []
    waiting: list[tuple[Made, Job]] = []

    async def finish() -> None:
        made, job = waiting.pop(0)
        found.append(Replayed(made, tuple(differences(made.said, await job.result()))))
        bar.advance(task)

    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("replay", total=total)
        async with Pool(jobs, cache_count=1) as pool:
            for made in computed(rows(), {}):
                waiting.append((made, pool.submit(made.task, made.payload)))
                if len(waiting) >= _AHEAD:
                    await finish()
            while waiting:
                await finish()
    return found
