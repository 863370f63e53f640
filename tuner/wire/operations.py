"""The table of operations: clients, the daemon's handlers, JSON Schema, docs/wire.md and the commands' help follow it.

A row is a function: its name is that of the clients' method and of the daemon's handler, its arguments are the fields
of the body, its sentence is the help. `python -m scripts.wire_tables` writes the table into docs/wire.md.
"""

from collections.abc import Mapping, Sequence

from tuner.basics.vocabulary import Lane, Role, Status
from tuner.campaign import earlier as before
from tuner.campaign import people as p
from tuner.core.optimizer.records import Memory
from tuner.core.space.values import Value
from tuner.wire import messages as m
from tuner.wire import people as who
from tuner.wire.messages import EventsAfter, Nothing
from tuner.wire.model_answers import Explanation, Maps, Recommendation, Slices
from tuner.wire.operation import AnyOperation, Call, Operation, operation

ANYONE = frozenset(Role)
ENGINEER = frozenset({Role.ENGINEER})
PEOPLE = ENGINEER | {Role.OPERATOR}
ALL_PEOPLE = PEOPLE | {Role.VIEWER}
WORKERS = PEOPLE | {Role.CONTROLLER}


class Operations:
    """Every operation: here it makes a request for `Client.call`, in the clients it is the method that asks."""

    @operation("hello", m.Hello, m.Welcome, ANYONE)
    def hello(self) -> Mapping[str, object]:
        """Agree on a version, learn one's role."""
        return {"versions": [m.VERSION]}

    @operation("ping", Nothing, m.Pong, ANYONE)
    def ping(self) -> None:
        """Is the daemon there?"""

    @operation("status", Nothing, m.StatusBody, ANYONE)
    def status(self) -> None:
        """The daemon and one line for each campaign."""

    @operation("snapshot", Nothing, m.CampaignView, ANYONE)
    def snapshot(self, campaign: str) -> None:
        """A campaign as it is now, to catch up with its events."""

    @operation("config", Nothing, m.ConfigBody, ANYONE)
    def config(self, campaign: str) -> None:
        """The terms of a campaign as it runs."""

    @operation("history", m.HistoryBody, m.HistoryPage, ANYONE)
    def history(self, campaign: str, before: int | None = None, limit: int = 50) -> None:
        """A page of a campaign's events, newest first."""

    @operation("trials", m.TrialsBody, m.TrialsPage, ANYONE)
    def trials(self, campaign: str, before: int | None = None, limit: int = 100) -> None:
        """A page of a campaign's trials, newest first."""

    @operation("alarms", m.AlarmsPage, m.AlarmsBody, ANYONE)
    def alarms(self, campaign: str, before: int | None = None, limit: int = 100) -> None:
        """A page of a campaign's alarms, newest first: when, why, whether it is over, who has acknowledged it."""

    @operation("champion", Nothing, m.ChampionBody, ANYONE)
    def champion(self, campaign: str) -> None:
        """The best trial so far, and its duels."""

    @operation("recommendation", Nothing, Recommendation, ANYONE, lane=Lane.MODEL)
    def recommendation(self, campaign: str) -> None:
        """The setting that the model believes best."""

    @operation("explanation", Nothing, Explanation, ANYONE, lane=Lane.MODEL)
    def explanation(self, campaign: str) -> None:
        """Why this setting, what matters, what is left to gain."""

    @operation("slices", Nothing, Slices, ANYONE, lane=Lane.MODEL)
    def slices(self, campaign: str) -> None:
        """Posterior mean, credible band and P(valid) along each parameter."""

    @operation("maps", Nothing, Maps, ANYONE, lane=Lane.MODEL)
    def maps(self, campaign: str) -> None:
        """Chance to win and P(valid) over the pairs of parameters that matter most."""

    @operation("plan", m.PlanBody, m.PlanView, ANYONE)
    def plan(self, campaign: str, setting: Mapping[str, Value] | None = None) -> None:
        """The moves that would lead to a setting, before it is approved."""

    @operation("campaign.create", m.CreateBody, EventsAfter, ENGINEER, "campaign_created")
    def create(self, config: str) -> None:
        """Create a campaign."""

    @operation("campaign.start", p.Start, EventsAfter, PEOPLE, "campaign_started")
    def start(self, campaign: str) -> None:
        """Begin tuning, or begin again after a stop."""

    @operation("campaign.hold", p.Hold, EventsAfter, WORKERS, "campaign_held", lane=Lane.URGENT)
    def hold(self, campaign: str, reason: str = "") -> None:
        """Pause: the part under way is finished, nothing more is sent."""

    @operation("campaign.resume", p.Resume, EventsAfter, PEOPLE, "campaign_resumed")
    def resume(self, campaign: str) -> None:
        """Go on after a pause."""

    @operation("campaign.stop", p.Stop, EventsAfter, WORKERS, "campaign_stopped", lane=Lane.URGENT)
    def stop(self, campaign: str, reason: str = "") -> None:
        """Stop tuning: the part under way is finished, then the machine goes to its known-good setting."""

    @operation("campaign.abort", p.Abort, EventsAfter, WORKERS, "campaign_aborted", lane=Lane.URGENT)
    def abort(self, campaign: str, reason: str = "") -> None:
        """Let go of the machine at once; it is sent nothing more, not even its known-good setting."""

    @operation("campaign.home", p.GoHome, EventsAfter, PEOPLE, "home_wanted", lane=Lane.URGENT)
    def go_home(self, campaign: str) -> None:
        """Bring the machine to its known-good setting; only while it is not tuning."""

    @operation("proposal.approve", p.Approve, EventsAfter, ENGINEER, "proposal_approved")
    def approve(self, campaign: str, trial: int) -> None:
        """Allow the proposed setting to be sent."""

    @operation("proposal.reject", p.Reject, EventsAfter, ENGINEER, "proposal_rejected")
    def reject(self, campaign: str, trial: int, reason: str) -> None:
        """Forbid the proposed setting; another one will be proposed."""

    @operation("trial.outcome", p.TellOutcome, EventsAfter, WORKERS, "outcome_told")
    def tell_outcome(self, campaign: str, trial: int, valid: bool, reason: str = "") -> None:
        """Say whether a trial made a part that can be judged; said again it corrects what was said before."""

    @operation("trial.exclude", p.Exclude, EventsAfter, PEOPLE, "trial_excluded")
    def exclude(self, campaign: str, trial: int, reason: str) -> None:
        """Leave a trial and everything said about it out of account."""

    @operation("trial.repeat", p.Repeat, EventsAfter, PEOPLE, "repeat_wanted")
    def repeat(self, campaign: str, trial: int) -> None:
        """Make a part again at the setting of an old trial."""

    @operation("judgment.give", p.Judge, EventsAfter, PEOPLE, "judgment_given")
    def judge(self, campaign: str, duel: int, winner: int, took_s: float | None = None, clearly: bool = False) -> None:
        """Say which part of a duel is better."""

    @operation("judgment.tie", p.Tie, EventsAfter, PEOPLE, "judgment_given")
    def tie(self, campaign: str, duel: int, took_s: float | None = None) -> None:
        """Say that neither part of a duel can be told to be better."""

    @operation("judgment.retract", p.Retract, EventsAfter, PEOPLE, "judgment_retracted")
    def retract(self, campaign: str, judgment: int, reason: str = "") -> None:
        """Take a judgment back."""

    @operation("change.confirm", p.ConfirmChange, EventsAfter, PEOPLE, "change_confirmed")
    def confirm_change(self, campaign: str, change: int) -> None:
        """Say that a change was made by hand as it was asked for."""

    @operation("lot.change", p.ChangeLot, EventsAfter, WORKERS, "lot_changed")
    def change_lot(self, campaign: str, lot: str) -> None:
        """The material is another one from now on."""

    @operation("campaign.import", before.ImportEarlier, EventsAfter, ENGINEER, "earlier_imported")
    def import_earlier(
        self,
        campaign: str,
        source: str,
        trials: Sequence[before.EarlierTrial],
        judgments: Sequence[before.EarlierJudgment] = (),
        discount: float = before.DISCOUNT,
        model: Memory | None = None,
        more: bool = False,
        after: int = 0,
    ) -> Mapping[str, object]:
        """Let the model know what an earlier campaign found."""
        return {"trials": tuple(trials), "judgments": tuple(judgments)}

    @operation("parameter.freeze", p.Freeze, EventsAfter, PEOPLE, "parameter_restricted")
    def freeze(self, campaign: str, parameter: str, value: Value, reason: str, until: str | None = None) -> None:
        """Keep a parameter at a value for a while: no setting is proposed that has another."""

    @operation("parameter.narrow", p.Narrow, EventsAfter, PEOPLE, "parameter_restricted")
    def narrow(
        self,
        campaign: str,
        parameter: str,
        reason: str,
        low: Value | None = None,
        high: Value | None = None,
        options: Sequence[str] = (),
        until: str | None = None,
    ) -> Mapping[str, object]:
        """Narrow a parameter for a while: no setting is proposed outside."""
        return {"options": tuple(options)}

    @operation("parameter.free", p.Free, EventsAfter, PEOPLE, "restriction_lifted")
    def free(self, campaign: str, parameter: str, reason: str = "") -> None:
        """Lift the restriction of a parameter."""

    @operation("alarm.acknowledge", p.Acknowledge, EventsAfter, PEOPLE, "alarm_acknowledged")
    def acknowledge(self, campaign: str, alarm: int) -> None:
        """Say that somebody has seen an alarm."""

    @operation("judgment.again", p.AskAgain, EventsAfter, PEOPLE, "look_wanted")
    def look_again(self, campaign: str, judgment: int) -> None:
        """Ask for the comparison of two parts again, because answers contradict each other."""

    @operation("people.list", Nothing, who.PeopleBody, ENGINEER)
    def list_people(self) -> None:
        """Who may sign in with PIN or badge."""

    @operation("people.add", who.NewPerson, who.PeopleBody, ENGINEER)
    def add_person(
        self, name: str, role: Role, language: str = "", pin: str | None = None, badge: str | None = None
    ) -> None:
        """Let a person sign in."""

    @operation("people.disable", who.DisableBody, who.PeopleBody, ENGINEER)
    def disable_person(self, name: str, disabled: bool = True) -> None:
        """Let a person sign in no more, and end what the person has open; or let sign in again."""

    @operation("people.pin", who.PinBody, who.PeopleBody, ENGINEER)
    def set_pin(self, name: str, pin: str) -> None:
        """Give a person another PIN."""

    @operation("people.badge", who.BadgeBody, who.PeopleBody, ENGINEER)
    def set_badge(self, name: str, badge: str | None = None) -> None:
        """Give a person another badge, or take it away."""

    @operation("session.open", who.OpenBody, who.Opened, ALL_PEOPLE)
    def open_session(self, name: str | None = None, pin: str | None = None, badge: str | None = None) -> None:
        """Sign in with name and PIN, or with a badge: later requests with the session are the person's."""

    @operation("session.close", Nothing, m.Accepted, ALL_PEOPLE)
    def close_session(self) -> None:
        """Sign out: the request's own session ends."""

    @operation("session.check", who.CheckBody, who.CheckedBody, ALL_PEOPLE)
    def check_sessions(self, sessions: Sequence[str]) -> None:
        """Whether sessions are still good; it does not count as using them."""

    @operation("session.list", Nothing, who.SessionsBody, ENGINEER)
    def list_sessions(self) -> None:
        """Who is signed in."""

    @operation("session.end", who.SessionBody, who.SessionsBody, ENGINEER)
    def end_session(self, number: int) -> None:
        """End somebody's session."""

    @operation("daemon.stop", Nothing, m.Accepted, ENGINEER, lane=Lane.URGENT, status=Status.ACCEPTED)
    def stop_daemon(self) -> None:
        """Bring every machine home and end the daemon."""


OPS: dict[str, AnyOperation] = {row.name: row for row in vars(Operations).values() if isinstance(row, Operation)}


def request_of(campaign: str, command: p.CommandBase) -> Call[EventsAfter]:
    """The request that has this command as its body."""
    row = next(row for row in OPS.values() if row.body is type(command))
    return Call(row.name, row.answer, command, campaign)
