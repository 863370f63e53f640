"""Every operation as a function with names and types; the clients' methods are made of these."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import BaseModel

from tuner.campaign import commands as c
from tuner.wire import messages as m
from tuner.wire.exchange import make

A = TypeVar("A", bound=BaseModel)
Value = float | int | str


@dataclass(frozen=True, slots=True)
class Call(Generic[A]):
    """A request that is not sent yet, and the model of its answer."""

    op: str
    answer: type[A]
    body: BaseModel
    campaign: str | None = None


def hello() -> Call[m.Welcome]:
    """Agree on a version, learn one's role."""
    return Call("hello", m.Welcome, m.Hello(versions=[m.VERSION]))


def ping() -> Call[m.Pong]:
    """Is the daemon there?"""
    return Call("ping", m.Pong, m.Nothing())


def status() -> Call[m.StatusBody]:
    """The daemon and one line for each campaign."""
    return Call("status", m.StatusBody, m.Nothing())


def snapshot(campaign: str) -> Call[m.CampaignView]:
    """A campaign as it is now, to catch up with its events."""
    return Call("snapshot", m.CampaignView, m.Nothing(), campaign)


def config(campaign: str) -> Call[m.ConfigBody]:
    """The terms of a campaign as it runs."""
    return Call("config", m.ConfigBody, m.Nothing(), campaign)


def history(campaign: str, before: int | None = None, limit: int = 50) -> Call[m.HistoryPage]:
    """A page of a campaign's events, newest first."""
    return Call("history", m.HistoryPage, make(m.HistoryBody, {"before": before, "limit": limit}), campaign)


def trials(campaign: str, before: int | None = None, limit: int = 100) -> Call[m.TrialsPage]:
    """A page of a campaign's trials, newest first."""
    return Call("trials", m.TrialsPage, make(m.TrialsBody, {"before": before, "limit": limit}), campaign)


def champion(campaign: str) -> Call[m.ChampionBody]:
    """The best trial so far, and its duels."""
    return Call("champion", m.ChampionBody, m.Nothing(), campaign)


def recommendation(campaign: str) -> Call[m.Recommendation]:
    """The setting that the model believes best."""
    return Call("recommendation", m.Recommendation, m.Nothing(), campaign)


def explanation(campaign: str) -> Call[m.Explanation]:
    """Why this setting, what matters, what is left to gain."""
    return Call("explanation", m.Explanation, m.Nothing(), campaign)


def slices(campaign: str) -> Call[m.Slices]:
    """Posterior mean, credible band and P(valid) along each parameter."""
    return Call("slices", m.Slices, m.Nothing(), campaign)


def plan(campaign: str, setting: Mapping[str, Value] | None = None) -> Call[m.PlanView]:
    """The moves that would lead to a setting, or to the open proposal's."""
    fields = {"setting": None if setting is None else dict(setting)}
    return Call("plan", m.PlanView, make(m.PlanBody, fields), campaign)


def create(config: str) -> Call[m.EventsAfter]:
    """Create a campaign from the text of a configuration."""
    return Call("campaign.create", m.EventsAfter, make(m.CreateBody, {"config": config}))


def start(campaign: str) -> Call[m.EventsAfter]:
    """Begin tuning, or begin again after a stop."""
    return Call("campaign.start", m.EventsAfter, c.Start(), campaign)


def hold(campaign: str, reason: str = "") -> Call[m.EventsAfter]:
    """Pause: the part under way is finished, nothing more is sent."""
    return Call("campaign.hold", m.EventsAfter, make(c.Hold, {"reason": reason}), campaign)


def resume(campaign: str) -> Call[m.EventsAfter]:
    """Go on after a pause."""
    return Call("campaign.resume", m.EventsAfter, c.Resume(), campaign)


def stop(campaign: str, reason: str = "") -> Call[m.EventsAfter]:
    """Stop tuning: the part under way is finished, then the machine goes to its known-good setting."""
    return Call("campaign.stop", m.EventsAfter, make(c.Stop, {"reason": reason}), campaign)


def abort(campaign: str, reason: str = "") -> Call[m.EventsAfter]:
    """Let go of the machine at once."""
    return Call("campaign.abort", m.EventsAfter, make(c.Abort, {"reason": reason}), campaign)


def go_home(campaign: str) -> Call[m.EventsAfter]:
    """Bring the machine to its known-good setting."""
    return Call("campaign.home", m.EventsAfter, c.GoHome(), campaign)


def approve(campaign: str, trial: int) -> Call[m.EventsAfter]:
    """Allow the proposed setting to be sent."""
    return Call("proposal.approve", m.EventsAfter, make(c.Approve, {"trial": trial}), campaign)


def reject(campaign: str, trial: int, reason: str) -> Call[m.EventsAfter]:
    """Forbid the proposed setting."""
    return Call("proposal.reject", m.EventsAfter, make(c.Reject, {"trial": trial, "reason": reason}), campaign)


def tell_outcome(campaign: str, trial: int, valid: bool, reason: str = "") -> Call[m.EventsAfter]:
    """Say whether a trial made a part that can be judged."""
    fields = {"trial": trial, "valid": valid, "reason": reason}
    return Call("trial.outcome", m.EventsAfter, make(c.TellOutcome, fields), campaign)


def exclude(campaign: str, trial: int, reason: str) -> Call[m.EventsAfter]:
    """Leave a trial and everything said about it out of account."""
    return Call("trial.exclude", m.EventsAfter, make(c.Exclude, {"trial": trial, "reason": reason}), campaign)


def repeat(campaign: str, trial: int) -> Call[m.EventsAfter]:
    """Make a part again at the setting of an old trial."""
    return Call("trial.repeat", m.EventsAfter, make(c.Repeat, {"trial": trial}), campaign)


def judge(campaign: str, duel: int, winner: int, took_s: float | None = None) -> Call[m.EventsAfter]:
    """Say which part of a duel is better."""
    fields = {"duel": duel, "winner": winner, "took_s": took_s}
    return Call("judgment.give", m.EventsAfter, make(c.Judge, fields), campaign)


def tie(campaign: str, duel: int, took_s: float | None = None) -> Call[m.EventsAfter]:
    """Say that neither part of a duel can be told to be better."""
    return Call("judgment.tie", m.EventsAfter, make(c.Tie, {"duel": duel, "took_s": took_s}), campaign)


def retract(campaign: str, judgment: int, reason: str = "") -> Call[m.EventsAfter]:
    """Take a judgment back."""
    return Call("judgment.retract", m.EventsAfter, make(c.Retract, {"judgment": judgment, "reason": reason}), campaign)


def change_lot(campaign: str, lot: str) -> Call[m.EventsAfter]:
    """The material is another one from now on."""
    return Call("lot.change", m.EventsAfter, make(c.ChangeLot, {"lot": lot}), campaign)


def stop_daemon() -> Call[m.Accepted]:
    """Bring every machine home and end the daemon."""
    return Call("daemon.stop", m.Accepted, m.Nothing())
