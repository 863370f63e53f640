"""A campaign's history without its hours: what a journal has after so many trials, for measurements."""

from datetime import UTC, datetime, timedelta

import numpy as np

from tuner.campaign import commands as c
from tuner.campaign.decide import Actor
from tuner.campaign.state import State
from tuner.campaign.step import step
from tuner.campaign.terms import Terms
from tuner.config import parse_config
from tuner.core.optimizer.records import Proposal
from tuner.daemon.journal_thread import row_of
from tuner.journal.records import NewRow
from tuner.problems import get_problem

_ACTOR = Actor("bench", "engineer")


def history(name: str, config: str, known: int, *, stopped: bool = False, engine: str = "") -> list[NewRow]:
    """Events of a campaign that has judged so many trials; its settings are random, its answers exact.

    Args:
        name: The campaign.
        config: A configuration whose first campaign is a simulated Sasena machine.
        known: How many trials.
        stopped: Whether it was stopped then, with the machine at home.
        engine: What the proposals say has made them.
    """
    terms = Terms.of(parse_config(config, "bench").campaigns[0])
    problem = get_problem("sasena")
    rng = np.random.default_rng(0)
    state: State | None = None
    now = datetime(2026, 1, 1, tzinfo=UTC)
    rows: list[NewRow] = []

    def tell(command: c.Command) -> State:
        nonlocal state, now
        now += timedelta(seconds=1)
        for one, after in step(name, state, command, _ACTOR, now, seq=len(rows)):
            state = after
            rows.append(row_of(name, one))
        if state is None:
            raise ValueError("there is no campaign")
        return state

    tell(c.Create(terms=terms))
    campaign = tell(c.Start())
    while campaign.spent < known or campaign.trial is not None:
        if campaign.trial is None:
            point = rng.uniform(0.0, 5.0, 2)
            campaign = tell(_proposal(campaign, point, engine))
        trial = campaign.trials[-1]
        at = np.array([[float(trial.setting["x1"]), float(trial.setting["x2"])]])
        campaign = tell(c.SendSetting(trial=trial.number))
        campaign = tell(c.AnswerSetting(trial=trial.number, result="applied", read_back=dict(trial.setting)))
        campaign = tell(c.BeginTrial(trial=trial.number))
        valid = bool(problem.is_valid(at)[0])
        measured = {"objective": float(problem.evaluate(at)[0])} if valid else {}
        campaign = tell(
            c.MachineOutcome(trial=trial.number, valid=valid, reason="" if valid else "no part", measurements=measured)
        )
        if campaign.duel is not None:
            left, right = (campaign.trials[number - 1] for number in (campaign.duel.left, campaign.duel.right))
            best = min((left, right), key=lambda one: one.measurements["objective"])
            campaign = tell(c.Judge(duel=campaign.duel.number, winner=best.number))
    if stopped:
        campaign = tell(c.Stop())
        tell(c.AnswerHome(result="applied", read_back=campaign.terms.known_good))
    return rows


def _proposal(state: State, point: np.ndarray, engine: str) -> c.Propose:
    proposal = Proposal(
        number=len(state.trials) + 1,
        # as fine as the campaign sets it: another setting could not be told to the model
        setting={p.name: p.domain.snapped(float(at)) for p, at in zip(state.terms.parameters, point, strict=True)},
        opponent=state.champion,
        reason="a random setting for a measurement",
    )
    return c.Propose(proposal=proposal, source="model", model=state.memory, engine=engine)
