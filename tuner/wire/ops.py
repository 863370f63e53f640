"""The operations of the wire: for each its body, its answer, who may use it, and whether it needs a campaign."""

from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel

from tuner.campaign import commands as c
from tuner.wire import messages as m
from tuner.wire.messages import Role

ANYONE: frozenset[Role] = frozenset({"viewer", "operator", "engineer", "controller"})
PEOPLE: frozenset[Role] = frozenset({"operator", "engineer"})
WORKERS: frozenset[Role] = frozenset({"operator", "engineer", "controller"})
Lane = Literal["ordinary", "urgent", "model"]
ENGINEER: frozenset[Role] = frozenset({"engineer"})


@dataclass(frozen=True, slots=True)
class Op:
    """One operation.

    Attributes:
        body: The model of the request's body.
        answer: The model of the reply's body.
        roles: Who may use it.
        about: One sentence.
        campaign: Whether the request must name a campaign.
        command: Whether it changes something; such a request is journalled and done once, however often it is sent.
        lane: Urgent ones never wait for others; those for the model wait for a compute process.
    """

    body: type[BaseModel]
    answer: type[BaseModel]
    roles: frozenset[Role]
    about: str
    campaign: bool = True
    command: bool = False
    lane: Lane = "ordinary"


def _command(body: type[c.CommandBase], roles: frozenset[Role]) -> Op:
    about = (body.__doc__ or "").partition("\n")[0]
    return Op(body, m.EventsAfter, roles, about, command=True, lane="urgent" if body in c.URGENT else "ordinary")


def _of_model(answer: type[BaseModel], about: str) -> Op:
    return Op(m.Nothing, answer, ANYONE, about, lane="model")


OPS: dict[str, Op] = {
    "hello": Op(m.Hello, m.Welcome, ANYONE, "Agree on a version, learn one's role.", campaign=False),
    "ping": Op(m.Nothing, m.Pong, ANYONE, "Is the daemon there?", campaign=False),
    "status": Op(m.Nothing, m.StatusBody, ANYONE, "The daemon and one line for each campaign.", campaign=False),
    "snapshot": Op(m.Nothing, m.CampaignView, ANYONE, "A campaign as it is now, to catch up with its events."),
    "config": Op(m.Nothing, m.ConfigBody, ANYONE, "The terms of a campaign as it runs."),
    "history": Op(m.HistoryBody, m.HistoryPage, ANYONE, "A page of a campaign's events, newest first."),
    "trials": Op(m.TrialsBody, m.TrialsPage, ANYONE, "A page of a campaign's trials, newest first."),
    "champion": Op(m.Nothing, m.ChampionBody, ANYONE, "The best trial so far, and its duels."),
    "recommendation": _of_model(m.Recommendation, "The setting that the model believes best."),
    "explanation": _of_model(m.Explanation, "Why this setting, what matters, what is left to gain."),
    "slices": _of_model(m.Slices, "Posterior mean, credible band and P(valid) along each parameter."),
    "plan": Op(m.PlanBody, m.PlanView, ANYONE, "The moves that would lead to a setting, before it is approved."),
    "campaign.create": Op(m.CreateBody, m.EventsAfter, ENGINEER, "Create a campaign.", campaign=False, command=True),
    "campaign.start": _command(c.Start, PEOPLE),
    "campaign.hold": _command(c.Hold, WORKERS),
    "campaign.resume": _command(c.Resume, PEOPLE),
    "campaign.stop": _command(c.Stop, WORKERS),
    "campaign.abort": _command(c.Abort, WORKERS),
    "campaign.home": _command(c.GoHome, PEOPLE),
    "proposal.approve": _command(c.Approve, ENGINEER),
    "proposal.reject": _command(c.Reject, ENGINEER),
    "trial.outcome": _command(c.TellOutcome, WORKERS),
    "trial.exclude": _command(c.Exclude, PEOPLE),
    "trial.repeat": _command(c.Repeat, PEOPLE),
    "judgment.give": _command(c.Judge, PEOPLE),
    "judgment.tie": _command(c.Tie, PEOPLE),
    "judgment.retract": _command(c.Retract, PEOPLE),
    "lot.change": _command(c.ChangeLot, WORKERS),
    "daemon.stop": Op(
        m.Nothing,
        m.Accepted,
        ENGINEER,
        "Bring every machine home and end the daemon.",
        campaign=False,
        lane="urgent",
    ),
}
