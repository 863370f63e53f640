"""The methods of both clients, one for each operation: the blocking client returns answers, the other awaitables."""

from collections.abc import Awaitable, Callable
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, overload

from pydantic import BaseModel

from tuner.wire import calls
from tuner.wire.calls import Call

P = ParamSpec("P")
A = TypeVar("A", bound=BaseModel)


class Blocking(Protocol):
    """A client whose `call` returns the answer."""

    blocking: bool

    def call(self, call: Call[A]) -> A:
        """Ask."""


class Awaiting(Protocol):
    """A client whose `call` is awaited."""

    awaiting: bool

    async def call(self, call: Call[A]) -> A:
        """Ask."""


class Ask(Generic[P, A]):
    """Makes a function of `tuner.wire.calls` a method of a client."""

    def __init__(self, function: Callable[P, Call[A]]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    @overload
    def __get__(self, client: Blocking, owner: Any) -> Callable[P, A]: ...
    @overload
    def __get__(self, client: Awaiting, owner: Any) -> Callable[P, Awaitable[A]]: ...
    def __get__(self, client: Any, owner: Any) -> Any:
        if client is None:
            return self

        def method(*args: P.args, **kwargs: P.kwargs) -> Any:
            return client.call(self._function(*args, **kwargs))

        method.__doc__ = self.__doc__
        return method


class Asks:
    """Every operation by name, with the arguments of the function of the same name in `tuner.wire.calls`."""

    hello = Ask(calls.hello)
    ping = Ask(calls.ping)
    status = Ask(calls.status)
    snapshot = Ask(calls.snapshot)
    config = Ask(calls.config)
    history = Ask(calls.history)
    trials = Ask(calls.trials)
    champion = Ask(calls.champion)
    recommendation = Ask(calls.recommendation)
    explanation = Ask(calls.explanation)
    slices = Ask(calls.slices)
    plan = Ask(calls.plan)
    create = Ask(calls.create)
    start = Ask(calls.start)
    hold = Ask(calls.hold)
    resume = Ask(calls.resume)
    stop = Ask(calls.stop)
    abort = Ask(calls.abort)
    go_home = Ask(calls.go_home)
    approve = Ask(calls.approve)
    reject = Ask(calls.reject)
    tell_outcome = Ask(calls.tell_outcome)
    exclude = Ask(calls.exclude)
    repeat = Ask(calls.repeat)
    judge = Ask(calls.judge)
    tie = Ask(calls.tie)
    retract = Ask(calls.retract)
    change_lot = Ask(calls.change_lot)
    stop_daemon = Ask(calls.stop_daemon)
