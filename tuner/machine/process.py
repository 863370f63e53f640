"""A machine as the daemon sees it: calls to its adapter's process, each with a deadline after which it is killed."""

import asyncio
import contextlib
import json
import multiprocessing
import os
import struct
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from typing import Any, TypeVar

from pydantic import ValidationError

from tuner.adapter import AdapterError, DeadlineError, Health, LinkError, NotReadyError, Outcome, RefusedError, Value
from tuner.basics.sentences import say
from tuner.campaign.terms import AdapterTerms, Terms
from tuner.config.parameters import parameter_info
from tuner.machine.answers import SETTING_ANSWER, HealthAnswer, OutcomeAnswer, line, told
from tuner.machine.host import serve
from tuner.machine.turns import Turns

FRESH_S = 1.0  # what was read for somebody who only looks is told to others for so long
GRACE_S = 2.0  # an adapter that keeps its deadline answers by then
BACK_OFF_S = 0.5
LONGEST_BACK_OFF_S = 5.0  # a link that is back is noticed by then
MOST_BYTES = 1_000_000  # of an answer; an adapter's process keeps its own to much less

T = TypeVar("T")
_SIZE = struct.Struct("!i")  # before each message of a pipe


@dataclass(eq=False, slots=True)
class _Call:
    """A call to the adapter; `wanted` until whoever waits for it is cancelled or the machine is let go.

    A `patient` one lets every other one go first.
    """

    name: str
    deadline_s: float
    arguments: dict[str, Any]
    patient: bool = False
    wanted: bool = True


class Machine:
    """Speaks with one adapter's process; starts it when it is needed and again after it died."""

    def __init__(self, terms: Terms, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self.terms = terms
        self._begun_with = terms.adapter
        self._sleep = sleep
        self._process: ForkServerProcess | None = None
        self._pipe: Connection | None = None
        self._turns = Turns()
        self._reserved = False
        self._look: asyncio.Task[dict[str, Value]] | None = None
        self._looked_s = 0.0
        self._calls: set[_Call] = set()
        self._deaths = 0
        self._asked = 0
        self._rest_until_s = 0.0
        self.restarts = 0
        self.used = False

    @property
    def running(self) -> bool:
        """Whether the adapter's process is there."""
        return self._process is not None

    def use(self, terms: Terms) -> None:
        """Go by these terms from now on; other settings of the adapter come with its next call."""
        self.terms = terms

    async def health(self) -> Health:
        """Ask the machine how it is."""
        deadline_s = self.terms.adapter.deadlines.read_back_s
        answer = await self._call("health", HealthAnswer.model_validate, deadline_s)
        return Health(answer.ok, told(dict(answer), "text"), answer.interlocks)

    async def read_back(self) -> dict[str, Value]:
        """Ask the machine which setting it has."""
        deadline_s = self.terms.adapter.deadlines.read_back_s
        return await self._call("read_back", SETTING_ANSWER.validate_python, deadline_s)

    def reserve(self, reserved: bool) -> None:
        """From now on a move, a part or the way home is under way, and nobody else may look; or not any more."""
        self._reserved = reserved
        self._look = None  # what was read before a move is not fresh after it
        if reserved:
            self._turns.drop(_UnwantedError(say("adapter.given_up", call="read_back")))

    async def look(self) -> dict[str, Value]:
        """The setting for whoever only wants to know: one read for all who ask, and every other call goes first.

        Raises:
            InUseError: Now is not the time to look.
            AdapterError: The machine does not say.
        """
        if self._reserved:
            raise InUseError(say("machine.in_use"))
        look, clock = self._look, asyncio.get_running_loop().time
        if look is None or (
            look.done() and (look.cancelled() or look.exception() or clock() > self._looked_s + FRESH_S)
        ):
            look = self._look = asyncio.create_task(self._read_for_all())
            look.add_done_callback(_noticed)
        return dict(await asyncio.shield(look))

    async def _read_for_all(self) -> dict[str, Value]:
        try:
            deadline_s = self.terms.adapter.deadlines.read_back_s
            return await self._call("read_back", SETTING_ANSWER.validate_python, deadline_s, patient=True)
        except _UnwantedError as error:
            raise InUseError(say("machine.in_use")) from error
        finally:
            self._looked_s = asyncio.get_running_loop().time()

    async def apply(self, setting: Mapping[str, Value]) -> None:
        """Send the machine a setting."""
        await self._call("apply", _nothing, self.terms.adapter.deadlines.apply_s, setting=dict(setting))

    async def go_to(self, setting: Mapping[str, Value]) -> None:
        """Send the machine home; it may have a special way."""
        await self._call("go_to", _nothing, self.terms.adapter.deadlines.apply_s, setting=dict(setting))

    async def run_trial(self, tag: str) -> Outcome:
        """Let the machine make a part."""
        answer = await self._call(
            "run_trial", OutcomeAnswer.model_validate, self.terms.adapter.deadlines.trial_s, tag=tag
        )
        try:
            return Outcome(answer.valid, told(dict(answer), "reason"), answer.measurements, answer.photo)
        except ValueError as error:
            raise LinkError(say("adapter.nonsense", what=str(error))) from error

    async def close(self) -> None:
        """Let go of the machine in good order; a call under way has a little time to end."""
        if self._process is not None:
            with contextlib.suppress(AdapterError, TimeoutError):
                await asyncio.wait_for(self._call("close", _nothing, GRACE_S), 2 * GRACE_S)
        self.kill()
        async with self._turns.turn():
            self._drop()

    def kill(self) -> None:
        """Let go of the machine at once: a call under way fails, one that waits is never sent."""
        for call in self._calls:
            call.wanted = False
        if self._process is not None and self._process.is_alive():
            self._process.kill()
        if not self._turns.taken:
            self._drop()

    def _drop(self) -> None:
        process, self._process = self._process, None
        pipe, self._pipe = self._pipe, None
        if pipe is not None:
            pipe.close()
        if process is not None and process.is_alive():  # the number of one that is gone may be another's by now
            process.kill()

    async def _call(
        self, name: str, parse: Callable[[Any], T], deadline_s: float, *, patient: bool = False, **arguments: Any
    ) -> T:
        """One call and its answer.

        Whoever waits may be cancelled. A call that was sent goes on until it is answered, because an answer that nobody
        waits for would be taken for the next one's; a call that was not sent by then never is.
        """
        call = _Call(name, deadline_s, arguments, patient)
        self._calls.add(call)
        task = asyncio.create_task(self._in_turn(call))
        task.add_done_callback(_noticed)
        try:
            value = await asyncio.shield(task)
        except asyncio.CancelledError:
            call.wanted = False
            raise
        finally:
            self._calls.discard(call)
        try:
            return parse(value)
        except ValidationError as error:
            what = "; ".join(f"{'.'.join(map(str, d['loc']))}: {d['msg']}" for d in error.errors()[:3])
            raise LinkError(say("adapter.nonsense_to", call=name, what=line(what))) from error

    async def _in_turn(self, call: _Call) -> Any:
        """Calls of one machine never overlap."""
        async with self._turns.turn(patient=call.patient):
            _check_wanted(call)
            if self._process is None and call.name == "close":
                return None
            if self._process is not None and _differ(self._begun_with, self.terms.adapter) and call.name != "close":
                with contextlib.suppress(AdapterError):
                    await self._exchange(_Call("close", GRACE_S, {}))
                self._drop()
            if self._process is None:
                await self._start(call)
            _check_wanted(call)
            try:
                return await self._exchange(call)
            except (_LostError, DeadlineError):
                self._died()
                raise

    async def _start(self, call: _Call) -> None:
        """Start the adapter's process, some time after it died."""
        rest_s = self._rest_until_s - asyncio.get_running_loop().time()
        if self._deaths and rest_s > 0:
            await self._sleep(rest_s)
        _check_wanted(call)
        self.restarts += self.used
        self._begun_with = self.terms.adapter
        context = multiprocessing.get_context("forkserver")
        ours, theirs = context.Pipe()
        by_hand = self.terms.adapter.by_hand
        parameters = tuple(parameter_info(one) for one in self.terms.parameters if one.name not in by_hand)
        settings = json.dumps(self.terms.adapter.settings)
        process = context.Process(
            target=serve, args=(theirs, self.terms.adapter.name, settings, parameters), daemon=True, name="adapter"
        )
        try:
            await asyncio.to_thread(process.start)
        except (OSError, EOFError) as error:
            self._died()
            raise LinkError(say("adapter.not_started", why=str(error))) from error
        finally:
            theirs.close()
        self.used = True
        self._process, self._pipe = process, ours
        try:
            _check_wanted(call)
            await self._exchange(_Call("open", self.terms.adapter.deadlines.open_s, {}))
        except _UnwantedError:
            self._drop()
            raise
        except BaseException:
            self._died()
            raise
        self._deaths = 0

    def _died(self) -> None:
        """Forget the process; the next one is started after a while, longer each time that none has opened."""
        self._deaths += 1
        back_off_s = min(BACK_OFF_S * 2.0 ** min(self._deaths - 1, 16), LONGEST_BACK_OFF_S)
        self._rest_until_s = asyncio.get_running_loop().time() + back_off_s
        self._drop()

    async def _exchange(self, call: _Call) -> Any:
        pipe = self._pipe
        if pipe is None:
            raise _LostError(say("adapter.was_ended"))
        self._asked += 1
        arguments = {**call.arguments, "deadline_s": call.deadline_s}
        message = {"number": self._asked, "call": call.name, "arguments": arguments}
        loop = asyncio.get_running_loop()
        answered = loop.create_future()
        descriptor = pipe.fileno()
        loop.add_reader(descriptor, _Incoming(descriptor, answered))
        try:
            pipe.send_bytes(json.dumps(message, allow_nan=False).encode())
            answer = json.loads(await asyncio.wait_for(answered, call.deadline_s + GRACE_S))
            _check_number(answer, self._asked)
            if "error" in answer:
                error, retry = told(answer, "error"), bool(answer["retry"])
                if answer.get("not_ready"):
                    raise NotReadyError(error)
                raise LinkError(error) if retry else RefusedError(error)
            return answer["value"]
        except TimeoutError:
            raise DeadlineError(say("adapter.too_slow", call=call.name, seconds=call.deadline_s)) from None
        except (OSError, EOFError):
            raise _LostError(say("adapter.ended", call=call.name)) from None
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise _LostError(say("adapter.unreadable", call=call.name, why=str(error))) from error
        finally:
            loop.remove_reader(descriptor)


def _differ(one: AdapterTerms, other: AdapterTerms) -> bool:
    """Whether another adapter is needed; deadlines go with every call."""
    return (one.name, one.settings, one.by_hand) != (other.name, other.settings, other.by_hand)


class InUseError(LinkError):
    """The machine was not asked, because more important calls come first."""


class _LostError(LinkError):
    """The process is gone: it cannot be asked again without a new start."""


class _UnwantedError(LinkError):
    """The call was not sent, because nobody waits for it any more or the machine was let go."""


def _noticed(task: "asyncio.Task[Any]") -> None:
    """How a call ended is of no interest where nobody waits for it any more."""
    if not task.cancelled():
        task.exception()


def _check_wanted(call: _Call) -> None:
    if not call.wanted:
        raise _UnwantedError(say("adapter.given_up", call=call.name))


def _check_number(answer: Mapping[str, Any], asked: int) -> None:
    """Only an answer to what was asked last counts: one too many would be the next call's, and so on for ever."""
    if answer["number"] != asked:
        raise ValueError("it answers what was not asked")


class _Incoming:
    """An answer on its way, as `Connection.send_bytes` writes it: what has come is taken, nothing waits for the rest.

    `Connection.recv_bytes` would wait, and the whole daemon with it, for an adapter that stops in the middle.
    """

    def __init__(self, descriptor: int, answered: "asyncio.Future[bytes]") -> None:
        self._descriptor = descriptor
        self._answered = answered
        self._come = bytearray()

    def __call__(self) -> None:
        if self._answered.done():
            return
        try:
            self._take(os.read(self._descriptor, 65536))
        except (OSError, EOFError, ValueError) as error:
            self._answered.set_exception(error)

    def _take(self, piece: bytes) -> None:
        if not piece:
            raise EOFError
        self._come += piece
        if len(self._come) < _SIZE.size:
            return
        size = _SIZE.unpack_from(self._come)[0]
        if not 0 <= size <= MOST_BYTES:
            raise ValueError(f"an answer of {size} bytes")
        beyond = len(self._come) - _SIZE.size - size
        if beyond > 0:
            raise ValueError(f"{beyond} bytes that belong to no answer")
        if beyond == 0:
            self._answered.set_result(bytes(self._come[_SIZE.size :]))


def _nothing(value: Any) -> None:
    return None
