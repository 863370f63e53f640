"""Questions that only the model can answer: equal ones are asked once, and nobody may have many open."""

import asyncio
from collections import Counter, OrderedDict
from typing import Any

from pydantic import BaseModel

from tuner.basics.sentences import say
from tuner.campaign.decide import Refusal
from tuner.campaign.model_input import model_input, operator_names
from tuner.campaign.state import State
from tuner.compute.backend import Backend, ComputeError
from tuner.core.optimizer.records import Recommended
from tuner.core.space.restriction import outside
from tuner.daemon.views import trial_view
from tuner.wire.model_answers import Explanation, Maps, Recommendation, Slices, WindowView

COMPUTE_DEADLINE_S = 60.0
MOST_ASKED = 4  # different questions that one key has begun and that are not answered yet
MOST_OPEN = 12  # of all keys
KEPT = 64  # answers

_TASKS = {"recommendation": "recommend", "explanation": "explain", "slices": "slices", "maps": "maps"}
_Question = tuple[str, str, int]  # operation, campaign, number of its last event: the answer depends on nothing else


class ModelQuestions:
    """Answers that are known, and those that are being computed."""

    def __init__(self, compute: Backend) -> None:
        self._compute = compute
        self._asked: Counter[str] = Counter()
        self._open: dict[_Question, asyncio.Task[BaseModel]] = {}
        self._known: OrderedDict[_Question, BaseModel] = OrderedDict()

    async def ask(self, op: str, state: State, key: str) -> BaseModel:
        """The answer, sooner or later.

        Raises:
            Refusal: There is none now, or the key has too many questions open.
        """
        question = (op, state.name, state.seq)
        if question in self._known:
            self._known.move_to_end(question)
            return self._known[question]
        task = self._open.get(question)
        if task is None:
            if self._asked[key] >= MOST_ASKED or len(self._open) >= MOST_OPEN:
                raise Refusal("busy", say("daemon.model_busy"))
            self._asked[key] += 1
            task = self._open[question] = asyncio.create_task(self._compute_answer(question, state, key))
            task.add_done_callback(_seen)
        return await asyncio.shield(task)  # whoever goes away leaves the others their answer

    async def _compute_answer(self, question: _Question, state: State, key: str) -> BaseModel:
        op = question[0]
        try:
            job = self._compute.submit(_TASKS[op], model_input(state))
            try:
                answer = _view(op, state, await job.result(COMPUTE_DEADLINE_S))
            finally:
                job.cancel()
        except ComputeError as error:
            raise Refusal("not_ready", say("daemon.model_not_ready", why=str(error))) from error
        finally:
            del self._open[question]
            self._asked[key] -= 1
            if not self._asked[key]:
                del self._asked[key]
        self._known[question] = answer
        while len(self._known) > KEPT:
            self._known.popitem(last=False)
        return answer


def _seen(task: "asyncio.Task[BaseModel]") -> None:
    """All who asked may have gone: then nobody else looks at what went wrong."""
    if not task.cancelled():
        task.exception()


def _view(op: str, state: State, found: Any) -> BaseModel:
    if op == "recommendation":
        return _recommendation(state, found)
    if op == "slices":
        return Slices(champion=found["champion"], mass=found["mass"], slices=found["slices"])
    if op == "maps":
        return Maps(champion=found["champion"], maps=found["maps"], standing=dict(found["standing"]))
    names = operator_names(state)
    return Explanation(
        trial=trial_view(state.trials[-1]) if state.trials else None,
        importance=found["importance"],
        outlook=found["outlook"],
        contradictions=[_circle(state, one["trials"], one["judgment"]) for one in found["contradictions"]],
        operators={names[int(one["operator"].split()[-1]) - 1]: one["noise"] for one in found["operators"]},
    )


def _circle(state: State, trials: list[int], place: int) -> dict[str, Any]:
    """Answers that go in a circle, by numbers and by the parts' tags, and the judgment that is worth asking again."""
    judgment = state.active[place - 1]
    tags, pair = ([state.trials[n - 1].tag for n in some] for some in (trials, (judgment.left, judgment.right)))
    return {"trials": trials, "judgment": judgment.number, "tags": tags, "pair": pair}


def _recommendation(state: State, found: dict[str, Any] | None) -> Recommendation:
    if found is None:
        return Recommendation(setting=None, champion=None, same_as_champion=False, p_better=None, p_valid=None)
    best = Recommended.from_json(found)
    champion = state.trials[best.champion - 1]
    return Recommendation(
        setting=best.setting,
        champion=trial_view(champion),
        same_as_champion=best.setting == champion.setting,
        p_better=best.p_better,
        p_valid=best.p_valid,
        keep=best.keep,
        better_than_known_good=best.better_than_known_good,
        parts=best.parts,
        won=best.won,
        lost=best.lost,
        tied=best.tied,
        window=[WindowView(**one.to_json()) for one in best.window],
        window_valid=best.window_valid,
        window_better=best.window_better,
        outside=outside(state.within, best.setting),
    )
