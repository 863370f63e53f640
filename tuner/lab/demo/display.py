"""What the spectator of the demo sees: a live page on a terminal, plain lines elsewhere."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from tuner.basics.text import counted
from tuner.campaign.state import CampaignTrial
from tuner.config.to_space import campaign_space
from tuner.core.space.parameters import Value
from tuner.lab.demo.session import PICTURES, Session
from tuner.report.truth import OUT_OF_REACH

MOST_LAST = 6
PLAIN_WIDTH = 160
_COLOURS = {"champion": "green", "scrap": "red", "under way": "yellow", "to be judged": "yellow"}


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


def outcome(session: Session, trial: CampaignTrial) -> str:
    """What came of a trial, in a few words."""
    if trial.valid is None:
        return "under way"
    if not trial.valid:
        return "scrap"
    if trial.number == session.champion:
        return "champion"
    judged = [] if session.state is None else [j for j in session.state.active if trial.number in j.pair]
    if not judged:
        return "to be judged"
    if judged[0].winner is None:
        return "can't tell"
    return "was better" if judged[0].winner == trial.number else "not better"


def how_to_judge(session: Session) -> str:
    """What to type in another terminal."""
    place = session.place
    return f"tuner web --state {place} --photos {place / PICTURES} (with pictures), or tuner console --state {place}"


def summary(session: Session, *, interrupted: bool) -> list[str]:
    """Return what was reached, as sentences."""
    lines = [
        f"{'Interrupted' if interrupted else 'Ended'} after {counted(session.done, 'trial')} "
        f"in {session.seconds:.1f} s, {session.scrap} of them scrap."
    ]
    if session.champion is None:
        lines.append("No part was made, so nothing can be recommended.")
    else:
        champion = session.trials[session.champion - 1]
        lines.append(f"Champion:      {_priced(session, champion.setting)}, part {champion.tag}")
        if session.recommended is not None:
            lines.append(f"Recommended:   {_priced(session, session.recommended)}")
        optimum = setting_text(session.truth.optimum)
        lines.append(f"Known optimum: {optimum}: true cost {session.truth.problem.minimum:.4f}")
        if not session.truth.reachable(campaign_space(session.campaign)):
            lines.append(OUT_OF_REACH)
    return [
        *lines,
        f"Machine:       {session.home}",
        f"Report:        {session.report}",
        f"Journal:       {session.place}, for example for: tuner replay --state {session.place}",
    ]


def _priced(session: Session, setting: Mapping[str, Value]) -> str:
    cost = session.truth.cost(setting)
    return f"{setting_text(setting)}: " + ("makes no part" if cost is None else f"true cost {cost:.4f}")


class Lines:
    """One line a trial."""

    def __init__(self, session: Session, console: Console) -> None:
        self._session = session
        self._console = console
        self._shown = 0
        if session.human:
            self._print(f"Judge the parts in another terminal: {how_to_judge(session)}")

    def update(self) -> None:
        """Print the trials whose outcome is known and whose part is judged."""
        session = self._session
        for trial in session.trials[self._shown :]:
            said = outcome(session, trial)
            if said in ("under way", "to be judged"):
                return
            self._shown = trial.number
            champion = session.champion
            cost = None if champion is None else session.truth.cost(session.trials[champion - 1].setting)
            best = "no champion yet" if cost is None else f"champion's true cost {cost:.4f}"
            self._print(
                f"{trial.number:>3}/{session.campaign.budget.trials} {said:<12} {setting_text(trial.setting)}; {best}, "
                f"scrap {session.scrap}. {trial.reason}"
            )

    def finish(self, *, interrupted: bool) -> None:
        """Print what was reached."""
        for line in summary(self._session, interrupted=interrupted):
            self._print(line)

    def _print(self, line: str) -> None:
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
        self._task = self._progress.add_task("trials", total=session.campaign.budget.trials)
        self.live = Live(self._page(), console=console, refresh_per_second=10)

    def update(self) -> None:
        """Draw the page anew."""
        self._progress.update(self._task, completed=self._session.done)
        self.live.update(self._page())

    def finish(self, *, interrupted: bool) -> None:
        """Print what was reached below the page."""
        for line in summary(self._session, interrupted=interrupted):
            self._console.print(line, markup=False, soft_wrap=True)

    def _page(self) -> Group:
        return Group(self._progress, self._state(), self._last())

    def _room(self) -> int:
        """How many of the last proposals fit: a reason has some 200 letters, the other columns take 55."""
        lines = -(-200 // max(self._console.width - 55, 20))
        return max(1, min(MOST_LAST, (self._console.height - 13) // lines))

    def _state(self) -> Table:
        session = self._session
        table = Table.grid(padding=(0, 2))
        if session.human:
            table.add_row("judge with", f"[bold]{escape(how_to_judge(session))}[/bold] in another terminal")
        table.add_row("now", escape(session.phase))
        table.add_row("last answer", escape(self._answer()))
        champion = None if session.champion is None else session.trials[session.champion - 1]
        table.add_row("champion", "none yet" if champion is None else escape(_priced(session, champion.setting)))
        table.add_row("progress", escape(self._costs()))
        table.add_row("known optimum", f"true cost {session.truth.problem.minimum:.4f}")
        budget = session.campaign.budget.scrap
        table.add_row("scrap", f"{session.scrap}" if budget is None else f"{session.scrap} of at most {budget}")
        return table

    def _answer(self) -> str:
        state = self._session.state
        if state is None or not state.judgments:
            return "nobody was asked yet"
        last = state.judgments[-1]
        if last.winner is None or last.loser is None:
            return f"{last.operator} can't tell"
        winner, loser = (state.trials[number - 1].tag for number in (last.winner, last.loser))
        return f"{winner} is better than {loser}, says {last.operator}"

    def _costs(self) -> str:
        """The true costs of the first trial and of those that won their duel, one after the other."""
        session = self._session
        first = [t for t in session.trials[:1] if t.valid]
        won = [t for t in session.trials[1:] if outcome(session, t) in ("champion", "was better")]
        costs = [session.truth.cost(trial.setting) for trial in (*first, *won)]
        return " > ".join(f"{cost:.3f}" for cost in costs[-6:] if cost is not None)

    def _last(self) -> Table:
        session = self._session
        table = Table(title="last proposals", title_justify="left", expand=True)
        table.add_column("part", justify="right")
        table.add_column("setting", no_wrap=True)
        table.add_column("outcome", no_wrap=True)
        table.add_column("why", ratio=1)
        for trial in reversed(session.trials[-self._room() :]):
            said = outcome(session, trial)
            colour = _COLOURS.get(said)
            shown = f"[{colour}]{said}[/{colour}]" if colour else said
            table.add_row(escape(trial.tag), escape(setting_text(trial.setting)), shown, escape(trial.reason))
        return table
