"""What the keys ask of the daemon: each request made of a campaign's view, or why there is none; pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

from tuner.console.language import Words
from tuner.console.states import Mode, Phase, Stage
from tuner.names import NameProblemError, person_name
from tuner.wire import calls
from tuner.wire.calls import Call
from tuner.wire.messages import CampaignView, DuelView, EventsAfter, JudgmentView, TrialView

Side = Literal["left", "right"]
NAME_LENGTH = 64  # the wire's limit for who is signed in

# which event shows that the daemon has done it
EVENT_OF = {
    "judgment.give": "judgment_given",
    "judgment.tie": "judgment_given",
    "judgment.retract": "judgment_retracted",
    "trial.outcome": "outcome_told",
    "trial.exclude": "trial_excluded",
    "trial.repeat": "repeat_wanted",
    "proposal.approve": "proposal_approved",
    "proposal.reject": "proposal_rejected",
    "campaign.start": "campaign_started",
    "campaign.hold": "campaign_held",
    "campaign.resume": "campaign_resumed",
    "campaign.stop": "campaign_stopped",
    "campaign.abort": "campaign_aborted",
    "campaign.home": "home_wanted",
    "lot.change": "lot_changed",
}


@dataclass(frozen=True, slots=True)
class KeyRequest:
    """Something to ask of the daemon.

    Attributes:
        call: The request.
        said: The text that tells that it was done, and its fields.
        fields: For the text.
        undoable: Whether `u` takes it back.
    """

    call: Call[EventsAfter]
    said: str
    fields: Mapping[str, object] = field(default_factory=dict)
    undoable: bool = False

    @property
    def wanted(self) -> str:
        """The text that names it without saying that it was done."""
        return self.said.replace("say.", "what.")


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


def person(typed: str) -> str:
    """A name as the daemon takes it: what a person can read of what was typed or came from a badge; may be empty.

    Raises:
        CannotError: It is none, or passes for the daemon's.
    """
    name = " ".join(readable(typed).split())[:NAME_LENGTH].strip()
    try:
        return person_name(name)[:NAME_LENGTH].strip() if name else ""
    except NameProblemError as error:
        raise CannotError("cannot.bad_name", name=name) from error


def readable(typed: str) -> str:
    """What was typed without control characters: arrow keys, a badge's separators, halves of characters."""
    return "".join(letter if letter.isprintable() else " " for letter in typed)


def duel_of(view: CampaignView) -> DuelView:
    """The open question."""
    if view.duel is None:
        raise CannotError("cannot.no_duel")
    return view.duel


def judge(view: CampaignView, side: Side, took_s: float | None) -> KeyRequest:
    """The part on this side is better."""
    duel = duel_of(view)
    winner = duel.left if side == "left" else duel.right
    call = calls.judge(view.name, duel.number, winner.number, took_s)
    return KeyRequest(call, "say.judged", {"tag": winner.tag}, undoable=True)


def tie(view: CampaignView, took_s: float | None) -> KeyRequest:
    """Neither is."""
    return KeyRequest(calls.tie(view.name, duel_of(view).number, took_s), "say.tied", undoable=True)


def scrap_choices(view: CampaignView) -> list[TrialView]:
    """The parts that could be called scrap now: both of the question, or the one under way."""
    if view.duel is not None:
        return [view.duel.left, view.duel.right]
    if view.trial is not None and view.trial.stage == Stage.RUNNING:
        return [view.trial]
    raise CannotError("cannot.no_part")


def repeat_choices(view: CampaignView) -> list[TrialView]:
    """The parts that could be made again now."""
    if view.duel is not None:
        return [view.duel.left, view.duel.right]
    if view.champion is not None:
        return [view.champion]
    raise CannotError("cannot.no_repeat")


def scrap(view: CampaignView, trial: TrialView, reason: str) -> KeyRequest:
    """The part is not valid."""
    call = calls.tell_outcome(view.name, trial.number, False, reason)
    return KeyRequest(call, "say.scrapped", {"tag": trial.tag}, undoable=True)


def by_hand(view: CampaignView) -> TrialView:
    """The part that is made by hand now."""
    trial = view.trial
    if not view.dry_run or trial is None or trial.stage != Stage.RUNNING:
        raise CannotError("cannot.no_outcome")
    return trial


def told_valid(view: CampaignView) -> KeyRequest:
    """The part that was made by hand is valid."""
    trial = by_hand(view)
    call = calls.tell_outcome(view.name, trial.number, True)
    return KeyRequest(call, "say.told_valid", {"tag": trial.tag})


def repeat(view: CampaignView, trial: TrialView) -> KeyRequest:
    """Make the part again."""
    return KeyRequest(calls.repeat(view.name, trial.number), "say.repeated", {"tag": trial.tag})


def proposal_of(view: CampaignView) -> TrialView:
    """The setting that waits for approval."""
    if view.trial is None or view.trial.stage != Stage.PROPOSED:
        raise CannotError("cannot.no_proposal")
    return view.trial


def approve(view: CampaignView, trial: TrialView) -> KeyRequest:
    """Send the setting."""
    return KeyRequest(calls.approve(view.name, trial.number), "say.approved", {"tag": trial.tag})


def reject(view: CampaignView, trial: TrialView, reason: str) -> KeyRequest:
    """Do not send it."""
    return KeyRequest(calls.reject(view.name, trial.number, reason), "say.rejected", {"tag": trial.tag})


def hold(view: CampaignView) -> KeyRequest:
    """Pause; moves nothing, so nobody is asked whether he is sure."""
    return KeyRequest(calls.hold(view.name), "say.held")


def undo(view: CampaignView, operator: str, scrapped: tuple[TrialView, datetime] | None, now: datetime) -> KeyRequest:
    """Take back the operator's last answer, a judgment or a "scrap", if it is not too old."""
    minutes = timedelta(minutes=view.undo_minutes)
    mine = [j for j in view.judgments if j.operator == operator and j.retracted is None]
    judgment = max(mine, key=lambda j: j.number, default=None)
    judged_at = None if judgment is None else datetime.fromisoformat(judgment.at)
    if scrapped is not None and (judged_at is None or scrapped[1] > judged_at) and now - scrapped[1] <= minutes:
        trial = scrapped[0]
        call = calls.tell_outcome(view.name, trial.number, True)
        return KeyRequest(call, "say.unscrapped", {"tag": trial.tag})
    if judgment is None or judged_at is None or now - judged_at > minutes:
        raise CannotError("cannot.no_undo", minutes=f"{view.undo_minutes:g}")
    return retract(view, judgment, "")


def retract(view: CampaignView, judgment: JudgmentView, reason: str) -> KeyRequest:
    """Take a judgment back."""
    return KeyRequest(calls.retract(view.name, judgment.number, reason), "say.undone", {"number": judgment.number})


def exclude(view: CampaignView, trial: TrialView, reason: str) -> KeyRequest:
    """Leave a trial out of account."""
    return KeyRequest(calls.exclude(view.name, trial.number, reason), "say.excluded", {"tag": trial.tag})


def moves(view: CampaignView) -> dict[str, KeyRequest]:
    """What `s` offers in this mode: each request by the text that asks for it, the usual one first."""
    name = view.name
    home = KeyRequest(calls.go_home(name), "say.homing")
    abort = KeyRequest(calls.abort(name), "say.aborted")
    if view.mode not in (Mode.EXECUTE, Mode.HELD):
        offered = {"ask.start": KeyRequest(calls.start(name), "say.started"), "ask.home": home}
        if view.phase == Phase.RETURNING_HOME:
            offered["ask.abort"] = abort
        return offered
    offered = {"ask.stop": KeyRequest(calls.stop(name), "say.stopped"), "ask.abort": abort}
    return offered if view.mode == Mode.EXECUTE else {**offered, "ask.home": home}


def resume(view: CampaignView) -> KeyRequest:
    """Go on after a pause."""
    return KeyRequest(calls.resume(view.name), "say.resumed")


def change_lot(view: CampaignView, lot: str) -> KeyRequest:
    """Other material."""
    if not 1 <= len(lot) <= 64:
        raise CannotError("cannot.bad_lot")
    return KeyRequest(calls.change_lot(view.name, lot), "say.lot", {"lot": lot})


def was_done(request: KeyRequest, actor: str, events: list[Any]) -> bool:
    """Whether one of the events is what the request would have made."""
    wanted = request.call.body.model_dump(exclude_none=True, exclude={"took_s", "reason"})
    return any(
        event.type == EVENT_OF.get(request.call.op)
        and event.actor == actor
        and all(event.body.get(name) == value for name, value in wanted.items())
        for event in events
    )
