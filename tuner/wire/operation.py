"""What an operation of the wire is: a row of the table in `tuner.wire.operations`, and a method of both clients."""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from inspect import Parameter, cleandoc, signature
from types import FunctionType, MethodType
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, Self, TypeVar, cast, overload

from pydantic import BaseModel, ValidationError

from tuner.basics.vocabulary import Lane, Role, Status
from tuner.wire.errors import InvalidRequestError, sentence

P = ParamSpec("P")
A = TypeVar("A", bound=BaseModel)
M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Call(Generic[A]):
    """A request that is not sent yet, and the model of its answer."""

    op: str
    answer: type[A]
    body: BaseModel
    campaign: str | None = None


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


class Operation(Generic[P, A]):
    """A row of the table. In the table it makes a request; in a client's class it is the method that also asks.

    Attributes:
        name: On the wire.
        method: Its name in Python: of the clients' method, and of the daemon's handler.
        body: The model of the request's body.
        answer: The model of the reply's body.
        roles: Who may use it.
        lane: Urgent ones never wait for others; those for the model wait for a compute process.
        events: The types of the events that show that it was done.
        status: Of the reply, if it is not refused.
        about: One sentence.
        campaign: Whether the request must name a campaign.
        command: Whether it changes a campaign; such a request is journalled and done once, however often it is sent.
    """

    def __init__(
        self,
        function: Callable[Concatenate[Any, P], Mapping[str, object] | None],
        name: str,
        body: type[BaseModel],
        answer: type[A],
        roles: frozenset[Role],
        lane: Lane,
        events: tuple[str, ...],
        status: Status,
    ) -> None:
        self.name, self.method = name, function.__name__
        self.body, self.answer = body, answer
        self.roles, self.lane, self.events, self.status = roles, lane, events, status
        self.about = cleandoc(function.__doc__ or "").partition("\n")[0]
        whole = signature(function)
        self.signature = whole.replace(parameters=list(whole.parameters.values())[1:])  # without self
        self.campaign = "campaign" in self.signature.parameters
        self.command = bool(events)
        self._function = function
        self._table: type | None = None
        self._methods: dict[type, FunctionType] = {}

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Call[A]:
        """The request with these arguments."""
        added = self._function(None, *args, **kwargs)
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        fields = {**bound.arguments, **(added or {})}
        campaign = fields.pop("campaign", None)
        return Call(self.name, self.answer, make(self.body, fields), campaign)

    def __set_name__(self, owner: type, name: str) -> None:
        self._table = owner

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: Blocking, owner: type) -> Callable[P, A]: ...
    @overload
    def __get__(self, client: Awaiting, owner: type) -> Callable[P, Coroutine[Any, Any, A]]: ...
    def __get__(self, client: Any, owner: type) -> Any:
        if owner is self._table:
            return self
        method = self._methods.get(owner)
        if method is None:
            method = self._methods[owner] = self._method(owner)
        return method if client is None else MethodType(method, client)

    @property
    def words(self) -> str:
        """The sentence, and one for each argument, as `help` shows them."""
        arguments = [name for name in self.signature.parameters if name != "campaign"]
        if not arguments:
            return self.about
        described = {name: self.body.model_fields[name].description for name in arguments}
        if self.campaign:
            described = {"campaign": "its name", **described}
        lines = "\n".join(f"    {name}: {as_sentence(text)}" for name, text in described.items())
        return f"{self.about}\n\nArgs:\n{lines}\n"

    def _method(self, owner: type) -> FunctionType:
        row = self

        def ask(self: Any, *args: P.args, **kwargs: P.kwargs) -> Any:
            return self.call(row(*args, **kwargs))

        async def ask_awaited(self: Any, *args: P.args, **kwargs: P.kwargs) -> Any:
            return await self.call(row(*args, **kwargs))

        method = cast("FunctionType", ask_awaited if getattr(owner, "awaiting", False) else ask)
        method.__name__, method.__doc__, method.__module__ = self.method, self.words, owner.__module__
        method.__qualname__ = f"{owner.__qualname__}.{self.method}"
        arguments = [Parameter("self", Parameter.POSITIONAL_OR_KEYWORD), *self.signature.parameters.values()]
        shown = self.signature.replace(parameters=arguments, return_annotation=self.answer)
        method.__signature__ = shown  # type: ignore[attr-defined]  # what inspect and help look for
        return method


AnyOperation = Operation[..., Any]


def operation(
    name: str,
    body: type[BaseModel],
    answer: type[A],
    roles: frozenset[Role],
    *events: str,
    lane: Lane = Lane.ORDINARY,
    status: Status = Status.DONE,
) -> Callable[[Callable[Concatenate[Any, P], Mapping[str, object] | None]], Operation[P, A]]:
    """Make a row of a function: its arguments are the body's fields, its first sentence says what it does.

    What the function returns is added to the body.
    """
    return lambda function: Operation(function, name, body, answer, roles, lane, events, status)


def as_sentence(description: str | None) -> str:
    """A field's description with a capital and a full stop."""
    return f"{description[:1].upper()}{description[1:]}." if description else ""


def make(model: type[M], fields: Mapping[str, Any]) -> M:
    """Make a body; what is wrong with it becomes one sentence."""
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        raise InvalidRequestError(sentence(error)) from None
