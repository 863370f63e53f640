"""Which duel to ask next, as far as that needs no model: a new part's first, an old one again by a count or a clock.

Plain Python: the daemon's own process decides this at once, and computes nothing. The library asks by the same rules.
What only the model can tell, which answers are suspicious and what to compare further, is in suspicion.py.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from tuner.core.optimizer.champion import champion_of
from tuner.core.optimizer.records import Judgment, Record, Trial

Why = Literal["new", "repeat", "reduel", "again", "compare"]
# a person or a clock wanted these asked once more, or the model does: the judge need not know
REPEATS = frozenset[Why]({"repeat", "reduel", "again"})


@dataclass(frozen=True)
class Question(Record):
    """A duel of two trials worth asking; `repeat` if it was asked before, which the judge need not know.

    Attributes:
        number: The trial that it is about.
        opponent: The trial to compare it with.
        repeat: Whether it was asked before.
        why: A new part's duel ("new"), an old one again because enough others were asked ("repeat"), because the
            champion is to be judged again ("reduel") or because its answer may be a slip ("again"), or a further
            comparison of a part that is kept ("compare").
    """

    number: int
    opponent: int
    repeat: bool = False
    why: Why = "new"


@dataclass(frozen=True)
class Asked:
    """What was asked so far and is known of it.

    Attributes:
        trials: All of them, in their order.
        judgments: The answers that count.
        champion: The trial that won its duels, whomever the model believes best: the model asks by the same rule.
        deciding: The answer that made it that, if one did.
        hand: The trials whose parts are still there to be compared; None: all.
    """

    trials: Sequence[Trial]
    judgments: Sequence[Judgment]
    champion: int | None
    deciding: Judgment | None
    hand: Sequence[int] | None = None

    def question(self, *, repeat_after: int | None, reduel: int | None = None) -> Question | None:
        """Return the duel to ask that needs no model, or None.

        Args:
            repeat_after: New duels after which an old one is asked again; None or 0: none is, by this rule.
            reduel: The trial that is to be judged again, if one is.
        """
        if self.champion is None:
            return None
        judged = frozenset[int]().union(*(j.pair for j in self.judgments))
        for trial in self.trials:
            if trial.earlier or trial.number in judged or trial.number == self.champion or not self.kept(trial.number):
                continue
            opponent = next((n for n in (trial.opponent, self.champion) if n is not None and self.kept(n)), None)
            if opponent is None:  # both were thrown away
                opponent = next((n for n in reversed(self.hand or ()) if n != trial.number and self.kept(n)), None)
            if opponent is not None:
                return Question(trial.number, opponent)
        if reduel is not None and (pair := self._reduel(reduel)) is not None:
            return Question(*pair, repeat=True, why="reduel")
        if repeat_after and self._since_repeat() >= repeat_after and (pair := self._repeat()) is not None:
            return Question(*pair, repeat=True, why="repeat")
        return None

    def kept(self, *numbers: int) -> bool:
        """Whether the parts of these trials are there and count."""
        return self._kept.issuperset(numbers)

    @cached_property
    def _kept(self) -> frozenset[int]:
        usable = frozenset(trial.number for trial in self.trials if trial.usable)
        return usable if self.hand is None else usable.intersection(self.hand)

    def put_away(self, most: int, waiting: frozenset[int] = frozenset()) -> tuple[int, ...]:
        """Return which of the parts at hand are kept where the tray takes so many, oldest first.

        In any case those that nobody has judged, or that wait for an answer; then the champion's, the newest, whom the
        champion beat, and the newer of the others. What is out of account takes no place. What was put away does not
        come back, whatever is said or taken back later.
        """
        here = [number for number in self.hand or () if self.kept(number)]
        judged = frozenset[int]().union(*(j.pair for j in self.judgments)) - waiting
        champion, deciding = self.champion, self.deciding
        if champion not in here:
            champion, deciding = champion_of(here, self.judgments)
        needed = dict.fromkeys([*(number for number in here if number not in judged), champion])
        order = dict.fromkeys([*needed, *here[-1:], *(deciding.pair if deciding else ()), *reversed(here)])
        kept = [number for number in order if number in here][: max(most, len(needed))]
        return tuple(number for number in here if number in kept)

    def looks_left(self, looks_per_part: float) -> float:
        """How many looks the parts made so far allow beyond those that there were."""
        made = sum(trial.usable and not trial.earlier for trial in self.trials)
        return looks_per_part * made - len(self.own)

    @property
    def own(self) -> list[Judgment]:
        """The answers of this campaign: their parts may still be at hand."""
        earlier = {trial.number for trial in self.trials if trial.earlier}
        return [j for j in self.judgments if not j.pair & earlier]

    def _reduel(self, number: int) -> tuple[int, int] | None:
        """The trial and the one it followed as champion, or whom it met last."""
        met = [j for j in self.judgments if number in j.pair and self.kept(*j.pair)]
        if not met:
            return None
        judgment = self.deciding if self.deciding in met else met[-1]
        return number, next(iter(judgment.pair - {number}))

    def _since_repeat(self) -> int:
        """How many new duels were judged since the last repeat."""
        seen: set[frozenset[int]] = set()
        since = 0
        for judgment in self.own:
            since = 0 if judgment.pair in seen else since + 1
            seen.add(judgment.pair)
        return since

    def _repeat(self) -> tuple[int, int] | None:
        """The duel that made the champion, if it was asked once; else the latest of those asked least; None: gone."""
        own = [judgment for judgment in self.own if self.kept(*judgment.pair)]
        if not own:
            return None
        asked = Counter(j.pair for j in own)

        def worth(judgment: Judgment) -> tuple[bool, int, int]:
            deciding = judgment == self.deciding and asked[judgment.pair] == 1
            return deciding, -asked[judgment.pair], judgment.number

        best = max(own, key=worth)
        return best.order
