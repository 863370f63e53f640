"""The console in plain lines: one key and Enter; prints only what is new, for serial terminals and screen readers."""

import asyncio
import io
import sys
import termios
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from typing import TextIO

from rich.console import Console as Terminal

from tuner.basics.text import on_one_line
from tuner.basics.vocabulary import Phase
from tuner.console.actions import Actions
from tuner.console.campaign_text import (
    beside_text,
    contract_lines,
    contract_short,
    measured_text,
    news_text,
    pace,
    phase_text,
    reason_text,
    rows,
    wait_text,
)
from tuner.console.keyboard import BY_SHOWN, SIGN_IN
from tuner.console.language import Words
from tuner.console.pages.page import Page
from tuner.console.picture import half_blocks, picture_of
from tuner.console.requests import KeyRequest, duel_of
from tuner.console.restricting import restriction_lines
from tuner.console.session import Session
from tuner.console.ui import LONGEST, Choice, Options
from tuner.errors import UnreachableError
from tuner.wire.aio import AsyncClient
from tuner.wire.endpoint import Link
from tuner.wire.messages import CampaignView

_FIRST_LINK_S = 4.0
_PICTURE = 44  # columns
COMMANDS = {key.shown.lower(): key for key in BY_SHOWN.values()} | {"help": BY_SHOWN["F1"]}


def run_lines(link: Link, options: Options) -> None:
    """Run until `q` or the end of the input."""
    for stream in (sys.stdin, sys.stdout):  # a byte or a letter that the terminal does not know must not end it
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    asyncio.run(_run(link, options))


async def _run(link: Link, options: Options) -> None:
    async with AsyncClient(link) as client:
        await Lines(client, options, sys.stdin, sys.stdout).run()


class InputEnd(Exception):  # noqa: N818 - not an error
    """Nothing more will be typed."""


class Lines:
    """A `Ui` of lines."""

    def __init__(self, client: AsyncClient, options: Options, source: TextIO, sink: TextIO) -> None:
        self._changed = asyncio.Event()
        only = (options.campaign,) if options.campaign else ()
        self.session = Session(client, self._changed.set, only)
        self.actions = Actions(self, self.session, options)
        self._source = source
        self._sink = sink
        self._typed: asyncio.Queue[str | None] = asyncio.Queue()
        self._told: object = None
        self._linked: bool | None = None
        self._news = 0
        self._restricted: list[str] = []
        self._agreed: tuple[object, ...] = ()
        self._left = False

    async def run(self) -> None:
        """Speak with the operator until he leaves."""
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, args=(loop,), daemon=True).start()
        work = asyncio.create_task(self.session.run())
        try:
            await self._first_link(work)
            self.say(self.words("line.welcome"))
            await self._begin()
            while not self._left:
                await self._one()
        except InputEnd:
            self.say(self.words("line.input_end"))
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        """Read lines in a thread of its own, for a terminal, a pipe and a file alike."""
        for line in self._source:
            loop.call_soon_threadsafe(self._typed.put_nowait, line)
        with suppress(RuntimeError):  # the loop has ended before the input
            loop.call_soon_threadsafe(self._typed.put_nowait, None)

    @property
    def words(self) -> Words:
        return self.actions.words

    @property
    def view(self) -> CampaignView | None:
        """The campaign as last heard of; what is new is told before a line is taken."""
        return self.session.view(self.actions.campaign or "")

    def say(self, text: str, *, bad: bool = False) -> None:
        """Write a line at once."""
        if text:
            self._sink.write(text + "\n")
            self._sink.flush()

    def sending(self) -> None:
        """The answer will be a line."""

    def done(self, request: KeyRequest, ms: float) -> None:
        self.say(request.said(self.words))

    def redraw(self) -> None:
        """Tell what is new as soon as a line is waited for."""
        self._changed.set()

    def leave(self) -> None:
        self.say(self.words("line.goodbye"))
        self._left = True

    async def ask(
        self, question: str, offers: Sequence[str] = (), longest: int = LONGEST, *, secret: bool = False
    ) -> str | None:
        """Ask for a line; meanwhile what is new is told. A terminal does not show a secret."""
        with _unseen(self._source) if secret else nullcontext():
            self.say(question)
            answer = (await self._line())[:longest]
        if not answer:
            self.say(self.words("line.dropped"))
        return answer or None

    async def choose(
        self, question: str, choices: Sequence[Choice], details: str = "", *, usual: bool = False
    ) -> str | None:
        """Ask for a key, or a name; `y` takes the only one or the usual one."""
        words, (first, *others) = self.words, choices
        self.say(details)
        answers = {name.lower(): choice.value for choice in others for name in (choice.key, choice.words)}
        if usual or not others:
            answers["y"] = first.value
            self.say(question if usual else f"{question} {first.words}")
            for text in (first.words, *(f"{choice.key} {choice.words}" for choice in others)) if others else ():
                self.say(text)
            keys = ", ".join(choice.key for choice in others)
            self.say(words("line.sure_or", keys=keys) if others else words("line.sure"))
        else:
            answers |= {first.key: first.value, first.words.lower(): first.value}
            self.say(f"{question} " + ", ".join(f"{choice.key} {choice.words}" for choice in choices))
            self.say(words("line.which"))
        answer = answers.get((await self._line()).lower())
        if answer is None:
            self.say(words("line.dropped"))
        return answer

    async def show_page(self, page: type[Page], campaign: str) -> None:
        made = page(campaign, brief=True)
        await made.load(self.session.client, lambda: None)
        for line in made.show(self.words, self.session):
            self.say(line.plain.rstrip())

    async def _line(self) -> str:
        typed = asyncio.ensure_future(self._typed.get())
        try:
            while True:
                changed = asyncio.ensure_future(self._changed.wait())
                await asyncio.wait((typed, changed), return_when=asyncio.FIRST_COMPLETED)
                changed.cancel()
                if self._changed.is_set():
                    self._changed.clear()
                    self.report()
                if typed.done():
                    line = typed.result()
                    if line is None:
                        raise InputEnd
                    return on_one_line(line)
        finally:
            typed.cancel()

    async def _first_link(self, work: "asyncio.Task[None]") -> None:
        try:
            async with asyncio.timeout(_FIRST_LINK_S):
                while not (self.session.linked and self.session.complete and self.session.campaigns):
                    await self._changed.wait()
                    self._changed.clear()
                    if self.session.trouble:
                        raise self.session.trouble
                    if work.done():
                        work.result()
        except TimeoutError:
            if self.session.linked:
                raise UnreachableError(self.words("cannot.no_campaign")) from None
            raise UnreachableError(self.words.told(self.session.lost or self.words("cannot.no_link"))) from None

    async def _begin(self) -> None:
        actions = self.actions
        if actions.operator is not None:
            self.say(self.words("say.signed_in", operator=actions.operator))
        while actions.operator is None:
            await actions.press(SIGN_IN)
        if len(self.session.campaigns) == 1:
            actions.campaign = next(iter(self.session.campaigns))
        while actions.campaign is None:
            await actions.choose_campaign()
        self._told = None
        self.report()

    async def _one(self) -> None:
        line = await self._line()
        key = COMMANDS.get(line.lower())  # the same with Caps Lock
        if key is not None:
            await self.actions.press(key)
        elif line:
            self.say(self.words("line.unknown", key=line))
        else:
            self._told = None
            self.report()

    def report(self) -> None:
        """Tell what is new since the last time."""
        words, session, view = self.words, self.session, self.view
        if self._linked is not None and self._linked != session.linked:
            since = words.clock(session.lost_at, seconds=True) if session.lost_at else ""
            self.say(words("top.link_up") if session.linked else words("top.link_down", time=since))
        self._linked = session.linked
        fresh = [news for number, news in enumerate(session.news) if number < session.told - self._news]
        for news in reversed(fresh):
            self.say(news_text(words, news))
        self._news = session.told
        if view is None:
            return
        awaited, beside = wait_text(words, view), beside_text(words, view)
        numbers = (view.duel and view.duel.number, view.change and view.change.number)
        kept = tuple((one.parameter, one.at) for one in view.restrictions)
        told = (view.name, view.mode, view.phase, view.trial and view.trial.tag, *numbers, awaited, kept, view.reason)
        if told == self._told:
            return
        self._told = told
        if view.duel is not None and view.phase == Phase.ASKING:
            self._question(view)
        else:
            limit = f" ({pace(words, session, view)[0]})" if awaited else ""
            self.say(f"{view.name}: {awaited or phase_text(words, view)}{limit}")
            why = reason_text(words, view)
            self.say(why and f"{view.name}: {why}")
        self._contract(view)
        self.say(beside and f"{view.name}: {beside}")
        restricted = restriction_lines(words, view)
        if restricted != self._restricted:
            self._restricted = restricted
            for line in restricted or [words("restriction.none")]:
                self.say(f"{view.name}: {line}")

    def _contract(self, view: CampaignView) -> None:
        """Scrap against the contract when it changes; all of it when only known ground is left, or it is held."""
        contract = view.contract
        if contract is None:
            return
        changed = contract.known_ground or contract.held
        state = (view.name, contract.scrap, contract.planned, contract.rate, contract.budget, changed, contract.held)
        if state == self._agreed:
            return
        self._agreed = state
        for line in contract_lines(self.words, view) if changed else [contract_short(self.words, contract)]:
            self.say(f"{view.name}: {line}")

    def _question(self, view: CampaignView) -> None:
        words, duel = self.words, duel_of(view)
        self.say(f"{view.name}: {words('line.question', number=duel.number)}")
        for key, trial, other in (("left", duel.left, duel.right), ("right", duel.right, duel.left)):
            parts = [
                f"{row.name} {row.value}" + (f" ({row.difference or words('duel.changed')})" if row.mark else "")
                for row in rows(words, view.parameters, trial.setting, other.setting)
            ]
            side = words(f"duel.{key}").capitalize()
            self.say(words("line.side", side=side, tag=trial.tag, setting=", ".join(parts)))
            self.say(measured_text(words, trial))
            self._show(trial.photo)
        if duel.left.setting == duel.right.setting:
            self.say(words("duel.same"))
        self.actions.question_seen(view)

    def _show(self, photo: str | None) -> None:
        """A part's picture, on a terminal with colours: a pipe and a screen reader have nothing of it."""
        picture = picture_of(photo)
        terminal = Terminal(file=self._sink)
        if picture is not None and terminal.is_terminal and terminal.color_system is not None:
            terminal.print(half_blocks(picture, min(_PICTURE, terminal.width - 1), _PICTURE), end="")


@contextmanager
def _unseen(source: TextIO) -> Iterator[None]:
    """A terminal shows nothing of what is typed."""
    if not source.isatty():
        yield
        return
    before = termios.tcgetattr(source)
    hidden = [*before[:3], before[3] & ~termios.ECHO, *before[4:]]
    termios.tcsetattr(source, termios.TCSADRAIN, hidden)
    try:
        yield
    finally:
        termios.tcsetattr(source, termios.TCSADRAIN, before)
