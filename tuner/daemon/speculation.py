"""Computes what comes next for every answer that may come, while people and machines work."""

import asyncio
import logging
from datetime import UTC, datetime

from tuner.campaign.effects import basis
from tuner.campaign.model_input import model_input
from tuner.campaign.speculate import futures
from tuner.campaign.state import State
from tuner.compute.backend import Backend, Job

_EVERYBODY = "operator"

log = logging.getLogger(__name__)


class Speculation:
    """One campaign's jobs that may be needed; those that cannot be any more are given up."""

    def __init__(self, compute: Backend) -> None:
        self._compute = compute
        self._jobs: dict[str, Job] = {}
        self._task: asyncio.Task[None] | None = None

    def update(self, state: State) -> None:
        """Begin anew with the present state."""
        if self._task is not None:
            self._task.cancel()
        self._task = asyncio.create_task(self._try(state))

    def clear(self) -> None:
        """Give up everything."""
        if self._task is not None:
            self._task.cancel()
            self._task = None
        for job in self._jobs.values():
            job.cancel()
        self._jobs = {}

    async def _try(self, state: State) -> None:
        try:
            await self._submit(state)
        except Exception:  # what is computed ahead is a convenience
            log.exception("nothing is computed ahead for the campaign %s", state.name)

    async def _submit(self, state: State) -> None:
        needed: set[str] = set()
        for future in futures(state, datetime.now(UTC), _likely(state)):
            key = basis(future)
            needed.add(key)
            if key not in self._jobs:
                self._jobs[key] = self._compute.submit("next_step", model_input(future), speculative=True)
                await asyncio.sleep(0)  # a large campaign's input takes a moment: let others run in between
        for key in self._jobs.keys() - needed:
            self._jobs.pop(key).cancel()


def _likely(state: State) -> tuple[str, ...]:
    """Who will answer: whoever did last, or anybody while nobody has."""
    return (state.active[-1].operator,) if state.active else (_EVERYBODY,)
