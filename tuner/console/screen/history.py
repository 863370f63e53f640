"""The history on the screen: a table of trials; with a reason, a trial or a judgment is taken out of account."""

from typing import ClassVar

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import DataTable, Static

from tuner.console.keyboard import HISTORY
from tuner.console.pages.history import COLUMNS, HistoryPage, about
from tuner.console.screen.page import PageScreen, bindings
from tuner.errors import TunerError
from tuner.wire.messages import TrialView

_EXCLUDE, _RETRACT, _AGAIN, _ = HISTORY


class HistoryScreen(PageScreen):
    """A table of trials, the newest first."""

    page: HistoryPage
    BINDINGS: ClassVar[list[BindingType]] = bindings(HISTORY)
    _seen_n = 0  # the last event of what is shown

    def compose_body(self) -> ComposeResult:
        yield DataTable(id="table", cursor_type="row", zebra_stripes=False)
        yield Static(id="detail")

    def begin(self) -> None:
        self.query_one(DataTable).focus()
        self.fetch()

    def session_changed(self) -> None:
        """Fetch again when something happened."""
        if self.is_mounted and self.view is not None and self.view.n != self._seen_n:
            self.fetch()

    @work(exclusive=True, group="fetch")
    async def fetch(self, before: int | None = None) -> None:
        """Fetch trials; with `before` older ones."""
        self._seen_n = self.view.n if self.view is not None else 0
        try:
            await self.page.fetch_before(self.console.session.client, before)
        except TunerError as error:
            self.console.say(self.words.told(str(error)), bad=True)
        self.put()
        await self.page.fetch_circles(self.console.session.client)
        self.put()

    def put_body(self) -> None:
        table: DataTable[Text] = self.query_one("#table", DataTable)
        words, page, view, row = self.words, self.page, self.view, table.cursor_row
        rows = [page.row(words, view, trial) for trial in page.trials] if view is not None else []
        table.clear(columns=True)
        for place, name in enumerate(COLUMNS):
            heading = Text(words(f"history.{name}"))
            # left to itself the table measures when it is idle, and not again for rows that came meanwhile
            table.add_column(heading, width=max(one.cell_len for one in (heading, *(cells[place] for cells in rows))))
        table.add_rows(rows)
        if table.row_count:
            table.move_cursor(row=min(max(0, row), table.row_count - 1))
        self.on_data_table_row_highlighted()

    def on_data_table_row_highlighted(self) -> None:
        trial, view = self.chosen, self.view
        text = self.words("history.empty")
        if trial is not None and view is not None:
            text = self.page.detail(self.words, view, trial)
        self.query_one("#detail", Static).update(Text(text))

    @property
    def chosen(self) -> TrialView | None:
        row = self.query_one(DataTable).cursor_row
        return self.page.trials[row] if 0 <= row < len(self.page.trials) else None

    @work
    async def action_exclude(self) -> None:
        if self.chosen is None:
            self.console.say(self.words("cannot.nothing"), bad=True)
        else:
            await self.console.actions.press(_EXCLUDE, self.view, self.chosen)
        self.put()

    @work
    async def action_retract(self) -> None:
        have = about(self.chosen, self.page.judgments) if self.chosen is not None else []
        judgment = next((one for one in have if one.retracted is None), None)
        if judgment is None:
            self.console.say(self.words("cannot.no_judgment"), bad=True)
        else:
            await self.console.actions.press(_RETRACT, self.view, judgment)
        self.put()

    @work
    async def action_again(self) -> None:
        """Ask again for what the circle turns on, else for the trial's newest judgment."""
        circle = next(iter(self.page.in_circle(self.chosen)), None) if self.chosen is not None else None
        have = about(self.chosen, self.page.judgments) if self.chosen is not None else []
        judgment = next((one for one in have if one.retracted is None), None)
        tags = self.page.tags
        if circle is not None:
            await self.console.actions.press(_AGAIN, self.view, circle["judgment"], " / ".join(circle.get("pair", ())))
        elif judgment is not None:
            pair = " / ".join(tags.get(one, f"#{one}") for one in (judgment.left, judgment.right))
            await self.console.actions.press(_AGAIN, self.view, judgment.number, pair)
        else:
            self.console.say(self.words("cannot.no_judgment"), bad=True)
        self.put()

    def action_more(self) -> None:
        if self.page.more and self.page.trials:
            self.fetch(self.page.trials[-1].number)
