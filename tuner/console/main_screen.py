"""The main screen: machine and link at the top, the duel in the middle, the fixed keys at the bottom."""

from typing import TYPE_CHECKING, ClassVar, cast

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.events import Click, Resize
from textual.geometry import Size
from textual.screen import Screen
from textual.widgets import Static

from tuner.console import paint, show
from tuner.console.keybar import KeyBar, KeyCell
from tuner.console.keys import ALL, ANSWERS, CONTROL, SCREENS, both
from tuner.wire.messages import CampaignView, DuelView

if TYPE_CHECKING:
    from tuner.console.app import ConsoleApp

Drawn = tuple[Text, str | Style]  # texts are equal also where only their own style differs
TALL_FROM = 36  # lines from which keys are large enough for a glove
_SHORT_BELOW = 16  # lines below which only the question, the message and the answers' keys have room
_WIDE_FROM, _NARROW_BELOW = 120, 80  # columns: keys of equal width; keys in several lines
_NEEDS = {
    "key.left": "judgment.give",
    "key.right": "judgment.give",
    "key.tie": "judgment.tie",
    "key.scrap": "trial.outcome",
    "key.repeat": "trial.repeat",
    "key.undo": "judgment.retract",
    "key.approve": "proposal.approve",
    "key.reject": "proposal.reject",
    "key.hold": "campaign.hold",
    "key.stop": "campaign.stop",
    "key.valid": "trial.outcome",
    "key.lot": "lot.change",
}
_ALWAYS = frozenset(key.text for key in (*CONTROL[-2:], *SCREENS))


def sized(screen: Screen[None], size: Size) -> None:
    """Mark a screen by how much room its keys have."""
    screen.set_class(size.height >= TALL_FROM, "tall")
    screen.set_class(size.width >= _WIDE_FROM, "wide")
    screen.set_class(size.width < _NARROW_BELOW, "narrow")


class Tab(Static):
    """A campaign's name that can be touched."""

    def __init__(self, name: str) -> None:
        super().__init__(classes="tab")
        self.campaign = name
        self._drawn: Drawn | None = None

    def put(self, text: Text) -> None:
        """Show the name and its marks."""
        if self._drawn != (text, text.style):
            self._drawn = (text, text.style)
            self.update(text)

    def on_click(self, event: Click) -> None:
        """Show this campaign."""
        event.stop()
        cast("ConsoleApp", self.app).show_campaign(self.campaign)


class MainScreen(Screen[None]):
    """What the operator looks at all day."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(both(key.name), f"app.{key.action}", show=False) for key in ALL),
        Binding("tab", "app.next_campaign(1)", show=False, priority=True),
        Binding("shift+tab", "app.next_campaign(-1)", show=False, priority=True),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.shown: CampaignView | None = None  # the view that the operator sees: answers are about this one
        self.duel_shown: tuple[str, int] | None = None
        self.duel_shown_s = 0.0
        self._drawn: dict[str, Drawn] = {}
        self._tab: str | None = None  # the tab that was moved to where it is seen
        self._message_lines = 1

    @property
    def console(self) -> "ConsoleApp":
        """The app."""
        return cast("ConsoleApp", self.app)

    def compose(self) -> ComposeResult:
        """From top to bottom."""
        yield Horizontal(id="tabs")
        yield Static(id="top")
        yield Static(id="machine")
        yield Static(id="waiting")
        with Horizontal(id="duel"):
            yield Static(id="left")
            yield Static(id="right")
        yield Static(id="budget")
        yield Static(id="message")
        yield KeyBar(ANSWERS, CONTROL, SCREENS)

    def on_mount(self) -> None:
        """Show what is known; the clock alone changes the waiting line."""
        self.set_interval(0.5, self.tick)
        self.put()

    def on_resize(self, event: Resize) -> None:
        """Large keys where there is room."""
        sized(self, event.size)
        self.set_class(event.size.height < _SHORT_BELOW, "short")
        self.call_after_refresh(self.put)

    def on_screen_resume(self) -> None:
        """What happened while another screen was on top."""
        self.put()

    def on_key_cell_pressed(self, event: KeyCell.Pressed) -> None:
        """A touched key does what the key does."""
        self.run_worker(self.app.run_action(f"app.{event.key.action}", self))

    def draw(self, place: str, text: Text) -> None:
        """Show a text if it is another one: what is not sent again costs nothing on a slow line."""
        if self._drawn.get(place) != (text, text.style):
            self._drawn[place] = (text, text.style)
            self.query_one(f"#{place}", Static).update(text)

    def tick(self) -> None:
        """Time has passed."""
        if self.is_current and self.query(KeyBar):
            self._put_lines()

    def put(self) -> None:
        """Show the campaign as it is now."""
        if not self.query(KeyBar):  # before the first paint, and after the last
            return
        app = self.console
        view = app.view
        self.shown = view
        self._put_tabs()
        self._put_lines()
        self.query_one("#right").display = view is not None and (view.duel is not None or view.trial is not None)
        size = self.query_one("#left").size
        if view is None:
            nothing = app.session.complete and not app.session.campaigns
            self.draw("left", Text(app.words("cannot.no_campaign") if nothing else ""))
        elif view.duel is not None:
            self._put_duel(view, view.duel, size)
        else:
            self._put_progress(view, size)
        self.query_one(KeyBar).put(app.words, self._live(view))

    def _put_duel(self, view: CampaignView, duel: DuelView, size: Size) -> None:
        words, one, two = self.console.words, duel.left, duel.right
        self.draw("left", paint.column(words, view, f"1 {words('duel.left')}", one, two.setting, *size))
        self.draw("right", paint.column(words, view, f"2 {words('duel.right')}", two, one.setting, *size))
        if self.is_current and self.duel_shown != (view.name, duel.number):
            self.duel_shown = (view.name, duel.number)
            self.duel_shown_s = self.console.session.clock()

    def _put_progress(self, view: CampaignView, size: Size) -> None:
        words, champion, trial = self.console.words, view.champion, view.trial
        left = Text()
        if champion is not None:
            beside = trial.setting if trial else None
            left = paint.column(words, view, words("duel.champion"), champion, beside, *size)
        self.draw("left", left)
        if trial is not None:
            other = champion.setting if champion else None
            self.draw("right", paint.column(words, view, words("duel.proposed"), trial, other, *size))

    def _put_tabs(self) -> None:
        app = self.console
        names = list(app.session.campaigns)
        tabs = self.query_one("#tabs", Horizontal)
        tabs.display = len(names) > 1
        have = {tab.campaign: tab for tab in tabs.query(Tab)}
        if list(have) != names:
            tabs.remove_children()
            tabs.mount_all([Tab(name) for name in names])
            self._tab = None
            self.call_after_refresh(self._put_tabs)
            return
        if app.campaign in have and self._tab != app.campaign:  # of many only some have room
            self._tab = app.campaign
            tabs.call_after_refresh(tabs.scroll_to_widget, have[app.campaign], animate=False, force=True)
        for name, tab in have.items():
            view = app.session.view(name)
            marks = "!" if show.alarms(app.session, view) and app.session.linked else ""
            marks += "?" if view is not None and view.duel is not None else ""
            tab.put(Text(f"{name} {marks}".rstrip(), "bold reverse" if name == app.campaign else ""))

    def _put_lines(self) -> None:
        app = self.console
        view, words, width = self.shown, app.words, self.size.width
        self.draw("top", paint.top(words, app.session, view, app.operator, width))
        if view is not None and view.name in app.session.campaigns:
            self.draw("machine", paint.machine(words, view, width))
            self.draw("waiting", paint.waiting(words, app.session, view, width))
            self.draw("budget", Text(show.fit(show.budget(words, app.session, view), width)))
        else:
            text = app.session.lost or str(app.session.trouble or "")
            self.draw("waiting", Text(text, "bold"))
        text, bad = app.message()
        self.draw("message", Text(text, paint.ALARM if bad else ""))
        lines = max(1, -(-cell_len(text) // max(1, width)))
        if lines != self._message_lines:  # a long one takes room from the parts
            self._message_lines = lines
            self.call_after_refresh(self.put)

    def _live(self, view: CampaignView | None) -> frozenset[str]:
        """The keys that do something now."""
        live = set(_ALWAYS)
        if view is None:
            return frozenset(live)
        live |= {"key.stop", "key.undo"}
        if view.mode in ("Execute", "Held"):
            live.add("key.hold")
        if view.duel is not None:
            live |= {key.text for key in ANSWERS}
        elif view.champion is not None:
            live.add("key.repeat")
        if view.trial is not None and view.trial.stage == "proposed":
            live |= {"key.approve", "key.reject"}
        if view.trial is not None and view.trial.stage == "running":
            live.add("key.scrap")
            if view.dry_run:
                live.add("key.valid")
        return frozenset(key for key in live if key not in _NEEDS or self.console.may(_NEEDS[key]))
