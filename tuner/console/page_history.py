"""The history: every trial with outcome and judgments; with a reason, either can be taken out of account."""

from typing import ClassVar

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import DataTable, Static

from tuner.console import deeds, show
from tuner.console.deeds import CannotError
from tuner.console.keys import Key, both
from tuner.console.page import Page
from tuner.console.tell import about, cells, judged, outcome
from tuner.errors import TunerError
from tuner.wire.messages import JudgmentView, TrialView

_PAGE = 100


class HistoryPage(Page):
    """A table of trials, the newest first."""

    title_key: ClassVar[str] = "history.title"
    help_key: ClassVar[str | None] = "history.help"
    keys: ClassVar[tuple[Key, ...]] = (
        Key("e", "e", "key.exclude", "exclude"),
        Key("z", "z", "key.retract", "retract"),
        Key("+", "plus", "key.more", "more"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [Binding(both(key.name), key.action, show=False) for key in keys]

    def __init__(self, campaign: str) -> None:
        super().__init__(campaign)
        self.trials: list[TrialView] = []
        self.judgments: list[JudgmentView] = []
        self._more = False
        self._seen_n = 0

    def compose_body(self) -> ComposeResult:
        """The table."""
        yield DataTable(id="table", cursor_type="row", zebra_stripes=False)
        yield Static(id="detail")

    def begin(self) -> None:
        """Fetch the newest page."""
        self.query_one(DataTable).focus()
        self.fetch()

    def session_changed(self) -> None:
        """Fetch again when something happened."""
        if self.is_mounted and self.view.n != self._seen_n:
            self.fetch()

    @work(exclusive=True, group="fetch")
    async def fetch(self, before: int | None = None) -> None:
        """Fetch a page of trials; with `before` the next older one."""
        self._seen_n = self.view.n
        try:
            page = await self.console.session.client.trials(self.campaign, before=before, limit=_PAGE)
        except TunerError as error:
            self.console.say(str(error), bad=True)
        else:
            older = [trial for trial in self.trials if before is not None and trial.number >= before]
            self.trials = older + page.trials
            have = {j.number: j for j in (*self.judgments, *page.judgments)}
            self.judgments = sorted(have.values(), key=lambda j: -j.number)
            self._more = page.more
        self.put()

    def put_body(self) -> None:
        """Fill the table, keeping the cursor."""
        table: DataTable[Text] = self.query_one("#table", DataTable)
        row = table.cursor_row
        table.clear(columns=True)
        words = self.words
        table.add_columns(*(Text(words(f"history.{name}")) for name in ("tag", "outcome", "judgment", "setting", "at")))
        tags = {trial.number: trial.tag for trial in self.trials}
        for trial in self.trials:
            table.add_row(*cells(words, self.view, trial, self.judgments, tags))
        if self.trials:
            table.move_cursor(row=min(max(0, row), len(self.trials) - 1))
        self._put_detail()

    def on_data_table_row_highlighted(self) -> None:
        """Another trial is under the cursor."""
        self._put_detail()

    def _put_detail(self) -> None:
        """Everything about the trial under the cursor, for what does not fit into its row."""
        try:
            trial = self.chosen()
        except CannotError:
            self.query_one("#detail", Static).update(self.words("history.empty"))
            return
        words = self.words
        tags = {one.number: one.tag for one in self.trials}
        lines = [f"{trial.tag}: {outcome(words, trial)}", show.brief(words, self.view, trial.setting)]
        lines += [judged(words, trial, judgment, tags) for judgment in about(trial, self.judgments)]
        self.query_one("#detail", Static).update(Text("\n".join(lines)))

    def chosen(self) -> TrialView:
        """The trial under the cursor."""
        row = self.query_one(DataTable).cursor_row
        if not 0 <= row < len(self.trials):
            raise CannotError("cannot.nothing")
        return self.trials[row]

    @work
    async def action_exclude(self) -> None:
        """Leave the trial out of account, with a reason."""
        try:
            await self._exclude(self.chosen())
        except CannotError as error:
            self.console.refuse(error)
        self.put()

    async def _exclude(self, trial: TrialView) -> None:
        self.console.check(deeds.exclude(self.view, trial, "?"))
        reason = await self.console.reason("ask.exclude", tag=trial.tag)
        if reason:
            await self.console.do(deeds.exclude(self.view, trial, reason))

    @work
    async def action_retract(self) -> None:
        """Take the trial's newest judgment back, with a reason."""
        try:
            await self._retract(self.chosen())
        except CannotError as error:
            self.console.refuse(error)
        self.put()

    async def _retract(self, trial: TrialView) -> None:
        judgment = next((j for j in about(trial, self.judgments) if j.retracted is None), None)
        if judgment is None:
            raise CannotError("cannot.nothing")
        self.console.check(deeds.retract(self.view, judgment, "?"))
        reason = await self.console.reason("ask.retract", number=judgment.number)
        if reason:
            await self.console.do(deeds.retract(self.view, judgment, reason))

    def action_more(self) -> None:
        """Older trials."""
        if self._more and self.trials:
            self.fetch(self.trials[-1].number)
