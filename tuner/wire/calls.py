"""Every operation as a function with names and types: the one list that the clients' methods are made of."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import BaseModel

from tuner.wire import messages as m
from tuner.wire.exchange import make
from tuner.wire.ops import OPS

A = TypeVar("A", bound=BaseModel)
Value = float | int | str


@dataclass(frozen=True, slots=True)
class Call(Generic[A]):
    """A request that is not sent yet, and the model of its answer."""

    op: str
    answer: type[A]
    body: BaseModel
    campaign: str | None = None


def _call(op: str, answer: type[A], campaign: str | None = None, **fields: object) -> Call[A]:
    return Call(op, answer, make(OPS[op].body, fields), campaign)


def hello() -> Call[m.Welcome]:
    """Agree on a version, learn one's role."""
    return _call("hello", m.Welcome, versions=[m.VERSION])


def ping() -> Call[m.Pong]:
    """Is the daemon there?"""
    return _call("ping", m.Pong)


def status() -> Call[m.StatusBody]:
    """The daemon and one line for each campaign."""
    return _call("status", m.StatusBody)


def snapshot(campaign: str) -> Call[m.CampaignView]:
    """A campaign as it is now, to catch up with its events."""
    return _call("snapshot", m.CampaignView, campaign)


def config(campaign: str) -> Call[m.ConfigBody]:
    """The terms of a campaign as it runs."""
    return _call("config", m.ConfigBody, campaign)


def history(campaign: str, before: int | None = None, limit: int = 50) -> Call[m.HistoryPage]:
    """A page of a campaign's events, newest first.

    Args:
        campaign: Its name.
        before: Only events with a smaller number; None: the newest.
        limit: How many at most, up to 500.
    """
    return _call("history", m.HistoryPage, campaign, before=before, limit=limit)


def trials(campaign: str, before: int | None = None, limit: int = 100) -> Call[m.TrialsPage]:
    """A page of a campaign's trials, newest first.

    Args:
        campaign: Its name.
        before: Only trials with a smaller number; None: the newest.
        limit: How many at most, up to 500.
    """
    return _call("trials", m.TrialsPage, campaign, before=before, limit=limit)


def champion(campaign: str) -> Call[m.ChampionBody]:
    """The best trial so far, and its duels."""
    return _call("champion", m.ChampionBody, campaign)


def recommendation(campaign: str) -> Call[m.Recommendation]:
    """The setting that the model believes best."""
    return _call("recommendation", m.Recommendation, campaign)


def explanation(campaign: str) -> Call[m.Explanation]:
    """Why this setting, what matters, what is left to gain."""
    return _call("explanation", m.Explanation, campaign)


def slices(campaign: str) -> Call[m.Slices]:
    """Posterior mean, credible band and P(valid) along each parameter."""
    return _call("slices", m.Slices, campaign)


def plan(campaign: str, setting: Mapping[str, Value] | None = None) -> Call[m.PlanView]:
    """The moves that would lead to a setting, before it is approved.

    Args:
        campaign: Its name.
        setting: A value for every parameter; None: the open proposal's.
    """
    return _call("plan", m.PlanView, campaign, setting=None if setting is None else dict(setting))


def create(config: str) -> Call[m.EventsAfter]:
    """Create a campaign.

    Args:
        config: The text of a configuration with exactly one table [[campaign]].
    """
    return _call("campaign.create", m.EventsAfter, config=config)


def start(campaign: str) -> Call[m.EventsAfter]:
    """Begin tuning, or begin again after a stop."""
    return _call("campaign.start", m.EventsAfter, campaign)


def hold(campaign: str, reason: str = "") -> Call[m.EventsAfter]:
    """Pause: the part under way is finished, nothing more is sent.

    Args:
        campaign: Its name.
        reason: Why, for the record.
    """
    return _call("campaign.hold", m.EventsAfter, campaign, reason=reason)


def resume(campaign: str) -> Call[m.EventsAfter]:
    """Go on after a pause."""
    return _call("campaign.resume", m.EventsAfter, campaign)


def stop(campaign: str, reason: str = "") -> Call[m.EventsAfter]:
    """Stop tuning: the part under way is finished, then the machine goes to its known-good setting.

    Args:
        campaign: Its name.
        reason: Why, for the record.
    """
    return _call("campaign.stop", m.EventsAfter, campaign, reason=reason)


def abort(campaign: str, reason: str = "") -> Call[m.EventsAfter]:
    """Let go of the machine at once; it is sent nothing more, not even its known-good setting.

    Args:
        campaign: Its name.
        reason: Why, for the record.
    """
    return _call("campaign.abort", m.EventsAfter, campaign, reason=reason)


def go_home(campaign: str) -> Call[m.EventsAfter]:
    """Bring the machine to its known-good setting; only while it is not tuning."""
    return _call("campaign.home", m.EventsAfter, campaign)


def approve(campaign: str, trial: int) -> Call[m.EventsAfter]:
    """Allow the proposed setting to be sent.

    Args:
        campaign: Its name.
        trial: Number of the proposed trial.
    """
    return _call("proposal.approve", m.EventsAfter, campaign, trial=trial)


def reject(campaign: str, trial: int, reason: str) -> Call[m.EventsAfter]:
    """Forbid the proposed setting; another one will be proposed.

    Args:
        campaign: Its name.
        trial: Number of the proposed trial.
        reason: Why; the model learns to stay away.
    """
    return _call("proposal.reject", m.EventsAfter, campaign, trial=trial, reason=reason)


def tell_outcome(campaign: str, trial: int, valid: bool, reason: str = "") -> Call[m.EventsAfter]:
    """Say whether a trial made a part that can be judged; said again it corrects what was said before.

    Args:
        campaign: Its name.
        trial: Its number.
        valid: Whether there is a part that can be judged.
        reason: Why not; needed if it is not valid.
    """
    return _call("trial.outcome", m.EventsAfter, campaign, trial=trial, valid=valid, reason=reason)


def exclude(campaign: str, trial: int, reason: str) -> Call[m.EventsAfter]:
    """Leave a trial and everything said about it out of account.

    Args:
        campaign: Its name.
        trial: Its number.
        reason: Why, for the record.
    """
    return _call("trial.exclude", m.EventsAfter, campaign, trial=trial, reason=reason)


def repeat(campaign: str, trial: int) -> Call[m.EventsAfter]:
    """Make a part again at the setting of an old trial.

    Args:
        campaign: Its name.
        trial: Its number.
    """
    return _call("trial.repeat", m.EventsAfter, campaign, trial=trial)


def judge(campaign: str, duel: int, winner: int, took_s: float | None = None) -> Call[m.EventsAfter]:
    """Say which part of a duel is better.

    Args:
        campaign: Its name.
        duel: The question's number.
        winner: Number of the better trial.
        took_s: How long the answer took, in seconds.
    """
    return _call("judgment.give", m.EventsAfter, campaign, duel=duel, winner=winner, took_s=took_s)


def tie(campaign: str, duel: int, took_s: float | None = None) -> Call[m.EventsAfter]:
    """Say that neither part of a duel can be told to be better.

    Args:
        campaign: Its name.
        duel: The question's number.
        took_s: How long the answer took, in seconds.
    """
    return _call("judgment.tie", m.EventsAfter, campaign, duel=duel, took_s=took_s)


def retract(campaign: str, judgment: int, reason: str = "") -> Call[m.EventsAfter]:
    """Take a judgment back.

    Args:
        campaign: Its name.
        judgment: Its number.
        reason: Why, for the record.
    """
    return _call("judgment.retract", m.EventsAfter, campaign, judgment=judgment, reason=reason)


def change_lot(campaign: str, lot: str) -> Call[m.EventsAfter]:
    """The material is another one from now on.

    Args:
        campaign: Its name.
        lot: Its name.
    """
    return _call("lot.change", m.EventsAfter, campaign, lot=lot)


def stop_daemon() -> Call[m.Accepted]:
    """Bring every machine home and end the daemon."""
    return _call("daemon.stop", m.Accepted)
