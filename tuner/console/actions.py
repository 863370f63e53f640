"""What the keys do, written once for the screen and for plain lines: both are a `Ui`."""

import functools
from collections.abc import Awaitable, Callable
from datetime import datetime
from itertools import chain, count
from typing import Any

from tuner.basics.vocabulary import Answer, Mode
from tuner.campaign.people import answer_to
from tuner.console import requests
from tuner.console.campaign_text import brief, by_hand_text
from tuner.console.keyboard import BY_SHOWN, SIGN_IN, Key, obstacle
from tuner.console.language import Words
from tuner.console.pages import PAGES
from tuner.console.requests import NAME_LENGTH, CannotError, KeyRequest, RefusedError
from tuner.console.restricting import LIFT, asked_parameter, asked_restriction, request_for
from tuner.console.session import Session
from tuner.console.ui import CHOICE_KEYS, Choice, Options, Ui
from tuner.errors import TunerError
from tuner.wire.errors import ReplyError
from tuner.wire.messages import (
    AlarmView,
    CampaignView,
    EventsAfter,
    JudgmentView,
    ParameterView,
    TrialView,
)
from tuner.wire.operation import Call
from tuner.wire.operations import Operations, request_of

_SIGN_IN_AGAIN = frozenset({"cannot.signed_out", "refused.sign_in", "refused.locked"})
_LONGEST_LOT = 64
_MOVE_KEYS = {"ask.stop": "s", "ask.start": "s", "ask.abort": "b", "ask.home": "k"}


Action = Callable[..., Awaitable[None]]


def asks(action: Action) -> Action:
    """One question at a time: a key that is pressed twice must not ask twice."""

    @functools.wraps(action)
    async def alone(self: "Actions", *args: Any) -> None:
        if self.asking:
            raise CannotError("cannot.busy")
        self.asking = True
        try:
            await action(self, *args)
        finally:
            self.asking = False
            self.ui.redraw()  # what had to wait for the question

    return alone


class Actions:
    """Who is signed in, which campaign is shown, and all that the keys do.

    Args:
        ui: How the operator is spoken with.
        session: What is known of the daemon.
        options: How the console was started.
    """

    def __init__(self, ui: Ui, session: Session, options: Options) -> None:
        self.ui = ui
        self.session = session
        self.words = Words(options.language)
        self.operator = session.client.actor = options.operator
        self.campaign = options.campaign
        self.asking = False
        self._guard_s = options.guard_s
        self._scrapped: dict[str, tuple[TrialView, datetime]] = {}
        self._seen: tuple[str, int] | None = None  # the question that the operator sees, and since when
        self._seen_at_s = 0.0
        self._hidden_at_s: float | None = None
        self._answered: tuple[str, int] | None = None

    @property
    def view(self) -> CampaignView:
        """What the operator sees now."""
        view = self.ui.view
        if view is None:
            raise CannotError("cannot.no_campaign" if self.session.linked else "cannot.no_link")
        return view

    async def press(self, key: Key, *args: Any) -> None:
        """Do what a key stands for, or say why it cannot be done now."""
        try:
            if key.ops:
                self._require(key)
            given = () if key.argument is None else (key.argument,)
            await getattr(self, key.action)(*given, *args)
        except CannotError as error:
            self.ui.say(error.sentence(self.words), bad=True)
            if error.key in _SIGN_IN_AGAIN:
                await self.press(SIGN_IN)

    def _require(self, key: Key) -> None:
        found = obstacle(key, self.view, self.session.welcome)
        if found is not None:
            raise found
        if self.operator is None:
            raise CannotError("cannot.signed_out")

    async def _do(self, call: Call[EventsAfter], other_text: str | None = None, **fields: object) -> None:
        """Ask the daemon and say that it was done."""
        if self.session.busy:
            raise CannotError("cannot.busy")
        request = KeyRequest(call, fields, other_text)
        self.ui.sending()
        self.ui.done(request, await self.session.act(request))

    def question_seen(self, view: CampaignView) -> None:
        """The operator sees the open question; the time of an answer counts from the first time."""
        duel = (view.name, requests.duel_of(view).number)
        now_s = self.session.clock()
        if self._seen != duel:
            self._seen, self._seen_at_s = duel, now_s
        elif self._hidden_at_s is not None:
            self._seen_at_s += now_s - self._hidden_at_s
        self._hidden_at_s = None

    def question_hidden(self) -> None:
        """Another window is before the question: nobody looks at the two parts for it."""
        if self._hidden_at_s is None:
            self._hidden_at_s = self.session.clock()

    def _took_s(self, view: CampaignView) -> float:
        """How long the question has been there; refuses an answer that was meant for the one before."""
        duel = (view.name, requests.duel_of(view).number)
        if self._answered == duel:  # the daemon has it, the view does not know yet
            raise CannotError("cannot.no_duel")
        took_s = self.session.clock() - self._seen_at_s
        if self._seen != duel or took_s < self._guard_s:
            raise CannotError("cannot.fast")
        return round(took_s, 3)

    async def answer(self, answer: Answer) -> None:
        """One part is better, or can't tell."""
        view, duel = self.view, requests.duel_of(self.view)
        said = answer_to(duel.number, duel.left.number, duel.right.number, answer, self._took_s(view))
        winner = answer.winner(duel.left, duel.right)
        await self._do(request_of(view.name, said), answer.text, tag=winner and winner.tag)
        self._answered = (view.name, duel.number)

    @asks
    async def scrap(self) -> None:
        """A part is not valid; where there are two, which is asked."""
        view = self.view
        choices = requests.scrap_choices(view)
        trial = choices[0] if len(choices) == 1 else await self._which(view, choices, "ask.scrap")
        if trial is not None:
            reason = self.words("ask.scrap_reason")
            await self._do(Operations.tell_outcome(view.name, trial.number, False, reason), tag=trial.tag)
            self._scrapped[view.name] = (trial, self.session.now(view.name))

    @asks
    async def repeat(self, shown: CampaignView | None = None, wanted: TrialView | None = None) -> None:
        """Make a part again; it moves the machine, so the choice is also the confirmation."""
        view = shown or self.view
        choices = requests.repeat_choices(view) if wanted is None else [wanted]
        trial = await self._which(view, choices, "ask.repeat")
        if trial is not None:
            await self._do(Operations.repeat(view.name, trial.number), tag=trial.tag)

    async def _which(self, view: CampaignView, trials: list[TrialView], question: str) -> TrialView | None:
        choices = [
            Choice(key, trial.tag, str(trial.number), brief(self.words, view, trial.setting))
            for key, trial in zip(CHOICE_KEYS, trials, strict=False)
        ]
        answer = await self.ui.choose(self.words(question), choices)
        return next((trial for trial in trials if str(trial.number) == answer), None)

    async def undo(self) -> None:
        """Take the last answer back."""
        view = await self.session.fresh(self.view)
        scrapped = self._scrapped.get(view.name)
        request = requests.undo(view, self.operator or "", scrapped, self.session.now(view.name))
        await self._do(request.call, request.other_text, **request.fields)
        if request.text == requests.UNSCRAPPED:
            self._scrapped.pop(view.name, None)

    async def hold(self) -> None:
        """Pause at once, or go on after a question."""
        if self.view.mode == Mode.HELD:
            await self._resume()
        else:
            await self._do(Operations.hold(self.view.name))

    @asks
    async def _resume(self) -> None:
        view = self.view
        if await self._sure("ask.resume", "h"):
            await self._do(Operations.resume(view.name))

    async def _sure(self, question: str, key: str, details: str = "") -> bool:
        yes = Choice(key, self.words("ask.yes"), "yes")
        return await self.ui.choose(self.words(question), [yes], details, usual=True) == "yes"

    @asks
    async def stop(self) -> None:
        """Stop tuning, start it, or what else moves the machine now."""
        view, words = self.view, self.words
        offered = requests.moves(view)
        choices = [Choice(_MOVE_KEYS[text], words(text), text) for text in offered]
        title = f"{view.name}: {words.known(f'mode.{view.mode}', view.mode)}"
        answer = await self.ui.choose(title, choices, usual=True)
        if answer is not None:
            await self._do(offered[answer])

    @asks
    async def approve(self) -> None:
        """Send the proposed setting, after its way was shown."""
        view = self.view
        trial = requests.proposal_of(view)
        self.ui.say(self.words("say.planning"))
        way = await self._way(view, trial)
        self.ui.say("")
        self._require(BY_SHOWN["a"])  # the machine was read meanwhile, which takes its time
        if await self._sure("ask.approve", "a", way):
            await self._do(Operations.approve(view.name, trial.number), tag=trial.tag)

    async def _way(self, view: CampaignView, trial: TrialView) -> str:
        words = self.words
        text = f"{trial.tag}: {brief(words, view, trial.setting)}"
        try:
            plan = await self.session.client.plan(view.name)
        except TunerError as error:
            return f"{text}\n{words.told(str(error))}"
        if not plan.texts:  # the machine has this setting already
            return text
        seconds = words("ask.plan_s", seconds=words.number(plan.seconds))
        return "\n".join([text, words("ask.plan"), *map(words.told, plan.texts), seconds])

    @asks
    async def reject(self) -> None:
        """Do not send it; the model learns from the reason."""
        view = self.view
        trial = requests.proposal_of(view)
        reason = await self.ui.ask(self.words("ask.reject"), self.words("ask.reasons").split("|"))
        if reason:
            await self._do(Operations.reject(view.name, trial.number, reason), tag=trial.tag)

    async def valid(self) -> None:
        """The part made by hand is valid."""
        view, trial = self.view, requests.by_hand(self.view)
        await self._do(Operations.tell_outcome(view.name, trial.number, True), requests.TOLD_VALID, tag=trial.tag)

    @asks
    async def confirm(self) -> None:
        """A change that was asked for is made by hand."""
        view, change = self.view, requests.change_of(self.view)
        if await self._sure("ask.confirm", "f", by_hand_text(self.words, view, "\n")):
            await self._do(Operations.confirm_change(view.name, change.number), number=change.number)

    @asks
    async def lot(self) -> None:
        """Other material from now on."""
        view = self.view
        lot = await self.ui.ask(self.words("ask.lot"))
        if lot is not None and len(lot) > _LONGEST_LOT:
            raise CannotError("cannot.bad_lot")
        if lot is not None:
            await self._do(Operations.change_lot(view.name, lot), lot=lot)

    @asks
    async def exclude(self, view: CampaignView, trial: TrialView) -> None:
        """Leave a trial out of account, with a reason."""
        reason = await self.ui.ask(self.words("ask.exclude", tag=trial.tag))
        if reason:
            await self._do(Operations.exclude(view.name, trial.number, reason), tag=trial.tag)

    @asks
    async def retract(self, view: CampaignView, judgment: JudgmentView) -> None:
        """Take a judgment back, with a reason."""
        reason = await self.ui.ask(self.words("ask.retract", number=judgment.number))
        if reason:
            await self._do(Operations.retract(view.name, judgment.number, reason), number=judgment.number)

    @asks
    async def restrict(self) -> None:
        """Keep or narrow a parameter for a while, or lift that."""
        view = self.view
        parameter = await asked_parameter(self.ui, self.words, view)
        if parameter is None:
            return
        asked = await asked_restriction(self.ui, self.words, view, parameter)
        if asked == LIFT:
            await self.free(view, parameter)
        elif isinstance(asked, tuple):
            await self.restrict_to(view, parameter, *asked)

    async def restrict_to(
        self, view: CampaignView, parameter: ParameterView, typed: str, until: str | None, reason: str
    ) -> None:
        """Keep or narrow a parameter to what was typed."""
        request = request_for(view.name, parameter, typed, until, reason)
        await self._do(request, name=parameter.called, value=typed)

    async def free(self, view: CampaignView, parameter: ParameterView) -> None:
        """Lift the restriction of a parameter."""
        await self._do(Operations.free(view.name, parameter.name), name=parameter.called)

    async def acknowledge(self, view: CampaignView, alarm: AlarmView) -> None:
        """Somebody has seen an alarm."""
        await self._do(Operations.acknowledge(view.name, alarm.number), number=alarm.number)

    async def again(self, view: CampaignView, judgment: JudgmentView | int, pair: str = "") -> None:
        """Have a duel looked at once more."""
        number = judgment if isinstance(judgment, int) else judgment.number
        await self._do(Operations.look_again(view.name, number), pair=pair or f"#{number}")

    @asks
    async def sign_in(self) -> None:
        """Name or badge."""
        typed = await self.ui.ask(self.words("ask.sign_in"), longest=NAME_LENGTH) or ""
        wanted = self.ui.view is not None and self.ui.view.identify == "pin"
        if wanted and any(letter.isdigit() for letter in typed):  # a badge; the names of people have no digits
            await self._prove(None, None, typed.strip())
            return
        name = requests.person(typed)
        pin = await self.ui.ask(self.words("ask.pin"), longest=NAME_LENGTH, secret=True) if name and wanted else None
        if pin:
            await self._prove(name, pin, None)
        elif name and not wanted:
            self._is_here(name, None)

    async def _prove(self, name: str | None, pin: str | None, badge: str | None) -> None:
        """Sign in with what proves who it is."""
        client = self.session.client
        try:
            opened = await client.open_session(name, pin, badge)
            self._is_here(opened.name, opened.session)
            self.session.welcome = await client.hello()
        except ReplyError as error:
            raise RefusedError(f"refused.{error.code}", text=str(error)) from error
        except TunerError as error:
            raise CannotError("cannot.unsent", text=str(error)) from error

    def _is_here(self, name: str, session: str | None) -> None:
        self.operator = self.session.client.actor = name
        self.session.client.session = session
        self.ui.say(self.words("say.signed_in", operator=name))

    @asks
    async def choose_campaign(self) -> None:
        """Which of several campaigns."""
        choices = []
        for key, name in zip(chain(CHOICE_KEYS, map(str, count(36))), self.session.campaigns, strict=False):
            view = self.session.view(name)
            state = f"{view.machine_name}, {self.words.known(f'mode.{view.mode}', view.mode)}" if view else ""
            choices.append(Choice(key, name, name, state))
        answer = await self.ui.choose(self.words("ask.campaign"), choices)
        if answer is not None:
            self.show_campaign(answer)

    def show_campaign(self, name: str) -> None:
        """Show another campaign."""
        self.campaign = name
        self.ui.say("")
        self.ui.redraw()

    async def other_campaign(self, step: int) -> None:
        """The next campaign, or the one before."""
        names = list(self.session.campaigns)
        if names:
            place = names.index(self.campaign) if self.campaign in names else -1
            self.show_campaign(names[(place + step) % len(names)])

    async def language(self) -> None:
        """The next language."""
        self.words = Words(self.words.next_language())
        self.ui.say(self.words("language.name"))
        self.ui.redraw()

    async def show_page(self, name: str) -> None:
        """Another page, about the campaign that is shown."""
        page = PAGES[name]
        await self.ui.show_page(page, self.view.name if page.about_campaign else self.campaign or "")

    async def leave(self) -> None:
        """End the console."""
        self.ui.leave()
