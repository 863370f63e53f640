"""What the workers compute: pure functions from JSON to JSON, found by name.

Every payload has "space" (see `space_json`) and "state" (see `Optimizer.state`); "strategy" may override numbers of
`Strategy`, such as {"draws": 60}. Equal payloads give equal results, bit for bit, where BLAS has one thread.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from tuner.compute.backend import Json
from tuner.compute.fallback import fallback_proposal
from tuner.compute.slices import MASS, POINTS
from tuner.compute.slices import slices as cut_slices
from tuner.compute.spaces import space_from_json, space_json
from tuner.core.optimizer.learner import Once
from tuner.core.optimizer.optimizer import FITS, Optimizer
from tuner.core.optimizer.strategy import Strategy
from tuner.core.space.parameters import Choice, Continuous
from tuner.core.space.space import Space

__all__ = [
    "TASKS",
    "explain",
    "fallback",
    "ping",
    "propose",
    "question",
    "recommend",
    "slices",
    "space_from_json",
    "space_json",
    "warm_up",
]

Payload = Mapping[str, Json]

MODEL = ("asks", "leader", "doubted", "fits")


def _optimizer(payload: Payload, space: Space | None = None) -> Optimizer:
    numbers: dict[str, Any] = dict(payload.get("strategy", {}))
    if "near" in numbers:
        numbers["near"] = tuple(numbers["near"])
    # a campaign that never asked has fitted nothing
    state = {**payload["state"], "fits": {**dict.fromkeys(FITS), **payload["state"]["fits"]}}
    space = space or space_from_json(payload["space"])
    return Optimizer.from_state(space, state, strategy=Strategy(**numbers), learner=Once())


def propose(payload: Payload) -> Json:
    """Return the next proposal, and what of the state only asking changes.

    Result: {"proposal": the fields of `Proposal`, "model": {"asks", "leader", "doubted", "fits"}}.
    """
    optimizer = _optimizer(payload)
    proposal = optimizer.ask()
    state = optimizer.state()
    return {"proposal": asdict(proposal), "model": {name: state[name] for name in MODEL}}


def fallback(payload: Payload) -> Json:
    """Return a proposal at once, without the model; the result has the form of `propose`.

    `better` and `valid` are null, and of the model only `asks` changes.
    """
    space = space_from_json(payload["space"])
    # without the constraints: to check again that every trial satisfies them takes longer than all the rest
    optimizer = _optimizer(payload, Space(space.parameters))
    asks = payload["state"]["asks"]
    model = {name: payload["state"][name] for name in MODEL}
    return {"proposal": fallback_proposal(optimizer, space, asks), "model": {**model, "asks": asks + 1}}


def recommend(payload: Payload) -> Json:
    """Return the setting believed best, with its probabilities; null while there is no valid trial.

    Result: {"setting", "champion_id", "better", "valid"}; `better` is one half if it is the champion's own.
    """
    optimizer = _optimizer(payload)
    known = optimizer.learned()
    if known.champion is None:
        return None
    setting = optimizer.recommend()
    row = optimizer.space.encode(setting)[None]
    return {
        "setting": setting,
        "champion_id": known.champion_id,
        "better": float(known.model.win_probability(row, known.champion)[0]),
        "valid": float(known.valid_probability(row)[0]),
    }


def explain(payload: Payload) -> Json:
    """Return what can be said about parameters, prospects and judges.

    Result: "importance" {name: share}; "outlook" {"left", "against", "next_better", "stop"}; "contradictions"
    [{"trials", "judgment"}], where `judgment` is the one worth asking again; "operators" [{"operator", "noise"}].
    """
    optimizer = _optimizer(payload)
    return {
        "importance": optimizer.importance(),
        "outlook": asdict(optimizer.outlook()),
        "contradictions": [{"trials": trials, "judgment": judgment} for trials, judgment in optimizer.contradictions()],
        "operators": [{"operator": name, "noise": noise} for name, noise in optimizer.operators().items()],
    }


def slices(payload: Payload) -> Json:
    """Return what is believed along each parameter through the champion; "points" and "mass" may be given.

    Result: {"champion_id", "mass", "slices": see `tuner.compute.slices.slices`}.
    """
    known = _optimizer(payload).learned()
    mass = payload.get("mass", MASS)
    cut = cut_slices(known, payload.get("points", POINTS), mass)
    return {"champion_id": known.champion_id, "mass": mass, "slices": cut}


def question(payload: Payload) -> Json:
    """Return the next duel worth asking, {"a_id", "b_id", "repeat"}, or null."""
    found = _optimizer(payload).question()
    return None if found is None else asdict(found)


def ping(payload: Payload) -> Json:
    """Return the payload: the way to a worker and back, and nothing else."""
    return dict(payload)


TASKS: Mapping[str, Callable[[Payload], Any]] = {
    task.__name__: task for task in (propose, fallback, recommend, explain, slices, question, ping)
}


def warm_up() -> None:
    """Run every task once on a small campaign: imports and caches are then as they stay."""
    space = Space([Continuous("x", 0.0, 1.0), Choice("c", ["a", "b"])], ["x <= 0.9"])
    optimizer = Optimizer(space)
    for place in range(6):
        trial = optimizer.add({"x": 0.1 + 0.12 * place, "c": "ab"[place % 2]})
        optimizer.tell_outcome(trial, place != 3)
        if trial not in (1, 4):
            optimizer.tell_judgment(trial, 1)
    light = {"draws": 20, "uniform": 20, "near": [10, 5]}
    payload = {"space": space_json(space), "state": optimizer.state(), "strategy": light, "points": 3}
    for task in TASKS.values():
        task(payload)
