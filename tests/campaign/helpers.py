"""Helpers for tests of campaigns: terms, and a campaign that is driven by commands like the engine drives it."""

import json
from datetime import UTC, datetime, timedelta

from tuner.campaign.commands import (
    AnswerHome,
    AnswerSetting,
    BeginTrial,
    Create,
    Judge,
    MachineOutcome,
    Propose,
    SendSetting,
    Start,
)
from tuner.campaign.decide import Actor, Refusal
from tuner.campaign.events import EVENT
from tuner.campaign.evolve import Recorded, fold, parsed
from tuner.campaign.state import State
from tuner.campaign.step import step
from tuner.campaign.terms import Terms
from tuner.core.optimizer.records import Memory, Proposal

ENGINEER = Actor("ines", "engineer")
ANNA = Actor("anna", "operator")
BEN = Actor("ben", "operator")
BEGIN = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)


def terms(*, trials=10, scrap=None, policy=None, parameters=None, constraints=()) -> Terms:
    given = {
        "machine": "press",
        "seed": 1,
        "budget": {"trials": trials, "scrap": scrap},
        "policy": {"approval": False, "repeat_after": 0, **(policy or {})},
        "adapter": {"name": "simulated"},
        "parameters": parameters
        or [
            {"kind": "continuous", "name": "x", "low": 0.0, "high": 10.0, "start": 5.0, "unit": "mm"},
            {"kind": "integer", "name": "n", "low": 0, "high": 4, "start": 2},
        ],
        "constraints": constraints,
    }
    return Terms.model_validate_json(json.dumps(given))


def proposed(state: State | None, setting, *, p_better=0.5, leader=None) -> Propose:
    """As the model would propose it."""
    proposal = Proposal(
        number=len(state.trials) + 1 if state else 1,
        setting=setting,
        kind="improve",
        opponent=state.champion if state else None,
        reason="because",
        p_better=p_better,
        p_valid=0.9,
        distance=0.1,
    )
    memory = Memory(asks=state.memory.asks + 1 if state else 1, leader=leader)
    return Propose(proposal=proposal, source="model", model=memory)


class Driver:
    """One campaign, without journal or machine; time goes on by a second with every command."""

    def __init__(self, given: Terms | None = None) -> None:
        self.state: State | None = None
        self.now = BEGIN
        self.recorded: list[Recorded] = []
        self.tell(Create(terms=given or terms()), ENGINEER)

    def tell(self, command, actor=ENGINEER) -> list[str]:
        """Do a command and what follows from it; the types of the events."""
        self.now += timedelta(seconds=1)
        done = step("press-1", self.state, command, actor, self.now)
        self.recorded += [one for one, _ in done]
        self.state = done[-1][1] if done else self.state
        return [one.event.type for one, _ in done]

    def refused(self, command, actor=ENGINEER) -> Refusal:
        """The refusal of a command, which must have changed nothing."""
        before = self.state
        try:
            self.tell(command, actor)
        except Refusal as refusal:
            assert self.state is before
            return refusal
        raise AssertionError(f"{command} was not refused")

    def refold(self) -> State:
        """The state from the events as the journal has them."""
        rows = [
            parsed(one.seq, one.at.isoformat(), one.actor, EVENT.dump_json(one.event).decode()) for one in self.recorded
        ]
        return fold("press-1", rows)

    def propose(self, x=1.0, n=2, better=0.5):
        return self.tell(proposed(self.state, {"x": x, "n": n}, p_better=better))

    def send(self) -> None:
        """The open trial through the gate and begun."""
        number = self.state.trial.number
        self.tell(SendSetting(trial=number))
        self.tell(AnswerSetting(trial=number, result="applied", read_back=dict(self.state.trial.setting)))
        self.tell(BeginTrial(trial=number))

    def make(self, valid=True):
        """The open trial through the gate and the machine."""
        self.send()
        reason = "" if valid else "short shot"
        return self.tell(MachineOutcome(trial=self.state.trial.number, valid=valid, reason=reason))

    def judge(self, new_wins, actor=ANNA):
        duel = self.state.duel
        new, old = max(duel.pair), min(duel.pair)
        return self.tell(Judge(duel=duel.number, winner=new if new_wins else old), actor)

    def home(self, result="applied"):
        return self.tell(AnswerHome(result=result, read_back=self.state.terms.known_good))

    def begun(self) -> "Driver":
        """Started, and the known-good setting made."""
        self.tell(Start())
        self.make()
        return self
