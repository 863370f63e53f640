"""The demo's campaign: a real daemon on a simulated machine, followed by its events, judged by script or people."""

import contextlib
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from tuner.basics.files import write_text
from tuner.campaign.evolve import evolve
from tuner.campaign.people import answer_to
from tuner.campaign.state import CampaignTrial, Mode, State
from tuner.campaign.terms import Terms
from tuner.config import Campaign
from tuner.daemon.views import phase
from tuner.errors import TunerError
from tuner.lab.demo.sample import sample_config
from tuner.lab.judges.by_name import Answerer, AskedDuel, make_judge
from tuner.lab.local_daemon import LocalDaemon
from tuner.lab.simulate.prepare import as_toml, chosen_campaign, scripted, seeded
from tuner.report.story import read_history, recorded
from tuner.report.truth import Setting, Truth
from tuner.wire.client import Client, Gap, Silence
from tuner.wire.errors import ReplyError
from tuner.wire.messages import EventMessage
from tuner.wire.operations import request_of

__all__ = ["Session", "sample_config"]

LASTS_S = 42.0  # with the starts of processes and the report about a minute
LONGEST_TRIAL_S = 1.5
LONGEST_DIRECTORY = 60  # a socket's path has at most 107 bytes
# what a spectator wants to look at, and for which share of a trial's time; a proposal once it is approved, since before
# that the page says that an engineer is waited for
PAUSES = {"proposal_approved": 0.4, "outcome_told": 0.3, "judgment_given": 0.3}
REPORT = "report.html"
PICTURES = "pictures"
OVER = frozenset({Mode.COMPLETE, Mode.STOPPED, Mode.ABORTED})


@dataclass
class Session:
    """A demo under way.

    Attributes:
        truth: What only a simulation knows.
        place: The daemon's state directory; it is kept.
        human: Whether people judge.
        trial_s: How long a spectator sees each trial.
        state: The campaign as its events tell it; None before the first.
        champion: The best trial's number, if there is one.
        recommended: The setting for the master recipe, once the campaign is over.
        seconds: How long it took.
        writing: Whether the report is being written.
        report: Where the report is, or why there is none.
    """

    campaign: Campaign
    truth: Truth
    place: Path
    human: bool
    trial_s: float
    pause: Callable[[float], None] = time.sleep
    state: State | None = None
    champion: int | None = None
    recommended: Setting | None = None
    seconds: float = 0.0
    writing: bool = False
    report: str = ""
    _judge: Answerer | None = field(default=None, repr=False)

    @classmethod
    def from_file(cls, path: Path, *, trials: int | None, seed: int, human: bool, fast: bool) -> "Session":
        """Build it from the first campaign of a configuration, in a fresh directory."""
        base = chosen_campaign(path)
        campaign = seeded(base, seed, trials=trials)
        if not human:
            names = {"name": base.name, "machine": base.machine}
            campaign = scripted(base, seed, trials=trials).model_copy(update=names)
        truth = Truth.of(Terms.of(campaign))
        if truth is None:
            raise TunerError(f"{path}: nothing is known about the machine of the campaign {base.name}")
        trial_s = 0.0 if fast or human else min(LONGEST_TRIAL_S, LASTS_S / campaign.budget.trials)
        place = _fresh_directory()
        if human:  # people need something to judge by
            pictures = campaign.adapter.settings.model_copy(update={"pictures": place / PICTURES})
            adapter = campaign.adapter.model_copy(update={"settings": pictures})
            campaign = campaign.model_copy(update={"adapter": adapter})
        judge = None if human else make_judge("oracle", seed)
        return cls(campaign, truth, place, human, trial_s, _judge=judge)

    @property
    def trials(self) -> tuple[CampaignTrial, ...]:
        """The trials so far."""
        return () if self.state is None else self.state.trials

    @property
    def scrap(self) -> int:
        """How many trials made no part."""
        return 0 if self.state is None else self.state.scrap

    @property
    def done(self) -> int:
        """How many trials have an outcome."""
        return sum(trial.valid is not None for trial in self.trials)

    @property
    def phase(self) -> str:
        """What goes on now, as a sentence."""
        if self.writing:
            return "the report is written"
        return "the daemon starts" if self.state is None else phase(self.state, datetime.now(UTC))[1]

    @property
    def home(self) -> str:
        """Where the machine is, as a sentence."""
        if self.state is None or self.state.machine.requested is None:
            return "it was not moved"
        machine = self.state.machine
        return "at its known-good setting" if machine.home else f"NOT at its known-good setting: {machine.home_failed}"

    def run(self, update: Callable[[], None], clock: Callable[[], float] = time.monotonic) -> bool:
        """Tune until the campaign is over; return whether an interrupt ended it before.

        Whatever happens, the daemon brings the machine to its known-good setting before it ends.
        """
        begin = clock()
        config = self.place / "tuner.toml"
        write_text(config, as_toml(self.campaign))
        interrupted = False
        running = LocalDaemon(config, self.place)
        try:
            running.start()
            with running.client("demo") as client:
                try:
                    self._follow(client, update, running.alive, start=True)
                except KeyboardInterrupt:
                    interrupted = True
                    self._stop(client, update, running.alive)
                with contextlib.suppress(ReplyError):
                    self.recommended = client.recommendation(self.campaign.name).setting
        except KeyboardInterrupt:  # again, or while the daemon started
            interrupted = True
        finally:
            running.stop()
        self.seconds = clock() - begin
        return interrupted

    def write_report(self, update: Callable[[], None]) -> None:
        """Write the page about the campaign beside its journal."""
        from tuner.report.page import report_page
        from tuner.report.story import story_of_journal

        self.writing = True
        update()
        try:
            story = story_of_journal(self.place, self.campaign.name, datetime.now(UTC))
            write_text(self.place / REPORT, report_page(story))
        except TunerError as error:
            self.report = f"none: {error}"
        else:
            self.report = str(self.place / REPORT)

    def _stop(self, client: Client, update: Callable[[], None], alive: Callable[[], bool]) -> None:
        self.trial_s, self._judge = 0.0, None
        with contextlib.suppress(ReplyError):  # it was over already
            client.stop(self.campaign.name, "interrupted by Ctrl-C")
        self._follow(client, update, alive)

    def _follow(
        self, client: Client, update: Callable[[], None], alive: Callable[[], bool], *, start: bool = False
    ) -> None:
        """Show every event until the campaign is over; it is started when they are listened to."""
        for item in client.events(self.campaign.name):
            if isinstance(item, Silence) and not alive():
                raise TunerError(f"the daemon ended by itself; see {self.place / 'daemon.log'}")
            if not self._take(client, item):
                continue
            update()
            if start:
                client.start(self.campaign.name)
                start = False
            if isinstance(item, EventMessage) and item.type in PAUSES and self.trial_s:
                self.pause(PAUSES[item.type] * self.trial_s)
            self._answer(client)
            if self._over():
                return

    def _take(self, client: Client, item: object) -> bool:
        """Fold an event, or all of them after a gap; return whether there was anything new."""
        name = self.campaign.name
        if isinstance(item, Gap):
            self.state = None
            for one in read_history(client, name):
                self.state = evolve(name, self.state, one)
        elif not isinstance(item, EventMessage):
            return False
        elif self.state is None or item.n > self.state.count:
            self.state = evolve(name, self.state, recorded(item))
        else:
            return False
        champion = client.snapshot(name).champion  # only the daemon knows whom its model believes best
        self.champion = None if champion is None else champion.number
        return True

    def _answer(self, client: Client) -> None:
        """Answer the open duel, if there is one and a script is to answer it."""
        duel = None if self.state is None else self.state.duel
        if duel is None or self._judge is None:
            return
        answer = self._judge(AskedDuel.of(duel.number, *(self.trials[side - 1] for side in (duel.left, duel.right))))
        said = answer_to(duel.number, duel.left, duel.right, answer.side)
        with contextlib.suppress(ReplyError):  # somebody at a console was quicker
            client.call(request_of(self.campaign.name, said))

    def _over(self) -> bool:
        state = self.state
        if state is None or (state.machine.home_wanted is not None and state.machine.home_failed is None):
            return False
        if state.mode is Mode.HELD:
            return not self.human  # people may mend the machine and go on
        return state.mode in OVER and state.trial is None


def _fresh_directory() -> Path:
    """A directory whose sockets' paths are short enough."""
    parent = tempfile.gettempdir()
    if len(parent.encode()) > LONGEST_DIRECTORY:
        raise TunerError(f"{parent}: this path is too long for the daemon's sockets; set TMPDIR to a shorter one")
    return Path(tempfile.mkdtemp(prefix="tuner-demo-"))
