"""A browser's place at the page: who sits there, what was said to it, and the console's actions in its name."""

import asyncio
import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from tuner.basics.vocabulary import Role
from tuner.console.actions import Actions
from tuner.console.keyboard import BY_SHOWN, HISTORY, Key
from tuner.console.pages.page import Page
from tuner.console.requests import CannotError, KeyRequest
from tuner.console.session import GUARD_S, Session
from tuner.console.ui import LONGEST, Choice, Options
from tuner.wire.aio import AsyncClient
from tuner.wire.messages import CampaignView, JudgmentView, TrialView, Welcome

KEYS = BY_SHOWN | {key.shown: key for key in HISTORY if key.ops}

NAMED_S = 12 * 3600.0  # how long somebody stays who only gave a name
UNSURE_S = 60.0  # how long a session counts as good that the daemon cannot be asked about


@dataclass(frozen=True, slots=True)
class Question:
    """What an action wants to know before it goes on: the page shows it, and its answer presses the key again.

    Attributes:
        key: The key that asks.
        number: The trial or judgment that it is about, where the page names one.
        text: The question.
        choices: What can be chosen; none: a text is asked for.
        offers: Texts that are often given.
        details: What to know before answering.
        longest: Characters of a text.
    """

    key: Key
    number: int | None
    text: str
    choices: tuple[Choice, ...] = ()
    offers: tuple[str, ...] = ()
    details: str = ""
    longest: int = LONGEST


class SeatSession(Session):
    """What the page knows of the daemon, shared by all seats; what a seat asks for it asks in its own name."""

    def __init__(self, shared: Session, client: AsyncClient) -> None:
        super().__init__(client, lambda: None, clock=shared.clock)
        self._shared = shared
        self.campaigns = shared.campaigns
        self.ended = False
        self.used_s = shared.clock()

    @property
    def linked(self) -> bool:
        """Whether the daemon answers."""
        return self._shared.linked

    async def fresh(self, view: CampaignView) -> CampaignView:
        """The campaign as it is now."""
        return await self._shared.fresh(view)

    def look_at(self, name: str) -> None:
        """Take a new view of a campaign soon, for all."""
        self._shared.look_at(name)

    async def settle(self) -> None:
        """Find out what became of a request that got no answer."""
        if self._doubt is not None:
            request, seen, _ = self._doubt
            await self._meanwhile(request.call.campaign or "", seen)

    @property
    def in_doubt(self) -> bool:
        """Whether a request of this seat got no answer."""
        return self._doubt is not None

    async def act(self, request: KeyRequest) -> float:
        """Send a request, which is using the seat; the daemon may say that the person's session has ended."""
        self.used_s = self.clock()
        try:
            return await super().act(request)
        except CannotError as error:
            self.ended = error.key == "refused.locked"
            raise

    def _lose(self, text: str) -> None:
        """Whether the link is lost is the shared session's to say."""


class SeatActions(Actions):
    """What the keys do; the page has a form of its own to sign in."""

    async def sign_in(self) -> None:
        """Whoever has to sign in sees why, and where."""


class Seat:
    """A browser's place; it is a `Ui` for the console's actions, one press at a time.

    Attributes:
        token: What the page's forms carry, so that no other page can send them.
        proved: Whether the daemon knows by PIN or badge who is here.
        question: What was asked before the last key could be done.
        said: What was said last, and whether it is bad news.
        streams: How many windows follow what happens.
        undoable: Whether the last answer can be taken back.
        changes: How often somebody came or went.
        door: One at a time acts, comes or goes: what one asks for is never sent with the rights of another.
        sure_s: When the daemon said last that the session of who is here is good.
    """

    def __init__(self, shared: Session, client: AsyncClient, language: str, campaign: str | None) -> None:
        self.token = secrets.token_urlsafe(24)
        self.session = SeatSession(shared, client)
        self.actions = SeatActions(self, self.session, Options(language, None, campaign, GUARD_S))
        self.proved = False
        self.question: Question | None = None
        self.said: tuple[str, bool] = ("", False)
        self.sure_s = -math.inf
        self.idle_s = NAMED_S
        self.streams = 0
        self.undoable = False
        self.changes = 0
        self.door = asyncio.Lock()
        self._given: str | None = None
        self._pressed: tuple[Key, int | None] | None = None
        self.rise()

    @property
    def operator(self) -> str | None:
        """Who is signed in."""
        return self.actions.operator

    @property
    def known(self) -> bool:
        """Whether PIN or badge has proved who is here, and the daemon has said so lately."""
        return self.proved and self.session.clock() - self.sure_s < UNSURE_S

    def sit(self, name: str, rights: Welcome | None, *, proved: bool, idle_s: float = NAMED_S) -> None:
        """Somebody has signed in, until nothing was done here for so long."""
        self.idle_s = idle_s
        self.session.used_s = self.sure_s = self.session.clock()
        self.changes += 1
        self.actions.operator = self.session.client.actor = name
        self.session.welcome = rights
        self.proved = proved
        self.question = None
        self.say(self.actions.words("say.signed_in", operator=name))

    def rise(self) -> None:
        """Nobody is signed in any more; the browser keeps its place and its language as if it had just come."""
        self.changes += self.operator is not None
        self.session.used_s = self.session.clock()
        client = self.session.client
        self.actions.operator = client.actor = client.session = None
        client.role = Role.VIEWER  # nobody does nothing, whatever is still on its way
        if not self.session.ended:  # else why is being said
            self.say("")
        self.session.welcome, self.session.ended = None, False
        self.proved = False
        self.question = None

    def sign_out(self) -> None:
        """The session of who was here has ended."""
        self.rise()
        self.say(self.actions.words("refused.locked"), bad=True)

    async def press(self, key: Key, given: str | None, *about: object) -> None:
        """Do what a key stands for; `given` is the answer to what it asked before."""
        async with self.door:
            self.question, self.undoable, self._given = None, False, given
            number = next((one.number for one in about if isinstance(one, TrialView | JudgmentView)), None)
            self._pressed = (key, number)
            if key.ops and self.operator is None:
                self.say(self.actions.words("page.sign_in_first"), bad=True)
                return
            self.say("")
            await self.actions.press(key, *about)
            if self.session.ended:
                self.rise()

    def refuse(self, error: CannotError) -> None:
        """Say why something was not done."""
        self.question = None
        self.say(error.sentence(self.actions.words), bad=True)

    @property
    def view(self) -> CampaignView | None:
        """The campaign that is shown here."""
        return self.session.view(self.actions.campaign or "")

    async def ask(
        self, question: str, offers: Sequence[str] = (), longest: int = LONGEST, *, secret: bool = False
    ) -> str | None:
        """The text that came with the key; without one the question is shown."""
        given = None if self._given is None else " ".join(self._given.split())[:longest]
        if not given and self._pressed is not None:
            self.question = Question(*self._pressed, question, offers=tuple(offers), longest=longest)
        return given or None

    async def choose(
        self, question: str, choices: Sequence[Choice], details: str = "", *, usual: bool = False
    ) -> str | None:
        """What was chosen with the key; without that the question is shown."""
        if self._given in [choice.value for choice in choices]:
            return self._given
        if self._pressed is not None:
            self.question = Question(*self._pressed, question, tuple(choices), details=details)
        return None

    def say(self, text: str, *, bad: bool = False) -> None:
        """Shown until the next one."""
        self.said = (text, bad)

    def sending(self) -> None:
        """The answer will be shown."""

    def done(self, request: KeyRequest, ms: float) -> None:
        """Say that it was done."""
        self.say(request.said(self.actions.words))
        self.undoable = request.undoable

    async def show_page(self, page: type[Page], campaign: str) -> None:
        """The page's own pages are links."""

    def redraw(self) -> None:
        """The answer to a press shows everything."""

    def leave(self) -> None:
        """A browser is closed without us."""
