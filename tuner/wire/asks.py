"""The methods of both clients, one for each operation: the blocking client returns answers, the other awaitables."""

from collections.abc import Callable, Coroutine
from inspect import Parameter, signature
from types import FunctionType, MethodType
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, cast, get_args, overload

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
    """Makes a function of `tuner.wire.calls` a method of a client, with the function's arguments and words."""

    def __init__(self, function: Callable[P, Call[A]]) -> None:
        self._function = function
        self._methods: dict[type, FunctionType] = {}

    @overload
    def __get__(self, client: None, owner: type) -> Callable[Concatenate[Any, P], Any]: ...
    @overload
    def __get__(self, client: Blocking, owner: type) -> Callable[P, A]: ...
    @overload
    def __get__(self, client: Awaiting, owner: type) -> Callable[P, Coroutine[Any, Any, A]]: ...
    def __get__(self, client: Any, owner: type) -> Any:
        method = self._methods.get(owner)
        if method is None:
            method = self._methods[owner] = self._method(owner)
        return method if client is None else MethodType(method, client)

    def _method(self, owner: type) -> FunctionType:
        function = self._function

        def ask(self: Any, *args: P.args, **kwargs: P.kwargs) -> Any:
            return self.call(function(*args, **kwargs))

        async def ask_awaited(self: Any, *args: P.args, **kwargs: P.kwargs) -> Any:
            return await self.call(function(*args, **kwargs))

        method = cast("FunctionType", ask_awaited if getattr(owner, "awaiting", False) else ask)
        method.__name__, method.__doc__, method.__module__ = function.__name__, function.__doc__, owner.__module__
        method.__qualname__ = f"{owner.__qualname__}.{function.__name__}"
        arguments = signature(function)
        (answer,) = get_args(arguments.return_annotation)
        itself = Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)
        shown = arguments.replace(parameters=[itself, *arguments.parameters.values()], return_annotation=answer)
        method.__signature__ = shown  # type: ignore[attr-defined]  # what inspect and help look for
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
