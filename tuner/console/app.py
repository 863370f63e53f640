"""The console's keys: what each asks, and which deed it leads to."""

import functools
import string
from collections.abc import Awaitable, Callable
from typing import Any

from textual import work

from tuner.console import deeds, show
from tuner.console.base_app import BaseApp
from tuner.console.deeds import NAME_LENGTH, CannotError, Deed
from tuner.console.dialogs import Choice, ChooseDialog, TextDialog
from tuner.console.words import Words
from tuner.errors import TunerError
from tuner.wire.messages import CampaignView, TrialView

Action = Callable[..., Awaitable[None]]
_LETTERS = "123456789" + string.ascii_lowercase  # for campaigns to choose from


def key(function: Action) -> Any:
    """Run a key's action beside the screen, and say why if it cannot be done."""

    @functools.wraps(function)
    async def action(self: BaseApp, *args: Any) -> None:
        try:
            await function(self, *args)
        except CannotError as error:
            self.refuse(error)

    return work(action)


class ConsoleApp(BaseApp):
    """The operator's console; arguments as of `BaseApp`."""

    @key
    async def action_judge(self, side: deeds.Side) -> None:
        """One part is better."""
        view = self.need_view()
        await self._answer(view, deeds.judge(view, side, self._took_s(view)))

    @key
    async def action_tie(self) -> None:
        """Can't tell."""
        view = self.need_view()
        await self._answer(view, deeds.tie(view, self._took_s(view)))

    async def _answer(self, view: CampaignView, deed: Deed) -> None:
        told = await self.do(deed)
        if told.kind == "done":
            self._answered = (view.name, deeds.duel_of(view).number)

    @key
    async def action_scrap(self) -> None:
        """A part is not valid; where there are two the next key says which."""
        view = self.need_view()
        choices = deeds.scrap_choices(view)
        self.check(deeds.scrap(view, choices[0], "?"))
        trial = choices[0] if len(choices) == 1 else await self._which(view, choices, "ask.scrap")
        if trial is not None:
            told = await self.do(deeds.scrap(view, trial, self.words("ask.scrap_reason")))
            if told.kind == "done":
                self._scrapped[view.name] = (trial, self.session.now(view.name))

    @key
    async def action_repeat(self) -> None:
        """Make a part again; it moves the machine, so the choice is also the confirmation."""
        view = self.need_view()
        choices = deeds.repeat_choices(view)
        self.check(deeds.repeat(view, choices[0]))
        trial = await self._which(view, choices, "ask.repeat")
        if trial is not None:
            await self.do(deeds.repeat(view, trial))

    async def _which(self, view: CampaignView, trials: list[TrialView], question: str) -> TrialView | None:
        choices = [
            Choice(str(number), f"{trial.tag}   {show.brief(self.words, view, trial.setting)}", str(trial.number))
            for number, trial in enumerate(trials, 1)
        ]
        answer = await self.push_screen_wait(ChooseDialog(self.words(question), choices, self.words("key.cancel")))
        return next((trial for trial in trials if str(trial.number) == answer), None)

    @key
    async def action_undo(self) -> None:
        """Take the last answer back."""
        view = await self.session.fresh(self.need_view())
        if self.operator is None:
            raise CannotError("cannot.signed_out")
        scrapped = self._scrapped.get(view.name)
        deed = deeds.undo(view, self.operator, scrapped, self.session.now(view.name))
        await self.do(deed)
        if deed.said == "say.unscrapped":
            self._scrapped.pop(view.name, None)

    @key
    async def action_hold(self) -> None:
        """Pause at once, or go on after a question."""
        view = self.need_view()
        if view.mode != "Held":
            await self.do(deeds.hold(view))
            return
        self.check(deeds.resume(view))
        if await self._sure(self.words("ask.resume"), "h"):
            await self.do(deeds.resume(view))

    async def _sure(self, question: str, key: str, details: str = "") -> bool:
        choices = [Choice(key, self.words("ask.yes"), "yes")]
        return await self.push_screen_wait(ChooseDialog(question, choices, self.words("key.cancel"), details)) == "yes"

    @key
    async def action_stop(self) -> None:
        """Stop tuning, start it, or what else moves the machine now."""
        view = self.need_view()
        offered = deeds.moves(view)
        self.check(next(iter(offered.values())))
        keys = {"ask.stop": "s", "ask.start": "s", "ask.abort": "b", "ask.home": "k"}
        choices = [Choice(keys[text], self.words(text), text) for text in offered]
        title = f"{view.name}: {self.words.known(f'mode.{view.mode}', view.mode)}"
        answer = await self.push_screen_wait(ChooseDialog(title, choices, self.words("key.cancel")))
        if answer is not None:
            await self.do(offered[answer])

    @key
    async def action_approve(self) -> None:
        """Send the proposed setting, after its way was shown."""
        view = self.need_view()
        trial = deeds.proposal_of(view)
        self.check(deeds.approve(view, trial))
        if await self._sure(self.words("ask.approve"), "a", await self._way(view, trial)):
            await self.do(deeds.approve(view, trial))

    async def _way(self, view: CampaignView, trial: TrialView) -> str:

        words = self.words
        text = f"{trial.tag}: {show.brief(words, view, trial.setting)}"
        try:
            plan = await self.session.client.plan(view.name)
        except TunerError as error:
            return f"{text}\n{error}"
        if not plan.texts:  # the machine has this setting already
            return text
        return "\n".join(
            [text, words("ask.plan"), *plan.texts, words("ask.plan_s", seconds=words.number(plan.seconds))]
        )

    @key
    async def action_reject(self) -> None:
        """Do not send it; the model learns from the reason."""
        view = self.need_view()
        trial = deeds.proposal_of(view)
        self.check(deeds.reject(view, trial, "?"))
        reason = await self.reason("ask.reject", offers=self.words("ask.reasons").split("|"))
        if reason:
            await self.do(deeds.reject(view, trial, reason))

    async def reason(self, question: str, *, offers: list[str] | None = None, **fields: object) -> str | None:
        """Ask for a text."""
        words = self.words
        return await self.push_screen_wait(
            TextDialog(words(question, **fields) if fields else words(question), words("ask.reason_hint"), offers or [])
        )

    @key
    async def action_valid(self) -> None:
        """The part made by hand is valid."""
        await self.do(deeds.told_valid(self.need_view()))

    @key
    async def action_lot(self) -> None:
        """Other material from now on."""
        view = self.need_view()
        self.check(deeds.change_lot(view, "?"))
        lot = await self.reason("ask.lot")
        if lot is not None:
            await self.do(deeds.change_lot(view, lot))

    def ask_operator(self) -> None:
        """Ask who is there."""
        self.action_sign_in()

    def ask_campaign(self) -> None:
        """Ask which campaign to show."""
        self.action_choose_campaign()

    @work(exclusive=True, group="sign in")
    async def action_sign_in(self) -> None:
        """Name or badge."""
        words = self.words
        dialog = TextDialog(words("ask.sign_in"), words("ask.reason_hint"), longest=NAME_LENGTH)
        typed = await self.push_screen_wait(dialog)
        try:
            name = deeds.person(typed or "")
        except CannotError as error:
            self.refuse(error)
            name = ""
        if name:
            self.operator = self.session.client.actor = name
            self.say(words("say.signed_in", operator=name))
        self._changed()

    @work(exclusive=True, group="campaign")
    async def action_choose_campaign(self) -> None:
        """Which of several campaigns."""
        names = list(self.session.campaigns)
        choices = []
        for letter, name in zip(_LETTERS, names, strict=False):
            view = self.session.view(name)
            state = f"{view.machine_name}, {self.words.known(f'mode.{view.mode}', view.mode)}" if view else ""
            choices.append(Choice(letter, f"{name}   {state}", name))
        answer = await self.push_screen_wait(
            ChooseDialog(self.words("ask.campaign"), choices, self.words("key.cancel"))
        )
        self.show_campaign(answer or names[0])

    def action_next_campaign(self, step: int) -> None:
        """The next tab."""
        names = list(self.session.campaigns)
        if names:
            place = names.index(self.campaign) if self.campaign in names else -1
            self.show_campaign(names[(place + step) % len(names)])

    def action_language(self) -> None:
        """The next language."""
        self.words = Words(self.words.next_language())
        self.say(self.words("language.name"))
        self.main.put()

    def action_why(self) -> None:
        """Why this setting."""
        self.action_page("why")

    def action_page(self, name: str) -> None:
        """Another screen, about the campaign that is shown."""
        from tuner.console.pages import PAGES

        try:
            self.push_screen(PAGES[name](self.need_view().name))
        except CannotError as error:
            self.refuse(error)

    def action_help_quit(self) -> None:
        """Ctrl+C is pressed by habit: it says how to leave, in the reader's language, and covers no key."""
        self.say(self.words("say.leave"))
        for screen in self.screen_stack[2:]:
            notice = getattr(screen, "session_changed", None)
            if notice is not None:
                notice()
