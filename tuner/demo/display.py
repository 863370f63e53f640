"""What the spectator of the demo sees: a live page on a terminal, plain lines elsewhere."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from tuner.core.parameters import Value
from tuner.demo.session import Session, Step
from tuner.text import counted

MOST_LAST = 6
PLAIN_WIDTH = 160
_COLOURS = {"new champion": "green", "scrap": "red", "running": "yellow"}


class Display(Protocol):
    """Shows a session."""

    def update(self) -> None:
        """Show what has changed."""

    def finish(self, *, interrupted: bool) -> None:
        """Show what was reached."""


@contextmanager
def display(session: Session) -> Iterator[Display]:
    """Choose the display that stdout can show."""
    console = Console()
    if not console.is_terminal:
        yield Lines(session, Console(width=PLAIN_WIDTH, soft_wrap=True))
        return
    page = Page(session, console)
    with page.live:
        yield page


def setting_text(setting: Mapping[str, Value]) -> str:
    """Return a setting on one line."""
    return ", ".join(
        f"{name} = {value:.4f}" if isinstance(value, float) else f"{name} = {value}" for name, value in setting.items()
    )


def summary(session: Session, *, interrupted: bool) -> list[str]:
    """Return what was reached, as sentences."""
    lines = [
        f"{'Interrupted' if interrupted else 'Ended'} after {counted(len(session.steps), 'trial')} "
        f"in {session.seconds:.1f} s, {session.scrap} of them scrap."
    ]
    champion = session.champion
    if champion is None:
        return [*lines, "No part was made, so nothing can be recommended."]
    lines.append(f"Champion:      {_priced(session, champion.setting)}, trial {champion.number}")
    lines.append(f"Recommended:   {_priced(session, session.optimizer.recommend())}")
    best = dict(zip(session.optimizer.space.names, session.problem.minimisers[0], strict=True))
    lines.append(f"Known optimum: {setting_text(best)}: true cost {session.problem.minimum:.4f}")
    return lines


def _priced(session: Session, setting: Mapping[str, Value]) -> str:
    cost = session.true_cost(setting)
    return f"{setting_text(setting)}: " + ("makes no part" if cost is None else f"true cost {cost:.4f}")


class Lines:
    """One line a trial."""

    def __init__(self, session: Session, console: Console) -> None:
        self._session = session
        self._console = console

    def update(self) -> None:
        """Print the last trial once its outcome is known."""
        session = self._session
        step = session.steps[-1]
        if step.valid is None:
            return
        champion = session.champion
        cost = None if champion is None else session.true_cost(champion.setting)
        best = "no champion yet" if cost is None else f"champion's true cost {cost:.4f}"
        self._console.print(
            f"{step.number:>3}/{session.trials} {step.outcome:<12} {setting_text(step.setting)}; {best}, "
            f"scrap {session.scrap}. {step.reason}",
            markup=False,
            highlight=False,
        )

    def finish(self, *, interrupted: bool) -> None:
        """Print what was reached."""
        for line in summary(self._session, interrupted=interrupted):
            self._console.print(line, markup=False, highlight=False)


class Page:
    """A page that stays in place."""

    def __init__(self, session: Session, console: Console) -> None:
        self._session = session
        self._console = console
        self._progress = Progress(
            TextColumn("trials"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=console,
        )
        self._task = self._progress.add_task("trials", total=session.trials)
        self.live = Live(self._page(), console=console, refresh_per_second=10)

    def update(self) -> None:
        """Draw the page anew."""
        done = sum(step.valid is not None for step in self._session.steps)
        self._progress.update(self._task, completed=done)
        self.live.update(self._page())

    def finish(self, *, interrupted: bool) -> None:
        """Print what was reached below the page."""
        for line in summary(self._session, interrupted=interrupted):
            self._console.print(line, markup=False)

    def _page(self) -> Group:
        return Group(self._progress, self._state(), self._last())

    def _room(self) -> int:
        """How many of the last proposals fit: a reason has some 200 letters, the other columns take 55."""
        lines = -(-200 // max(self._console.width - 55, 20))
        return max(1, min(MOST_LAST, (self._console.height - 9) // lines))

    def _state(self) -> Table:
        session = self._session
        champion = session.champion
        table = Table.grid(padding=(0, 2))
        table.add_row("champion", "none yet" if champion is None else escape(_priced(session, champion.setting)))
        table.add_row("known optimum", f"true cost {session.problem.minimum:.4f}")
        budget = session.campaign.budget.scrap
        table.add_row("scrap", f"{session.scrap}" if budget is None else f"{session.scrap} of at most {budget}")
        return table

    def _last(self) -> Table:
        table = Table(title="last proposals", title_justify="left", expand=True)
        table.add_column("trial", justify="right")
        table.add_column("setting", no_wrap=True)
        table.add_column("outcome", no_wrap=True)
        table.add_column("why", ratio=1)
        for step in reversed(self._session.steps[-self._room() :]):
            table.add_row(f"{step.number}", escape(setting_text(step.setting)), _coloured(step), escape(step.reason))
        return table


def _coloured(step: Step) -> str:
    colour = _COLOURS.get(step.outcome)
    return f"[{colour}]{step.outcome}[/{colour}]" if colour else step.outcome
