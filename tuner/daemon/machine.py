"""A machine as the daemon sees it: calls to its adapter's process, each with a deadline after which it is killed."""

import asyncio
import contextlib
import json
import multiprocessing
from collections.abc import Awaitable, Callable, Mapping
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from tuner.adapter import AdapterError, DeadlineError, Health, LinkError, Outcome, RefusedError, Value
from tuner.campaign.terms import Terms
from tuner.config.parameters import parameter_info
from tuner.daemon.host import serve

GRACE_S = 2.0  # an adapter that keeps its deadline answers by then
BACK_OFF_S = 0.5
LONGEST_BACK_OFF_S = 30.0

T = TypeVar("T")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class _Health(_Strict):
    ok: bool
    text: str
    interlocks: dict[str, bool]


class _Outcome(_Strict):
    valid: bool
    reason: str
    measurements: dict[str, float]
    photo: str | None


_SETTING: TypeAdapter[dict[str, Value]] = TypeAdapter(dict[str, Value], config=ConfigDict(strict=True))


class Machine:
    """Speaks with one adapter's process; starts it when it is needed and again after it died."""

    def __init__(self, terms: Terms, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self.terms = terms
        self._sleep = sleep
        self._process: ForkServerProcess | None = None
        self._pipe: Connection | None = None
        self._turn = asyncio.Lock()
        self._deaths = 0
        self.restarts = 0
        self.used = False

    async def health(self) -> Health:
        """Ask the machine how it is."""
        deadline_s = self.terms.adapter.deadlines.read_back_s
        answer = await self._call("health", _Health.model_validate, deadline_s)
        return Health(answer.ok, answer.text, answer.interlocks)

    async def read_back(self) -> dict[str, Value]:
        """Ask the machine which setting it has."""
        deadline_s = self.terms.adapter.deadlines.read_back_s
        return await self._call("read_back", _SETTING.validate_python, deadline_s)

    async def apply(self, setting: Mapping[str, Value]) -> None:
        """Send the machine a setting."""
        await self._call("apply", _nothing, self.terms.adapter.deadlines.apply_s, setting=dict(setting))

    async def go_to(self, setting: Mapping[str, Value]) -> None:
        """Send the machine home; it may have a special way."""
        await self._call("go_to", _nothing, self.terms.adapter.deadlines.apply_s, setting=dict(setting))

    async def run_trial(self, tag: str) -> Outcome:
        """Let the machine make a part."""
        answer = await self._call("run_trial", _Outcome.model_validate, self.terms.adapter.deadlines.trial_s, tag=tag)
        try:
            return Outcome(answer.valid, answer.reason, answer.measurements, answer.photo)
        except ValueError as error:
            raise LinkError(f"the adapter answered nonsense: {error}") from error

    async def close(self) -> None:
        """Let go of the machine in good order."""
        if self._process is not None:
            with contextlib.suppress(AdapterError):
                await self._call("close", _nothing, GRACE_S)
        self.kill()
        async with self._turn:
            self._drop()

    def kill(self) -> None:
        """Let go of the machine at once; a call under way fails."""
        if self._process is not None:
            self._process.kill()
        if not self._turn.locked():
            self._drop()

    def _drop(self) -> None:
        process, self._process = self._process, None
        pipe, self._pipe = self._pipe, None
        if pipe is not None:
            pipe.close()
        if process is not None:
            process.kill()

    async def _call(self, name: str, parse: Callable[[Any], T], deadline_s: float, **arguments: Any) -> T:
        """One call and its answer.

        Whoever waits may be cancelled; the call goes on until it is answered, because an answer that nobody waits for
        would be taken for the next one's.
        """
        value = await asyncio.shield(asyncio.create_task(self._in_turn(name, deadline_s, arguments)))
        try:
            return parse(value)
        except ValidationError as error:
            what = "; ".join(f"{'.'.join(map(str, d['loc']))}: {d['msg']}" for d in error.errors()[:3])
            raise LinkError(f"the adapter answered nonsense to {name}: {what}") from error

    async def _in_turn(self, name: str, deadline_s: float, arguments: dict[str, Any]) -> Any:
        """Calls of one machine never overlap."""
        async with self._turn:
            if self._process is None:
                await self._start()
            try:
                return await self._exchange(name, deadline_s, arguments)
            except (_LostError, DeadlineError):
                self._drop()
                raise

    async def _start(self) -> None:
        if self._deaths:
            await self._sleep(min(BACK_OFF_S * 2.0 ** (self._deaths - 1), LONGEST_BACK_OFF_S))
            self.restarts += 1
        context = multiprocessing.get_context("forkserver")
        ours, theirs = context.Pipe()
        parameters = tuple(parameter_info(parameter) for parameter in self.terms.parameters)
        settings = json.dumps(self.terms.adapter.settings)
        process = context.Process(
            target=serve, args=(theirs, self.terms.adapter.name, settings, parameters), daemon=True, name="adapter"
        )
        await asyncio.to_thread(process.start)
        self.used = True
        theirs.close()
        self._process, self._pipe = process, ours
        self._deaths += 1  # until it has shown that it lives
        try:
            await self._exchange("open", self.terms.adapter.deadlines.open_s, {})
        except BaseException:
            self._drop()
            raise
        self._deaths = 0

    async def _exchange(self, name: str, deadline_s: float, arguments: dict[str, Any]) -> Any:
        pipe = self._pipe
        if pipe is None:
            raise _LostError("the adapter's process was ended")
        message = {"call": name, "arguments": {**arguments, "deadline_s": deadline_s}}
        answered = asyncio.get_running_loop().create_future()
        loop = asyncio.get_running_loop()
        descriptor = pipe.fileno()
        loop.add_reader(descriptor, _receive, pipe, answered)
        try:
            pipe.send_bytes(json.dumps(message, allow_nan=False).encode())
            answer = json.loads(await asyncio.wait_for(answered, deadline_s + GRACE_S))
        except TimeoutError:
            self._deaths = max(self._deaths, 1)
            raise DeadlineError(f"{name} took longer than {deadline_s:g} s; the adapter was ended") from None
        except (OSError, EOFError):
            self._deaths += 1
            raise _LostError(f"the adapter's process ended during {name}") from None
        finally:
            loop.remove_reader(descriptor)
        if "error" in answer:
            raise (LinkError if answer["retry"] else RefusedError)(answer["error"])
        return answer["value"]


class _LostError(LinkError):
    """The process is gone: it cannot be asked again without a new start."""


def _receive(pipe: Connection, answered: "asyncio.Future[bytes]") -> None:
    if answered.done():
        return
    try:
        answered.set_result(pipe.recv_bytes())
    except (OSError, EOFError) as error:
        answered.set_exception(error)


def _nothing(value: Any) -> None:
    return None
