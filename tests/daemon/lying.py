"""A machine that drops moves and lies about its setting, and that knows itself whether a limit was ever broken.

It tells two kinds of lies only when it may: the confirmation, parameter for parameter, of a move that it did not take,
which nobody could tell from the truth; and (`steady`) the same lie twice running, which must be believed of a machine
that somebody may have moved by hand.
"""

import math
import random

from tuner.adapter import Health, LinkError, RefusedError
from tuner.campaign.terms import Terms
from tuner.gate.plan import checked, differences

TAKES = ("take", "drop", "some", "fail", "late", "refuse")
SAYS = ("truth", "stale", "false", "near", "swapped", "asked", "nan", "missing", "nothing", "gone")


class LyingMachine:
    """Does and says what its words tell it to; where they end it is honest.

    Args:
        terms: Its limits.
        clock: Monotonic.
        rng: For the values of lies.
        takes: What becomes of each command.
        says: What is answered to each question.
        steady: Whether it may tell the same lie twice running.
    """

    def __init__(self, terms: Terms, clock, rng: random.Random, *, takes=(), says=(), steady=True) -> None:
        self.terms = terms
        self.held = dict(terms.known_good)
        self.before = dict(self.held)
        self.told: dict = {}
        self.received = 0
        self.taken = 0
        self.lies = 0
        self._clock, self._rng, self._steady = clock, rng, steady
        self._takes, self._says = iter(takes), iter(says)
        self._said: dict = {}
        self._since_s = clock()

    async def health(self) -> Health:
        return Health(ok=True)

    async def apply(self, setting) -> None:
        self.received += 1
        self.told = dict(setting)
        word = next(self._takes, "take")
        if word in ("take", "late"):
            self._take(setting)
        elif word == "some":
            names = [name for name in setting if self._rng.random() < 0.5]
            self._take({**self.held, **{name: setting[name] for name in names}}, whole=False)
        if word in ("fail", "late"):
            raise LinkError("the link dropped out")
        if word == "refuse":
            raise RefusedError("no")

    go_to = apply

    def by_hand(self, setting) -> None:
        """Somebody turns the knobs: no limit is ours then."""
        self.held, self.before, self._since_s = dict(setting), dict(self.held), self._clock()

    def _take(self, setting, *, whole=True) -> None:
        """What arrives is checked against what the machine really had, and since when."""
        now_s = self._clock()
        if whole:
            checked(self.terms, self._on_grid(setting))
        for parameter in self.terms.parameters:
            new, old = setting[parameter.name], self.held[parameter.name]
            if parameter.kind == "choice":
                assert new in parameter.choices
                continue
            # nobody knows better than the tolerance of the read-back what the machine has
            slack = parameter.read_back_tolerance + 1e-9 * (parameter.high - parameter.low)
            assert math.isfinite(new)
            assert parameter.low <= new <= parameter.high
            if parameter.step_limit is not None:
                assert abs(new - old) <= parameter.step_limit + slack, f"{parameter.name}: from {old} to {new}"
            if parameter.rate_limit is not None:
                allowed = parameter.rate_limit * (now_s - self._since_s) / 60
                assert abs(new - old) <= allowed + slack, f"{parameter.name}: from {old} to {new} in too short a time"
        self.taken += 1
        self.before, self.held, self._since_s = self.held, dict(setting), now_s

    def _on_grid(self, setting) -> dict:
        """Values that people have set need not be on the grid, and are sent again as they are."""
        grid = {p.name for p in self.terms.parameters if p.kind == "stepped"}
        return {n: self.terms.known_good[n] if n in grid and v == self.held[n] else v for n, v in setting.items()}

    async def read_back(self) -> dict:
        word = next(self._says, "truth")
        said = getattr(self, f"_{word}", self._truth)()
        if word == "gone":
            raise LinkError("no answer")
        if said != self.held and (self._confirms(said) or (not self._steady and said == self._said)):
            said = dict(self.held)
        self.lies += said != self.held
        self._said = said
        return said

    def _confirms(self, said) -> bool:
        """Whether this is what a machine would say that had taken what this one has not."""
        known = set(said) == set(self.held) and self.told != self.held
        return known and not differences(self.terms, {**self.held, **self.told}, said)

    def _truth(self) -> dict:
        return dict(self.held)

    def _stale(self) -> dict:
        return dict(self.before)

    def _false(self) -> dict:
        parameter = self._rng.choice(self.terms.parameters)
        if parameter.kind == "choice":
            return {**self.held, parameter.name: self._rng.choice(parameter.choices)}
        value = self._rng.uniform(parameter.low, parameter.high)
        return {**self.held, parameter.name: round(value) if parameter.kind == "integer" else value}

    def _near(self) -> dict:
        """Between what it has and what it was told: as if it were on its way."""
        said = dict(self.held)
        for parameter in self.terms.parameters:
            if parameter.kind != "choice" and self.told:
                value = said[parameter.name]
                value += self._rng.random() * (self.told[parameter.name] - value)
                said[parameter.name] = round(value) if parameter.kind == "integer" else value
        return said

    def _swapped(self) -> dict:
        one, other = self._rng.sample([p.name for p in self.terms.parameters if p.kind != "choice"], 2)
        return {**self.held, one: self.held[other], other: self.held[one]}

    def _asked(self) -> dict:
        """One parameter as it was told, whether it was taken or not."""
        name = self._rng.choice(self.terms.parameters).name
        return {**self.held, name: self.told.get(name, self.held[name])}

    def _nan(self) -> dict:
        return {**self.held, self._rng.choice(self.terms.parameters).name: math.nan}

    def _missing(self) -> dict:
        return dict(list(self.held.items())[1:])

    def _nothing(self) -> dict:
        return {}
