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
from tuner.campaign.decide import Actor, Refusal, automatic, decide
from tuner.campaign.events import EVENT, ModelMemory
from tuner.campaign.evolve import Recorded, evolve, fold, parsed
from tuner.campaign.state import State
from tuner.campaign.terms import Terms

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
        events = list(decide(self.state, command, actor, self.now))
        types = []
        while events:
            for event in events:
                one = Recorded(len(self.recorded) + 1, self.now, actor.name, event)
                self.state = evolve("press-1", self.state, one)
                self.recorded.append(one)
                types.append(event.type)
            following = automatic(self.state, self.now)
            events = [] if following is None else [following]
        if not types:
            following = automatic(self.state, self.now)
            if following is not None:
                one = Recorded(len(self.recorded) + 1, self.now, "tuner", following)
                self.state = evolve("press-1", self.state, one)
                self.recorded.append(one)
                types.append(following.type)
        return types

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
        return self.tell(
            Propose(
                setting={"x": x, "n": n},
                source="model",
                kind="improve",
                champion=self.state.champion,
                reason="because",
                better=better,
                valid=0.9,
                distance=0.1,
                model=ModelMemory(asks=self.state.memory.asks + 1),
            )
        )

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
