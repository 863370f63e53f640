"""What the workers compute: pure functions from JSON to JSON, found by name.

Every payload has "space" (see `space_json`) and "state" (see `Optimizer.state`); "strategy" may override numbers of
`Strategy`, such as {"draws": 60}, and "within" restricts what is proposed (see `Optimizer.ask`). Equal payloads give
equal results, bit for bit, where BLAS has one thread.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, fields, replace
from typing import Any

from tuner.basics.sentences import to_json
from tuner.compute.backend import Json
from tuner.compute.fallback import fallback_proposal
from tuner.compute.maps import POINTS as MAP_POINTS
from tuner.compute.maps import maps as drawn_maps
from tuner.compute.maps import standing
from tuner.compute.slices import MASS, POINTS
from tuner.compute.slices import slices as cut_slices
from tuner.compute.spaces import space_from_json as space_from_json
from tuner.compute.spaces import space_json as space_json
from tuner.core.optimizer.contract import ContractHold
from tuner.core.optimizer.optimizer import Optimizer
from tuner.core.optimizer.questions import Question
from tuner.core.optimizer.records import FITS, Memory, Proposal
from tuner.core.optimizer.strategy import Strategy
from tuner.core.space.parameters import Choice, Continuous
from tuner.core.space.space import Space

Payload = Mapping[str, Json]


def optimizer_of(payload: Payload, space: Space | None = None) -> Optimizer:
    """Return the optimiser of a payload; it learns once, however many answers about its state are wanted."""
    numbers: dict[str, Any] = dict(payload.get("strategy", {}))
    if "near" in numbers:
        numbers["near"] = tuple(numbers["near"])
    # a campaign that never asked has fitted nothing
    state = {**payload["state"], "fits": {**dict.fromkeys(FITS), **payload["state"]["fits"]}}
    space = space or space_from_json(payload["space"])
    return Optimizer.from_state(space, state, strategy=Strategy(**numbers))


def next_step(payload: Payload) -> Json:
    """Return the next proposal or a question that is worth asking first, and what of the state only this changes.

    Where "ended" is true there is no proposal: the budget allows none. Result: {"proposal": a `Proposal` or null,
    "question": a `Question` or null, "model": a `Memory`}; where no setting keeps the scrap contract also "hold": why.
    """
    optimizer = optimizer_of(payload)
    try:
        step = optimizer.next_step(propose=not payload.get("ended"), within=payload.get("within"))
    except ContractHold as hold:
        return {**_step(None, optimizer.memory), "hold": to_json(str(hold))}
    return _step(step, optimizer.memory)


def _step(step: Question | Proposal | None, memory: Memory) -> Json:
    return {
        "proposal": step.to_json() if isinstance(step, Proposal) else None,
        "question": step.to_json() if isinstance(step, Question) else None,
        "model": memory.to_json(),
    }


def fallback(payload: Payload) -> Json:
    """Return a proposal at once, without the model; the result has the form of `next_step`, never with a question.

    The chances are null, and of the model only `asks` changes.
    """
    space = space_from_json(payload["space"])
    # without the constraints: to check again that every trial satisfies them takes longer than all the rest
    optimizer = optimizer_of(payload, Space(space.parameters))
    memory = Memory.from_json({one.name: payload["state"][one.name] for one in fields(Memory)})
    if payload.get("ended"):
        return _step(None, memory)
    proposal = fallback_proposal(optimizer, space.within(payload.get("within", {})), memory.asks)
    return _step(proposal, replace(memory, asks=memory.asks + 1))


def recommend(payload: Payload) -> Json:
    """Return the setting for the master recipe as a `Recommended`; null while there is no valid trial."""
    optimizer = optimizer_of(payload)
    return None if optimizer.learned().champion is None else optimizer.recommendation().to_json()


def explain(payload: Payload) -> Json:
    """Return what can be said about parameters, prospects and judges.

    Result: "importance" {name: share}; "outlook" {"left", "against", "next_better", "stop"}; "contradictions"
    [{"trials", "judgment"}], where `judgment` is the one worth asking again; "operators" [{"operator", "noise"}].
    """
    optimizer = optimizer_of(payload)
    return {
        "importance": optimizer.importance(),
        "outlook": asdict(optimizer.outlook()),
        "contradictions": [{"trials": trials, "judgment": judgment} for trials, judgment in optimizer.contradictions()],
        "operators": [{"operator": name, "noise": noise} for name, noise in optimizer.operators().items()],
    }


def slices(payload: Payload) -> Json:
    """Return what is believed along each parameter through the champion; "points" and "mass" may be given.

    Result: {"champion", "mass", "slices": see `tuner.compute.slices.slices`}.
    """
    known = optimizer_of(payload).learned()
    mass = payload.get("mass", MASS)
    cut = cut_slices(known, payload.get("points", POINTS), mass)
    return {"champion": known.champion_id, "mass": mass, "slices": cut}


def maps(payload: Payload) -> Json:
    """Return what is believed of the most important pairs of parameters; "points" may be given.

    Result: {"champion", "maps": see `tuner.compute.maps.maps`, "standing": [[trial, share of settings above it]]}.
    """
    optimizer = optimizer_of(payload)
    known = optimizer.learned()
    if known.champion is None:
        return {"champion": None, "maps": [], "standing": []}
    drawn = drawn_maps(known, optimizer.importance(), payload.get("points", MAP_POINTS))
    places = standing(known, [trial.number for trial in known.ledger.usable])
    return {"champion": known.champion_id, "maps": drawn, "standing": [list(one) for one in places.items()]}


def question(payload: Payload) -> Json:
    """Return the next duel worth asking as a `Question`, or null."""
    found = optimizer_of(payload).question()
    return None if found is None else found.to_json()


def ping(payload: Payload) -> Json:
    """Return the payload: the way to a worker and back, and nothing else."""
    return dict(payload)


TASKS: Mapping[str, Callable[[Payload], Any]] = {
    task.__name__: task for task in (next_step, fallback, recommend, explain, slices, maps, question, ping)
}


def warm_up() -> None:
    """Run every task once on a small campaign that has been fitted: imports and caches are then as they stay."""
    light: dict[str, Any] = {"draws": 20, "uniform": 20, "near": (10, 5)}
    space = Space([Continuous("x", 0.0, 1.0), Choice("c", ["a", "b"])], ["x <= 0.9"])
    optimizer = Optimizer(space, strategy=Strategy(**light))
    for place in range(6):
        trial = optimizer.add({"x": 0.1 + 0.12 * place, "c": "ab"[place % 2]})
        optimizer.tell_outcome(trial, place != 3)
        if trial not in (1, 4):
            optimizer.tell_judgment(trial, 1)
    optimizer.next_step()  # this fits; a fit in each of the tasks would take longer than all the rest
    payload = {"space": space_json(space), "state": optimizer.state(), "strategy": light, "points": 3}
    for task in TASKS.values():
        task(payload)
