"""Makes one part at the known-good setting, through the gate and as patiently as the daemon, and times each step."""

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

from tuner.adapter import AdapterError, Outcome
from tuner.basics.sentences import Sentence
from tuner.basics.text import shown
from tuner.campaign.terms import Terms
from tuner.errors import TryAgainError, TunerError
from tuner.gate.attended import Attended
from tuner.gate.gate import Gate
from tuner.gate.patience import Awaited, Patience, Wait
from tuner.machine.process import Machine

Say = Callable[[str], object]
T = TypeVar("T")


async def rehearse(terms: Terms, say: Say) -> Outcome:
    """Bring the machine to its known-good setting, make a part there, and tell what came of it.

    Raises:
        TryAgainError: The machine cannot now, or does not answer.
        TunerError: It would not work another time either.
    """
    machine = Machine(terms)
    rehearsal = _Rehearsal(terms, machine, say)
    try:
        await rehearsal.timed("connect and ask how it is", machine.health)
        await rehearsal.timed("read back", machine.read_back)
        await rehearsal.timed("known-good setting, sent and read back", rehearsal.send)
        tag = f"rehearse-{secrets.token_hex(2)}"
        outcome = await rehearsal.timed(f"part {tag}", lambda: machine.run_trial(tag))
        await rehearsal.timed("read back", machine.read_back)
    finally:
        await machine.close()
    if outcome.valid:
        numbers = ", ".join(f"{name} {shown(value)}" for name, value in outcome.measurements.items())
        say(f"a valid part{f': {numbers}' if numbers else ''}")
    else:
        say(f"no valid part: {outcome.reason}")
    return outcome


@dataclass
class _Rehearsal:
    terms: Terms
    machine: Machine
    say: Say
    gate: Gate = field(init=False)
    said: str = ""

    def __post_init__(self) -> None:
        by_hand = {name: self.terms.known_good[name] for name in self.terms.adapter.by_hand}
        link = Attended(self.machine, by_hand) if by_hand else self.machine
        self.gate = Gate(link, asyncio.sleep, self.moves, _waits=self.waits)

    def moves(self, text: str, _: float | None) -> None:
        """Tell how far the way is done."""
        self.say(f"  {text}")

    def waits(self, wait: Wait | None) -> None:
        """Tell once what is waited for."""
        if wait is not None and wait.text != self.said:
            self.said = wait.text
            self.say(f"  {wait.sentence}")

    async def send(self) -> None:
        """Go to the known-good setting; what the machine is not ready for is sent again."""
        patience = self._patience()
        while (answer := await self.gate.send(self.terms, self.terms.known_good)).result != "applied":
            if answer.awaited is None or not await self._again(patience, answer.awaited, answer.text):
                final = answer.result == "refused" and answer.awaited is None
                raise (TunerError if final else TryAgainError)(
                    f"the known-good setting was {answer.result}: {answer.text}"
                )

    async def timed(self, what: str, step: Callable[[], Awaitable[T]]) -> T:
        """Do a step, again while that helps, and tell how long it took."""
        began_s, patience = time.monotonic(), self._patience()
        while True:
            try:
                answer = await step()
                break
            except AdapterError as error:
                awaited = await self.gate.awaited(error)
                if awaited is None or not await self._again(patience, awaited, str(error)):
                    raise (TunerError if awaited is None else TryAgainError)(str(error)) from error
        self.say(f"  {1000 * (time.monotonic() - began_s):8.1f} ms  {what}")
        return answer

    def _patience(self) -> Patience:
        policy = self.terms.policy
        return Patience(policy.waiting, policy.retries, time.monotonic)

    async def _again(self, patience: Patience, awaited: Awaited, text: str) -> bool:
        wait = patience.failed(awaited, Sentence.of(text))
        self.waits(wait)
        if wait is not None:
            await asyncio.sleep(patience.pause_s(wait))
        return wait is not None
