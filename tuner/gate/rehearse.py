"""Makes one part at the known-good setting, through the gate as the daemon does, and times each step."""

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from tuner.adapter import AdapterError, Outcome
from tuner.basics.sentences import Sentence
from tuner.basics.text import shown
from tuner.campaign.terms import Terms
from tuner.errors import TryAgainError, TunerError
from tuner.gate.gate import Gate
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
    try:
        health = await _timed("connect and ask how it is", machine.health(), say)
        if not health.ok:
            raise TryAgainError(f"the machine is not ready: {health.text or 'it does not say why'}")
        await _timed("read back", machine.read_back(), say)

        def told(text: Sentence, _: float | None) -> None:
            say(f"  {text}")

        gate = Gate(machine, asyncio.sleep, told)
        answer = await _timed("known-good setting, sent and read back", gate.send(terms, terms.known_good), say)
        if answer.result != "applied":
            raise (TunerError if answer.result == "refused" else TryAgainError)(
                f"the known-good setting was {answer.result}: {answer.text}"
            )
        tag = f"rehearse-{secrets.token_hex(2)}"
        outcome = await _timed(f"part {tag}", machine.run_trial(tag), say)
        await _timed("read back", machine.read_back(), say)
    except AdapterError as error:
        raise (TryAgainError if error.retry else TunerError)(str(error)) from error
    finally:
        await machine.close()
    if outcome.valid:
        numbers = ", ".join(f"{name} {shown(value)}" for name, value in outcome.measurements.items())
        say(f"a valid part{f': {numbers}' if numbers else ''}")
    else:
        say(f"no valid part: {outcome.reason}")
    return outcome


async def _timed(what: str, step: Awaitable[T], say: Say) -> T:
    began_s = time.monotonic()
    answer = await step
    say(f"  {1000 * (time.monotonic() - began_s):8.1f} ms  {what}")
    return answer
