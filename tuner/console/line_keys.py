"""What the keys of the line mode do; the same keys as on the screen."""

from collections.abc import Awaitable, Callable
from datetime import datetime

from tuner.console import deeds, show
from tuner.console.deeds import CannotError, Deed
from tuner.console.keys import ALL
from tuner.console.session import Session
from tuner.console.tell import cells, champion_lines, matters, newest, reasons
from tuner.console.words import Words
from tuner.errors import TunerError
from tuner.wire.messages import CampaignView, TrialView

_TRIALS = 10


class LineKeys:
    """The actions; how lines come and go is `Lines`."""

    words: Words
    session: Session
    operator: str | None
    campaign: str | None
    scrapped: tuple[TrialView, datetime] | None = None

    def out(self, text: str) -> None:
        """Write a line."""
        raise NotImplementedError

    async def ask(self, question: str) -> str:
        """Ask for a line."""
        raise NotImplementedError

    async def do(self, deed: Deed) -> bool:
        """Ask the daemon."""
        raise NotImplementedError

    def check(self, deed: Deed) -> None:
        """Find out before anything is asked whether a deed is allowed."""
        raise NotImplementedError

    def took_s(self, view: CampaignView) -> float:
        """How long the question has been there."""
        raise NotImplementedError

    def keys(self) -> dict[str, Callable[[], Awaitable[None]]]:
        """All keys but `q`."""
        return {
            "1": self._left,
            "2": self._right,
            "0": self._tie,
            "x": self._scrap,
            "r": self._repeat,
            "u": self._undo,
            "a": self._approve,
            "n": self._reject,
            "h": self._hold,
            "s": self._stop,
            "v": self._valid,
            "g": self._lot,
            "o": self.sign_in,
            "l": self._language,
            "?": self._why,
            "t": self._history,
            "c": self._champion,
            "p": self._parameters,
            "m": self._alarms,
            "help": self._help,
        }

    @property
    def view(self) -> CampaignView:
        """The campaign."""
        view = self.session.view(self.campaign) if self.campaign else None
        if view is None:
            raise CannotError("cannot.no_campaign" if self.session.linked else "cannot.no_link")
        return view

    async def _left(self) -> None:
        await self.do(deeds.judge(self.view, "left", self.took_s(self.view)))

    async def _right(self) -> None:
        await self.do(deeds.judge(self.view, "right", self.took_s(self.view)))

    async def _tie(self) -> None:
        await self.do(deeds.tie(self.view, self.took_s(self.view)))

    async def _which(self, question: str, trials: list[TrialView]) -> TrialView | None:
        if len(trials) == 1:
            return trials[0]
        self.out(self.words(question))
        answer = await self.ask(self.words("line.which", left=trials[0].tag, right=trials[1].tag))
        if answer not in ("1", "2"):
            self.out(self.words("line.dropped"))
            return None
        return trials[int(answer) - 1]

    async def _sure(self, question: str) -> bool:
        self.out(question)
        if await self.ask(self.words("line.sure")) in ("y", "Y"):
            return True
        self.out(self.words("line.dropped"))
        return False

    async def _scrap(self) -> None:
        view = self.view
        choices = deeds.scrap_choices(view)
        self.check(deeds.scrap(view, choices[0], "?"))
        trial = await self._which("ask.scrap", choices)
        if trial is not None and await self.do(deeds.scrap(view, trial, self.words("ask.scrap_reason"))):
            self.scrapped = (trial, self.session.now(view.name))

    async def _repeat(self) -> None:
        view = self.view
        trials = deeds.repeat_choices(view)
        self.check(deeds.repeat(view, trials[0]))
        if len(trials) == 1 and not await self._sure(f"{self.words('ask.repeat')} {trials[0].tag}"):
            return
        trial = await self._which("ask.repeat", trials)
        if trial is not None:
            await self.do(deeds.repeat(view, trial))

    async def _undo(self) -> None:
        view = await self.session.fresh(self.view)
        deed = deeds.undo(view, self.operator or "", self.scrapped, self.session.now(view.name))
        if await self.do(deed) and deed.said == "say.unscrapped":
            self.scrapped = None

    async def _approve(self) -> None:
        view = self.view
        trial = deeds.proposal_of(view)
        self.check(deeds.approve(view, trial))
        self.out(f"{trial.tag}: {show.brief(self.words, view, trial.setting, ', ')}")
        if await self._sure(self.words("ask.approve")):
            await self.do(deeds.approve(view, trial))

    async def _reject(self) -> None:
        view = self.view
        trial = deeds.proposal_of(view)
        self.check(deeds.reject(view, trial, "?"))
        reason = await self.ask(self.words("ask.reject"))
        if reason:
            await self.do(deeds.reject(view, trial, reason))
        else:
            self.out(self.words("line.dropped"))

    async def _hold(self) -> None:
        view = self.view
        if view.mode != "Held":
            await self.do(deeds.hold(view))
            return
        self.check(deeds.resume(view))
        if await self._sure(self.words("ask.resume")):
            await self.do(deeds.resume(view))

    async def _stop(self) -> None:
        offered = deeds.moves(self.view)
        usual = next(iter(offered))
        self.check(offered[usual])
        if await self._sure(self.words(usual)):
            await self.do(offered[usual])

    async def _valid(self) -> None:
        await self.do(deeds.told_valid(self.view))

    async def _lot(self) -> None:
        view = self.view
        self.check(deeds.change_lot(view, "?"))
        await self.do(deeds.change_lot(view, await self.ask(self.words("ask.lot"))))

    async def sign_in(self) -> None:
        """Ask who is there."""
        name = deeds.person(await self.ask(self.words("ask.sign_in")))
        if name:
            self.operator = self.session.client.actor = name
            self.out(self.words("say.signed_in", operator=name))

    async def _language(self) -> None:
        self.words = Words(self.words.next_language())
        self.out(self.words("language.name"))

    async def _help(self) -> None:
        self.out(self.words("line.help") + ": " + ", ".join(f"{k.shown} {self.words(k.text)}" for k in ALL))

    async def _why(self) -> None:
        view = self.view
        trial = newest(view)
        for line in [self.words("why.none")] if trial is None else reasons(self.words, view, trial):
            self.out(line)
        try:
            for line in matters(self.words, view, await self.session.client.explanation(view.name)):
                self.out(line)
        except TunerError as error:
            self.out(self.words("champion.not_ready", text=str(error)))

    async def _history(self) -> None:
        view = self.view
        try:
            page = await self.session.client.trials(view.name, limit=_TRIALS)
        except TunerError as error:
            self.out(str(error))
            return
        tags = {trial.number: trial.tag for trial in page.trials}
        for trial in reversed(page.trials):
            self.out(". ".join(cell.plain for cell in cells(self.words, view, trial, page.judgments, tags)))
        if not page.trials:
            self.out(self.words("history.empty"))

    async def _champion(self) -> None:
        view, client = self.view, self.session.client
        try:
            body = await client.champion(view.name)
            known = body.champion is not None
            recommended = await client.recommendation(view.name) if known else None
            explained = await client.explanation(view.name) if known else None
        except TunerError as error:
            self.out(self.words("champion.not_ready", text=str(error)))
            return
        for line, _ in champion_lines(self.words, view, body, recommended, explained):
            self.out(line)

    async def _parameters(self) -> None:
        words, view = self.words, self.view
        try:
            cuts = (await self.session.client.slices(view.name)).slices
        except TunerError as error:
            self.out(words("champion.not_ready", text=str(error)))
            return
        for cut in cuts:
            parameter = next(p for p in view.parameters if p.name == cut.name)
            best = max(range(len(cut.values)), key=cut.mean.__getitem__)
            told = {"best": words.value(cut.values[best], parameter), "at": words.value(cut.at, parameter)}
            self.out(words("line.slice", name=cut.name, valid=words.percent(cut.valid[best]), **told))
        if not cuts:
            self.out(words("parameters.none"))

    async def _alarms(self) -> None:
        found = show.alarms(self.session, self.session.view(self.campaign or ""))
        for key, fields in found:
            self.out("! " + self.words(key, **fields))
        if not found:
            self.out(self.words("alarms.none"))
        for news in list(self.session.news)[:_TRIALS]:
            self.out(f"{self.words.clock(news.at, seconds=True)} {show.news_words(self.words, news)}")
