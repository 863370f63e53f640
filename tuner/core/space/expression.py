"""Inequalities between parameters, such as `2*speed + pressure <= 140`: parsed without eval, evaluated on arrays.

Grammar (the precedence is Python's):

    constraint := sum (("<=" | ">=" | "<" | ">") sum)+        a chain `0 <= a <= b` means both
    sum        := product (("+" | "-") product)*
    product    := sign (("*" | "/") sign)*
    sign       := ("-" | "+") sign | power
    power      := atom ("**" sign)?
    atom       := number | name | function "(" sum ("," sum)* ")" | "(" sum ")"

An expression is kept as a flat program in postfix order, so evaluation never recurses.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

LENGTH_LIMIT = 500
DEPTH_LIMIT = 32

Array = NDArray[np.float64]

_TOKEN = re.compile(
    r"(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<symbol>\*\*|<=|>=|[-+*/(),<>])",
    re.ASCII,
)
_COMPARISONS = ("<=", ">=", "<", ">")
_UNARY: dict[str, Callable[[Array], Array]] = {
    "abs": np.abs,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "log": np.log,
    "sin": np.sin,
    "cos": np.cos,
    "negative": np.negative,
}
_BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "**": np.power,
    "min": np.minimum,
    "max": np.maximum,
}
FUNCTIONS = frozenset({"abs", "cos", "exp", "log", "max", "min", "sin", "sqrt"})


class ExpressionError(ValueError):
    """The text is not a constraint; `column` counts from 1."""

    def __init__(self, sentence: str, column: int) -> None:
        super().__init__(f"column {column}: {sentence}")
        self.sentence = sentence
        self.column = column


@dataclass(frozen=True, slots=True)
class Number:
    """Push a constant."""

    value: float


@dataclass(frozen=True, slots=True)
class Name:
    """Push a parameter's value."""

    name: str


@dataclass(frozen=True, slots=True)
class Operation:
    """Replace the top one or two values by a function of them."""

    function: str


Program = tuple[Number | Name | Operation, ...]


@dataclass(frozen=True, slots=True)
class Constraint:
    """A parsed inequality; equal texts are equal constraints."""

    text: str
    names: frozenset[str] = field(compare=False)
    sides: tuple[Program, ...] = field(compare=False, repr=False)
    comparisons: tuple[str, ...] = field(compare=False, repr=False)

    def margin(self, values: Mapping[str, ArrayLike]) -> Array:
        """How far inside the limit `values` are, elementwise: satisfied exactly where it is >= 0.

        Where any part of the expression is not a finite real number (division by zero, log of a negative number,
        overflow) the margin is minus infinity: what cannot be computed counts as violated.
        """
        with np.errstate(all="ignore"):
            sides = [_run(side, values) for side in self.sides]
            margins = []
            for left, right, comparison in zip(sides, sides[1:], self.comparisons, strict=False):
                difference = _finite(right - left if comparison in ("<=", "<") else left - right)
                # a strict comparison is not satisfied at equality: the largest number below 0 says so
                margins.append(difference if "=" in comparison else np.nextafter(difference, -np.inf))
            least = np.min(np.broadcast_arrays(*margins), axis=0)
        return np.where(np.isnan(least), -np.inf, least)

    def holds(self, values: Mapping[str, ArrayLike]) -> NDArray[np.bool_]:
        """Whether the constraint is satisfied, elementwise."""
        return np.asarray(self.margin(values) >= 0.0)


def parse_constraint(text: str) -> Constraint:
    """Read one inequality; an `ExpressionError` names the column and what was expected there."""
    if len(text) > LENGTH_LIMIT:
        raise ExpressionError(f"a constraint has at most {LENGTH_LIMIT} characters, this one has {len(text)}", 1)
    sides, comparisons, names = _Parser(text).constraint()
    return Constraint(text=text, names=frozenset(names), sides=sides, comparisons=comparisons)


def _run(program: Program, values: Mapping[str, ArrayLike]) -> Array:
    stack: list[Array] = []
    for step in program:
        if isinstance(step, Number):
            stack.append(np.asarray(step.value))
        elif isinstance(step, Name):
            stack.append(_finite(np.asarray(values[step.name], dtype=np.float64)))
        elif step.function in _UNARY:
            stack.append(_finite(_UNARY[step.function](stack.pop())))
        else:
            right, left = stack.pop(), stack.pop()
            result = _finite(_BINARY[step.function](left, right))
            # numpy, as C, says nan**0 == 1: what could not be computed must stay so
            stack.append(np.where(np.isnan(left) | np.isnan(right), np.nan, result))
    return stack.pop()


def _finite(value: Array) -> Array:
    return np.where(np.isfinite(value), value, np.nan)


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    column: int


def _tokens(text: str) -> list[_Token]:
    tokens = []
    position = 0
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        match = _TOKEN.match(text, position)
        if match is None:
            hint = {"=": "; write <= or >=", "^": "; a power is written **", "!": "; write <= or >="}.get(
                text[position]
            )
            raise ExpressionError(f"{text[position]!r} is not allowed here{hint or ''}", position + 1)
        tokens.append(_Token(match.lastgroup or "", match.group(), position + 1))
        position = match.end()
    return [*tokens, _Token("end", "", len(text) + 1)]


class _Parser:
    """Recursive descent; each method appends the steps of what it has read to `program`."""

    def __init__(self, text: str) -> None:
        self.tokens = _tokens(text)
        self.index = 0
        self.depth = 0
        self.program: list[Number | Name | Operation] = []
        self.names: set[str] = set()

    def constraint(self) -> tuple[tuple[Program, ...], tuple[str, ...], set[str]]:
        sides = [self.side()]
        comparisons = []
        while self.next.text in _COMPARISONS:
            comparisons.append(self.take().text)
            sides.append(self.side())
        if self.next.kind != "end" or not comparisons:
            self.fail("an operator" if comparisons else "an operator or a comparison (<=, >=, <, >)")
        if len({comparison[0] for comparison in comparisons}) > 1:
            raise ExpressionError("a chain of comparisons must point one way, as in 0 <= a <= b", 1)
        return tuple(sides), tuple(comparisons), self.names

    @property
    def next(self) -> _Token:
        return self.tokens[self.index]

    def take(self) -> _Token:
        token = self.next
        self.index += 1
        return token

    def fail(self, expected: str) -> NoReturn:
        found = f"{self.next.text!r}" if self.next.text else "the end"
        raise ExpressionError(f"expected {expected}, found {found}", self.next.column)

    def expect(self, symbol: str) -> None:
        if self.next.text != symbol:
            self.fail(f"{symbol!r}")
        self.take()

    def side(self) -> Program:
        self.program = []
        self.sum()
        return tuple(self.program)

    def sum(self) -> None:
        self.binary(self.product, ("+", "-"))

    def product(self) -> None:
        self.binary(self.sign, ("*", "/"))

    def binary(self, operand: Callable[[], None], operators: tuple[str, ...]) -> None:
        operand()
        while self.next.text in operators:
            operator = self.take().text
            operand()
            self.program.append(Operation(operator))

    def sign(self) -> None:
        self.depth += 1
        if self.depth > DEPTH_LIMIT:
            raise ExpressionError(f"nested more than {DEPTH_LIMIT} deep", self.next.column)
        if self.next.text in ("-", "+"):
            operator = self.take().text
            self.sign()
            if operator == "-":
                self.program.append(Operation("negative"))
        else:
            self.power()
        self.depth -= 1

    def power(self) -> None:
        self.atom()
        if self.next.text == "**":
            self.take()
            self.sign()
            self.program.append(Operation("**"))

    def atom(self) -> None:
        token = self.next
        if token.kind == "number":
            value = float(self.take().text)
            if not math.isfinite(value):
                raise ExpressionError(f"{token.text} is too large", token.column)
            self.program.append(Number(value))
        elif token.kind == "name":
            self.take()
            if self.next.text == "(":
                self.call(token)
            elif token.text in FUNCTIONS:
                self.fail(f"'(' after the function {token.text}")
            else:
                self.names.add(token.text)
                self.program.append(Name(token.text))
        elif token.text == "(":
            self.take()
            self.sum()
            self.expect(")")
        else:
            self.fail("a number, a parameter, a function or '('")

    def call(self, function: _Token) -> None:
        if function.text not in FUNCTIONS:
            known = ", ".join(sorted(FUNCTIONS))
            raise ExpressionError(f"{function.text!r} is not a function; there are {known}", function.column)
        self.expect("(")
        self.sum()
        if function.text in _UNARY:
            self.program.append(Operation(function.text))
        else:
            if self.next.text != ",":
                self.fail(f"',' ({function.text} takes two or more values)")
            while self.next.text == ",":
                self.take()
                self.sum()
                self.program.append(Operation(function.text))
        self.expect(")")
