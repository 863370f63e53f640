"""The console in plain lines: one key and Enter; prints only what is new, for serial terminals and screen readers."""

import asyncio
import io
import sys
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TextIO

from tuner.console import deeds, show
from tuner.console.deeds import CannotError, Deed
from tuner.console.line_keys import LineKeys
from tuner.console.session import GUARD_S, Session
from tuner.console.words import Words
from tuner.errors import UnreachableError
from tuner.wire.aio import AsyncClient
from tuner.wire.endpoint import Link
from tuner.wire.messages import CampaignView

_FIRST_LINK_S = 4.0


def run_lines(link: Link, language: str, operator: str | None, campaign: str | None) -> None:
    """Run until `q` or the end of the input."""
    for stream in (sys.stdin, sys.stdout):  # a byte or a letter that the terminal does not know must not end it
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    asyncio.run(_run(link, language, operator, campaign))


async def _run(link: Link, language: str, operator: str | None, campaign: str | None) -> None:
    async with AsyncClient(link, operator) as client:
        await Lines(client, Words(language), operator, campaign, sys.stdin, sys.stdout).run()


class InputEnd(Exception):  # noqa: N818 - not an error
    """Nothing more will be typed."""


class Lines(LineKeys):
    """The line mode.

    Args:
        client: The connection.
        words: The language.
        operator: Who is signed in; None: asks.
        campaign: Which campaign; None: the only one, or asks.
        source: Where lines come from.
        sink: Where lines go.
    """

    def __init__(
        self,
        client: AsyncClient,
        words: Words,
        operator: str | None,
        campaign: str | None,
        source: TextIO,
        sink: TextIO,
    ) -> None:
        self.words = words
        self.operator = operator
        self._changed = asyncio.Event()
        self.session = Session(client, self._changed.set, (campaign,) if campaign else ())
        self.campaign = campaign
        self._source = source
        self._sink = sink
        self._typed: asyncio.Queue[str | None] = asyncio.Queue()
        self._told: object = None
        self._linked: bool | None = None
        self._news = 0
        self._duel: tuple[str, int] | None = None
        self._duel_at_s = 0.0

    async def run(self) -> None:
        """Speak with the operator until he leaves."""
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, args=(loop,), daemon=True).start()
        work = asyncio.create_task(self.session.run())
        try:
            await self._first_link(work)
            self.out(self.words("line.welcome"))
            await self._sign_in()
            await self._choose()
            while await self._one():
                pass
        except InputEnd:
            self.out(self.words("line.input_end"))
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        """Read lines in a thread of its own, for a terminal, a pipe and a file alike."""
        for line in self._source:
            loop.call_soon_threadsafe(self._typed.put_nowait, line)
        with suppress(RuntimeError):  # the loop has ended before the input
            loop.call_soon_threadsafe(self._typed.put_nowait, None)

    def out(self, text: str) -> None:
        """Write a line at once."""
        self._sink.write(text + "\n")
        self._sink.flush()

    async def ask(self, question: str) -> str:
        """Ask for a line; meanwhile what is new is told."""
        self.out(question)
        return await self._line()

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
                    return " ".join(deeds.readable(line).split())
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
            raise UnreachableError(self.session.lost or self.words("cannot.no_link")) from None

    async def _sign_in(self) -> None:
        if self.operator is not None:
            self.session.client.actor = self.operator
            self.out(self.words("say.signed_in", operator=self.operator))
        while self.operator is None:
            await self.attempt(self.sign_in)

    async def _choose(self) -> None:
        names = list(self.session.campaigns)
        while self.campaign is None:
            if len(names) == 1:
                self.campaign = names[0]
                break
            listed = ", ".join(f"{number} {name}" for number, name in enumerate(names, 1))
            answer = await self.ask(f"{self.words('ask.campaign')} {listed}")
            if answer in names:
                self.campaign = answer
            elif answer.isdecimal() and 1 <= int(answer) <= len(names):
                self.campaign = names[int(answer) - 1]
        self._told = None
        self.report()

    async def _one(self) -> bool:
        """Take one line; False at the end."""
        line = await self._line()
        if not line:
            self._told = None
            self.report()
            return True
        if line.lower() == "q":
            self.out(self.words("line.goodbye"))
            return False
        action = self.keys().get(line.lower())  # the same with Caps Lock
        if action is None:
            self.out(self.words("line.unknown", key=line))
            return True
        await self.attempt(action)
        return True

    async def attempt(self, action: Callable[[], Awaitable[None]]) -> None:
        """Do what a key asks for, or say why it cannot be done."""
        try:
            await action()
        except CannotError as error:
            fields = dict(error.fields)
            if "mode" in fields:
                fields["mode"] = self.words.known(f"mode.{fields['mode']}", str(fields["mode"]))
            self.out(self.words(error.key, **fields))

    def report(self) -> None:
        """Tell what is new since the last time."""
        words, session = self.words, self.session
        if self._linked is not None and self._linked != session.linked:
            since = words.clock(session.lost_at, seconds=True) if session.lost_at else ""
            self.out(words("top.link_up") if session.linked else words("top.link_down", time=since))
        self._linked = session.linked
        fresh = [news for number, news in enumerate(session.news) if number < session.told - self._news]
        for news in reversed(fresh):
            self.out(show.news_words(words, news))
        self._news = session.told
        view = session.view(self.campaign) if self.campaign else None
        if view is None:
            return
        told = (view.name, view.mode, view.phase, view.trial and view.trial.tag, view.duel and view.duel.number)
        if told == self._told:
            return
        self._told = told
        if view.duel is not None and view.phase == "asking":
            self._question(view)
        else:
            self.out(f"{view.name}: {show.phase_words(words, view)}")

    def _question(self, view: CampaignView) -> None:
        words, duel = self.words, deeds.duel_of(view)
        self.out(f"{view.name}: {words('line.question', number=duel.number)}")
        for key, trial, other in (("left", duel.left, duel.right), ("right", duel.right, duel.left)):
            parts = [
                f"{row.name} {row.value}" + (f" ({row.difference or words('duel.changed')})" if row.mark else "")
                for row in show.rows(words, view.parameters, trial.setting, other.setting)
            ]
            side = words(f"duel.{key}").capitalize()
            self.out(words("line.side", side=side, tag=trial.tag, setting=", ".join(parts)))
        if duel.left.setting == duel.right.setting:
            self.out(words("duel.same"))
        if self._duel != (view.name, duel.number):
            self._duel, self._duel_at_s = (view.name, duel.number), self.session.clock()

    def took_s(self, view: CampaignView) -> float:
        """How long the question has been there; refuses an answer that was typed before it."""
        duel = deeds.duel_of(view)
        took_s = self.session.clock() - self._duel_at_s
        if self._duel != (view.name, duel.number) or took_s < GUARD_S:
            raise CannotError("cannot.fast")
        return round(took_s, 3)

    def check(self, deed: Deed) -> None:
        """Find out before anything is asked whether the console's key allows a deed."""
        welcome = self.session.welcome
        if welcome is not None and deed.call.op not in welcome.ops:
            raise CannotError("cannot.not_allowed", role=welcome.role)

    async def do(self, deed: Deed) -> bool:
        """Ask the daemon and say what came of it; whether it was done."""
        words = self.words
        self.check(deed)
        told = await self.session.act(deed)
        if told.kind == "done":
            self.out(words(deed.said, **deed.fields))
        elif told.kind == "refused":
            self.out(f"{words.known(f'refused.{told.code}', words('refused.other'))} {told.text}")
        elif told.kind == "unknown":
            self.out(words("cannot.unknown"))
        else:
            unsent = told.code != "no_link"
            self.out(words("cannot.unsent", text=told.text) if unsent else words("cannot.no_link"))
        return told.kind == "done"
