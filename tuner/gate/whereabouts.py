"""Where a machine may be: the setting that was last verified, everything sent since, and when.

Commands are computed from this and not from what the machine says just now, because one false answer would be a step
too far. A machine is ours from the first setting that is believed until nothing is wanted of it any more: while tuning
is held, stopped, over or let go, and after it could not be brought home, people may move it by hand. Then what it says
is believed again, if it says the same twice.
"""

import time
from collections.abc import Callable, Mapping

from tuner.basics.sentences import Sentence, listing
from tuner.campaign.events import SettingMap
from tuner.campaign.state import MachineState
from tuner.campaign.terms import Terms
from tuner.gate.plan import has_ways, misplaced, read_back_problem


class Whereabouts:
    """What is known about one machine; outlives the calls of the gate and the adapter's processes.

    `verified` is the setting that the journal says it was verified to have, if it does.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, verified: SettingMap | None = None) -> None:
        self.clock = clock
        self._quiet_since_s = clock()  # nobody knows what was sent before
        self._sending = False
        self.since: tuple[SettingMap, ...] = () if verified is None else (verified,)
        self.ours = verified is not None

    @classmethod
    def of(cls, machine: MachineState) -> "Whereabouts":
        """What the journal knows; a setting that may or may not have arrived is not known."""
        return cls(verified=machine.requested if machine.verified else None)

    def release(self) -> None:
        """People may move the machine from now on."""
        self.ours = False

    def by_hand(self, values: SettingMap) -> None:
        """People have set these parameters, which the machine knows nothing of."""
        if values:
            self.since = tuple({**one, **values} for one in self.since)

    def trusts(self, terms: Terms) -> bool:
        """Whether the machine must be where it was left; where it does not matter, it may be anywhere."""
        return self.ours and has_ways(terms)

    def doubt(self, terms: Terms, have: Mapping[str, object]) -> Sentence | None:
        """Why the machine cannot have what it says, or None."""
        problem = read_back_problem(terms, have)
        if problem is not None:
            return problem
        elsewhere = misplaced(terms, self.since, have)
        return listing(elsewhere) if elsewhere else None

    def seen(self) -> None:
        """The machine has answered: whatever was being sent when somebody gave up has been sent."""
        if self._sending:
            self._sending, self._quiet_since_s = False, self.clock()

    def believe(self, setting: SettingMap) -> None:
        """The machine has this setting."""
        self.since, self.ours = (dict(setting),), True

    def found(self, have: SettingMap, *, new: bool) -> None:
        """People give the machine back: with a new setting, with none, or as it was, wherever that may be.

        They may have moved it just now: the time that rate limits want begins here.
        """
        self._quiet_since_s = self.clock()
        if new:
            self.since = (dict(have),) if have else ()
        self.ours = bool(self.since)

    def begin(self, setting: SettingMap) -> None:
        """From now on the machine may have this setting too."""
        self.since = (*(one for one in self.since if one != setting), setting)
        self._sending = True

    def end(self) -> None:
        """It was sent."""
        self._sending, self._quiet_since_s = False, self.clock()

    def left_s(self, quiet_s: float) -> float:
        """How long to wait until nothing was sent for so long."""
        return max(0.0, self._quiet_since_s + quiet_s - self.clock())
