"""What the keys ask of the daemon: each request made of a campaign's view, or why there is none; pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from tuner.basics.names import NameProblemError, person_name
from tuner.basics.text import on_one_line
from tuner.basics.vocabulary import Mode, Phase, Stage
from tuner.console.language import Words
from tuner.wire.messages import AlarmView, CampaignView, ChangeView, DuelView, EventsAfter, TrialView
from tuner.wire.operation import Call
from tuner.wire.operations import OPS, Operations

NAME_LENGTH = 64  # the wire's limit for who is signed in

# for each operation the name of its texts: `say.NAME` tells that it was done, `what.NAME` only names it
TEXTS = {
    "judgment.give": "better",
    "judgment.tie": "tie",
    "judgment.retract": "undone",
    "trial.outcome": "scrapped",
    "trial.exclude": "excluded",
    "trial.repeat": "repeated",
    "proposal.approve": "approved",
    "proposal.reject": "rejected",
    "campaign.start": "started",
    "campaign.hold": "held",
    "campaign.resume": "resumed",
    "campaign.stop": "stopped",
    "campaign.abort": "aborted",
    "campaign.home": "homing",
    "lot.change": "lot",
    "change.confirm": "confirmed",
    "parameter.freeze": "restricted",
    "parameter.narrow": "restricted",
    "parameter.free": "freed",
    "alarm.acknowledge": "acknowledged",
    "judgment.again": "again",
}
UNSCRAPPED, TOLD_VALID = "unscrapped", "told_valid"  # an outcome has other texts where the part is valid
_ANSWERS = frozenset({"judgment.give", "judgment.tie"})


@dataclass(frozen=True, slots=True)
class KeyRequest:
    """Something that a key asks of the daemon.

    Attributes:
        call: The request.
        fields: For its texts.
        other_text: Their name where it is not the operation's.
    """

    call: Call[EventsAfter]
    fields: Mapping[str, object] = field(default_factory=dict)
    other_text: str | None = None

    @property
    def text(self) -> str:
        """The name of its texts."""
        return self.other_text or TEXTS[self.call.op]

    @property
    def undoable(self) -> bool:
        """Whether `u` takes it back."""
        return self.call.op in _ANSWERS or self.text == "scrapped"

    def said(self, words: Words) -> str:
        """What is said when it was done."""
        return words(f"say.{self.text}", **self.fields)

    def named(self, words: Words) -> str:
        """What it is, without saying that it was done."""
        return words(f"what.{self.text}", **self.fields)


class CannotError(Exception):
    """Why a key does nothing now: a text's key and its fields."""

    def __init__(self, key: str, **fields: object) -> None:
        super().__init__(key)
        self.key = key
        self.fields = fields

    def sentence(self, words: Words) -> str:
        """The reason in the reader's language."""
        fields = dict(self.fields)
        if "mode" in fields:
            fields["mode"] = words.known(f"mode.{fields['mode']}", str(fields["mode"]))
        return words(self.key, **fields)


class RefusedError(CannotError):
    """The daemon's refusal: its code and its words."""

    def sentence(self, words: Words) -> str:
        """The reader's words before the daemon's own."""
        return f"{words.known(self.key, words('refused.other'))} {words.told(str(self.fields['text']))}"


def person(typed: str) -> str:
    """A name as the daemon takes it: what a person can read of what was typed or came from a badge; may be empty.

    Raises:
        CannotError: It is none, or passes for the daemon's.
    """
    name = on_one_line(typed)[:NAME_LENGTH].strip()
    try:
        return person_name(name)[:NAME_LENGTH].strip() if name else ""
    except NameProblemError as error:
        raise CannotError("cannot.bad_name", name=name) from error


def duel_of(view: CampaignView) -> DuelView:
    """An open question."""
    if view.duel is None:
        raise CannotError("cannot.no_duel")
    return view.duel


def scrap_choices(view: CampaignView) -> list[TrialView]:
    """Parts that could be called scrap: both of the question, or the one under way."""
    if view.duel is not None:
        return [view.duel.left, view.duel.right]
    if view.trial is not None and view.trial.stage == Stage.RUNNING:
        return [view.trial]
    raise CannotError("cannot.no_part")


def repeat_choices(view: CampaignView) -> list[TrialView]:
    """Parts that could be made again: both of the question, or the champion."""
    if view.duel is not None:
        return [view.duel.left, view.duel.right]
    if view.champion is not None:
        return [view.champion]
    raise CannotError("cannot.no_repeat")


def by_hand(view: CampaignView) -> TrialView:
    """A part that is made by hand now."""
    trial = view.trial
    if not view.dry_run or trial is None or trial.stage != Stage.RUNNING:
        raise CannotError("cannot.no_outcome")
    return trial


def proposal_of(view: CampaignView) -> TrialView:
    """A setting that waits for approval."""
    if view.trial is None or view.trial.stage != Stage.PROPOSED:
        raise CannotError("cannot.no_proposal")
    return view.trial


def change_of(view: CampaignView) -> ChangeView:
    """A change that somebody is to make by hand."""
    if view.change is None:
        raise CannotError("cannot.no_change")
    return view.change


def unacknowledged(view: CampaignView) -> AlarmView:
    """An alarm that nobody has acknowledged: the newest one."""
    found = next((one for one in view.alarms or () if one.acknowledged_at is None), None)
    if found is None:
        raise CannotError("cannot.no_alarm")
    return found


def undo(view: CampaignView, operator: str, scrapped: tuple[TrialView, datetime] | None, now: datetime) -> KeyRequest:
    """Take back the operator's last answer, a judgment or a "scrap", if it is not too old."""
    minutes = timedelta(minutes=view.undo_minutes)
    mine = [j for j in view.judgments if j.operator == operator and j.retracted is None]
    judgment = max(mine, key=lambda j: j.number, default=None)
    judged_at = None if judgment is None else datetime.fromisoformat(judgment.at)
    if scrapped is not None and (judged_at is None or scrapped[1] > judged_at) and now - scrapped[1] <= minutes:
        trial = scrapped[0]
        return KeyRequest(Operations.tell_outcome(view.name, trial.number, True), {"tag": trial.tag}, UNSCRAPPED)
    if judgment is None or judged_at is None or now - judged_at > minutes:
        raise CannotError("cannot.no_undo", minutes=float(view.undo_minutes))
    return KeyRequest(Operations.retract(view.name, judgment.number, ""), {"number": judgment.number})


def moves(view: CampaignView) -> dict[str, Call[EventsAfter]]:
    """What `s` offers in this mode: each request by the text that asks for it, the usual one first."""
    name = view.name
    stop, abort, home = Operations.stop(name), Operations.abort(name), Operations.go_home(name)
    if view.mode == Mode.EXECUTE:
        return {"ask.stop": stop, "ask.abort": abort}
    if view.mode == Mode.HELD:
        return {"ask.stop": stop, "ask.abort": abort, "ask.home": home}
    offered = {"ask.start": Operations.start(name), "ask.home": home}
    return {**offered, "ask.abort": abort} if view.phase == Phase.RETURNING_HOME else offered


def was_done(request: KeyRequest, actor: str, events: list[Any]) -> bool:
    """Whether one of the events is what the request would have made."""
    wanted = request.call.body.model_dump(exclude_defaults=True, exclude={"took_s", "reason"})
    return any(
        event.type in OPS[request.call.op].events
        and event.actor == actor
        and all(event.body.get(name) == value for name, value in wanted.items())
        for event in events
    )
