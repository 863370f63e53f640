"""How often somebody may try to sign in: wrong PINs and badges slow down, and right ones have a pace."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from tuner.basics.sentences import say
from tuner.campaign.decide import Refusal

FREE_TRIES = 3
LONGEST_WAIT_S = 900.0
FORGIVEN_S = 60.0  # after so long a client's wrong badge or unknown name counts no more: the slips of a whole plant


@dataclass(frozen=True, slots=True)
class Pace:
    """So many at once, then one every so many seconds."""

    at_once: int
    every_s: float


# Wrong PINs of one person: at one client, where the person's right ones in between make the waits short, and at all of
# them together. The second is the wider one, so no client alone can keep a person away from the others.
WRONG_AT_A_CLIENT = Pace(15, 900.0)
WRONG_ANYWHERE = Pace(30, 300.0)
RIGHT_OF_A_PERSON = Pace(20, 30.0)  # each writes a line or two
NAMELESS_OF_A_CLIENT = Pace(60, 1.0)  # badges and unknown names, right or wrong: whose they are is known afterwards


@dataclass
class Wrong:
    """Wrong ones in a row, when the next may be tried, and when the last was wrong."""

    count: int = 0
    next_s: float = 0.0
    last_s: float = -math.inf


@dataclass
class Tries:
    """What was tried: by whom at which client, where `who` is a person's name, or empty: a badge or an unknown name.

    A client's wrong badges and unknown names are counted for the client alone: no right PIN or badge shows that those
    before were slips of the same person. One of them is forgotten each minute in which there was none, so whoever
    guesses gets about one guess a minute. What is kept has a bound by itself: there are so many keys, and so many
    people.
    """

    clock: Callable[[], float]
    _wrong: dict[tuple[str, str], Wrong] = field(default_factory=dict)
    _paid_until_s: dict[tuple[Pace, str, str], float] = field(default_factory=dict)

    def wait_s(self, client: str, who: str) -> float:
        """How long nothing may be tried, because too much was wrong."""
        waits_s = [0.0, self._wrong.get((client, who), Wrong()).next_s - self.clock()]
        if who:
            waits_s += [self._lacks_s(WRONG_AT_A_CLIENT, client, who), self._lacks_s(WRONG_ANYWHERE, "", who)]
        return max(waits_s)

    def begin(self, client: str, who: str) -> None:
        """Somebody tries; called before the hash.

        Raises:
            Refusal: There were so many just now, right ones too.
        """
        if who:
            self._refuse_beyond(RIGHT_OF_A_PERSON, "", who)
        else:
            self._refuse_beyond(NAMELESS_OF_A_CLIENT, client, "")
            self._pay(NAMELESS_OF_A_CLIENT, client, "")

    def wrong(self, client: str, who: str) -> int:
        """It was wrong; how many in a row there were now."""
        wrong = self._wrong.setdefault((client, who), Wrong())
        if not who and wrong.count:
            wrong.count = max(0, wrong.count - int((self.clock() - wrong.last_s) / FORGIVEN_S))
        wrong.count, wrong.last_s = wrong.count + 1, self.clock()
        if wrong.count >= FREE_TRIES:
            wrong.next_s = self.clock() + min(LONGEST_WAIT_S, 2.0 ** (wrong.count - FREE_TRIES + 1))
        if who:
            self._pay(WRONG_AT_A_CLIENT, client, who)
            self._pay(WRONG_ANYWHERE, "", who)
        return wrong.count

    def right(self, client: str, who: str, person: str) -> None:
        """It was this person: what was tried in the person's own name at this client were slips.

        Raises:
            Refusal: The person has signed in so often just now.
        """
        if who:
            self._wrong.pop((client, who), None)
        self._refuse_beyond(RIGHT_OF_A_PERSON, "", person)
        self._pay(RIGHT_OF_A_PERSON, "", person)

    def forget(self, person: str) -> None:
        """The person has another PIN: what was tried says nothing about it."""
        self._wrong = {key: one for key, one in self._wrong.items() if key[1] != person}
        self._paid_until_s = {
            key: at_s for key, at_s in self._paid_until_s.items() if key[0] is RIGHT_OF_A_PERSON or key[2] != person
        }

    def _refuse_beyond(self, pace: Pace, client: str, who: str) -> None:
        lacks_s = self._lacks_s(pace, client, who)
        if lacks_s > 0:
            raise Refusal("busy", say("people.too_often", seconds=math.ceil(lacks_s)))

    def _lacks_s(self, pace: Pace, client: str, who: str) -> float:
        """How long it is until this pace allows another one."""
        paid_s = self._paid_until_s.get((pace, client, who), -math.inf) - self.clock()
        return max(0.0, paid_s - (pace.at_once - 1) * pace.every_s)

    def _pay(self, pace: Pace, client: str, who: str) -> None:
        known_s = self._paid_until_s.get((pace, client, who), -math.inf)
        self._paid_until_s[pace, client, who] = max(known_s, self.clock()) + pace.every_s
