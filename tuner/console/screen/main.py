"""The main screen: machine and link at the top, the duel in the middle, the fixed keys at the bottom."""

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, cast

from rich.cells import cell_len
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.events import Resize
from textual.geometry import Size
from textual.screen import Screen

from tuner.console.campaign_text import alarms, budget, fit
from tuner.console.keyboard import BAR, MAIN
from tuner.console.pages.page import ALARM, STRONG
from tuner.console.restricting import restricted_text
from tuner.console.screen.drawing import column, machine, top, waiting
from tuner.console.screen.keybar import TALL_FROM, WIDE_FROM, KeyBar, Line, Touchable, sized, whole
from tuner.console.screen.panel import Panel
from tuner.wire.messages import CampaignView, DuelView

if TYPE_CHECKING:
    from tuner.console.screen.app import ConsoleApp

_SHORT_BELOW = 16  # lines below which only the question, the message and the answers' keys have room


class Tab(Touchable):
    """A campaign's name that can be touched."""

    def __init__(self, name: str, show: Callable[[str], object]) -> None:
        super().__init__(lambda: show(name), classes="tab")
        self.campaign = name


class MainScreen(Screen[None]):
    """What the operator looks at all day."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(key.bound, f"app.press({key.shown!r})", show=False, priority="Tab" in key.shown) for key in MAIN
    ]

    def __init__(self) -> None:
        super().__init__()
        self.shown: CampaignView | None = None  # the view that the operator sees: answers are about this one
        self._tab: str | None = None  # the tab that was moved to where it is seen
        self._lines: tuple[int, ...] = ()  # how many some pieces have: what they take the parts lack

    @property
    def console(self) -> "ConsoleApp":
        return cast("ConsoleApp", self.app)

    def compose(self) -> ComposeResult:
        yield Horizontal(id="tabs")
        yield Line(id="top")
        yield Line(id="machine")
        yield Line(id="waiting")
        with Horizontal(id="duel"):
            yield Line(id="left")
            yield Line(id="right")
            yield Panel(id="panel")
        yield Line(id="budget")
        yield Line(id="message")
        yield KeyBar(self.console.press, *BAR)

    def on_mount(self) -> None:
        """Show what is known; the clock alone changes the waiting line."""
        self.set_interval(0.5, self.tick)
        self.put()

    def on_resize(self, event: Resize) -> None:
        sized(self, event.size)
        self.set_class(event.size.height < _SHORT_BELOW, "short")
        self.set_class(event.size.width >= WIDE_FROM and event.size.height >= TALL_FROM, "large")
        self.call_after_refresh(self.put)

    def on_screen_suspend(self) -> None:
        """Another screen is on top: the time of an answer stands still."""
        self.console.actions.question_hidden()

    def on_screen_resume(self) -> None:
        """What happened while another screen was on top."""
        self.put()

    def draw(self, place: str, text: Text) -> None:
        self.query_one(f"#{place}", Line).draw(text)

    def tick(self) -> None:
        """Time has passed."""
        if self.is_current and whole(self):
            self._put_lines()

    def put(self) -> None:
        if not whole(self):
            return
        app = self.console
        words, view = app.actions.words, app.session.view(app.actions.campaign or "")
        self.shown = view
        self._put_tabs()
        self._put_lines()
        right = self.query_one("#right")
        two = view is not None and (view.duel is not None or view.trial is not None)
        if right.display != two:  # the columns are as wide as before until they are laid out
            right.display = two
            self.call_after_refresh(self.put)
        size = self.query_one("#left").size
        if view is None:
            nothing = app.session.complete and not app.session.campaigns
            self.draw("left", Text(words("cannot.no_campaign") if nothing else ""))
        elif view.duel is not None:
            self._put_duel(view, view.duel, size)
        else:
            self._put_progress(view, size)
        self.query_one(KeyBar).put(words, view, app.session.welcome)
        self.query_one(Panel).put(words, view)

    def _put_duel(self, view: CampaignView, duel: DuelView, size: Size) -> None:
        words, one, two = self.console.actions.words, duel.left, duel.right
        self.draw("left", column(words, view, f"1 {words('duel.left')}", one, two.setting, *size))
        self.draw("right", column(words, view, f"2 {words('duel.right')}", two, one.setting, *size))
        if self.is_current:
            self.console.actions.question_seen(view)

    def _put_progress(self, view: CampaignView, size: Size) -> None:
        words, champion, trial = self.console.actions.words, view.champion, view.trial
        left = Text()
        if champion is not None:
            beside = trial.setting if trial else None
            left = column(words, view, words("duel.champion"), champion, beside, *size)
        self.draw("left", left)
        if trial is not None:
            other = champion.setting if champion else None
            self.draw("right", column(words, view, words("duel.proposed"), trial, other, *size))

    def _put_tabs(self) -> None:
        session, campaign = self.console.session, self.console.actions.campaign
        names = list(session.campaigns)
        tabs = self.query_one("#tabs", Horizontal)
        tabs.display = len(names) > 1
        have = {tab.campaign: tab for tab in tabs.query(Tab)}
        if list(have) != names:
            tabs.remove_children()
            tabs.mount_all([Tab(name, self.console.actions.show_campaign) for name in names])
            self._tab = None
            self.call_after_refresh(self._put_tabs)
            return
        if campaign in have and self._tab != campaign:  # of many only some have room
            self._tab = campaign
            tabs.call_after_refresh(tabs.scroll_to_widget, have[campaign], animate=False, force=True)
        for name, tab in have.items():
            view = session.view(name)
            marks = "!" if alarms(session, view) and session.linked else ""
            marks += "?" if view is not None and view.duel is not None else ""
            tab.draw(Text(f"{name} {marks}".rstrip(), "bold reverse" if name == campaign else ""))

    def _put_lines(self) -> None:
        actions, session = self.console.actions, self.console.session
        view, words, width = self.shown, actions.words, self.size.width
        self.draw("top", top(words, session, view, actions.operator, width))
        pieces: list[Text] = []
        if view is not None and view.name in session.campaigns:
            pieces = [machine(words, view, width), waiting(words, session, view, width)]
            self.draw("machine", pieces[0])
            self.draw("waiting", pieces[1])
            used = budget(words, session, view)
            kept = restricted_text(words, view, width - cell_len(used) - 3)
            self.draw("budget", Text(fit(f"{used} · {kept}" if kept else used, width)))
        else:
            self.draw("waiting", Text(words.told(session.lost or str(session.trouble or "")), STRONG))
        text, bad = self.console.message()
        self.draw("message", Text(text, ALARM if bad else ""))
        lines = (max(1, -(-cell_len(text) // max(1, width))), *(one.plain.count("\n") for one in pieces))
        if lines != self._lines:  # a long one takes room from the parts
            self._lines = lines
            self.call_after_refresh(self.put)
