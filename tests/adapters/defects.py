"""An adapter as it should be, and one for each thing that can be wrong with it."""

import math
import threading

from pydantic import Field

from tuner.adapter import Adapter, AdapterSettings, Health, LinkError, Outcome, RefusedError


class GoodSettings(AdapterSettings):
    depth: int = Field(3, description="how deep")


class GoodAdapter(Adapter[GoodSettings]):
    """Keeps a machine in memory; the subclasses below each have one defect."""

    Settings = GoodSettings
    reachable = True

    def __init__(self, settings, parameters):
        super().__init__(settings, parameters)
        self.opened, self.parts = False, {}
        self.values = {parameter.name: parameter.start for parameter in parameters}

    def need(self):
        if not (self.opened and self.reachable):
            raise LinkError("not connected")

    def check(self, setting):
        if set(setting) != {p.name for p in self.parameters}:
            raise RefusedError("incomplete")
        for p in self.parameters:
            value = setting[p.name]
            number = type(value) in (int, float) and math.isfinite(value)
            if not (value in p.choices if p.choices else number):
                raise RefusedError(f"not a value: {value!r}")

    def open(self, deadline_s):
        self.opened = True
        self.need()

    def apply(self, setting, deadline_s):
        self.need()
        self.check(setting)
        self.values = dict(setting)

    def read_back(self, deadline_s):
        self.need()
        return dict(self.values)

    def run_trial(self, tag, deadline_s):
        self.need()
        return self.parts.setdefault(tag, Outcome(True, measurements={"number": len(self.parts)}))

    def health(self, deadline_s):
        return Health(self.opened and self.reachable, "memory")

    def close(self):
        self.opened = False


class NoDescription(GoodAdapter):
    """Has a setting nobody explains."""

    class Settings(GoodSettings):
        width: int = 3


class SecretSettings(GoodAdapter):
    """Its settings do not survive the way to another process."""

    class Settings(GoodSettings):
        width: int = Field(4, description="how wide", exclude=True)


class Grumpy(GoodAdapter):
    """Complains about everything."""

    @classmethod
    def complaints(cls, settings, parameters):
        return ["no"]


class Undocumented(GoodAdapter):
    __doc__ = None


class Outdated(GoodAdapter):
    """Is written for another contract."""

    api_version = 0


class ClosesOnce(GoodAdapter):
    """Cannot be closed twice."""

    def close(self):
        if not self.opened:
            raise RuntimeError("not open")
        self.opened = False


class AnswersWhenClosed(GoodAdapter):
    """Reads back what it remembers."""

    def read_back(self, deadline_s):
        return dict(self.values)


class WellWhenClosed(GoodAdapter):
    """Is always well."""

    def health(self, deadline_s):
        return Health(True, "fine")


class WrongError(GoodAdapter):
    """Raises what nobody expects when it is closed."""

    def need(self):
        if not (self.opened and self.reachable):
            raise ConnectionError("not connected")


class ForgetsOne(GoodAdapter):
    """Does not read all parameters back."""

    def read_back(self, deadline_s):
        return dict(list(super().read_back(deadline_s).items())[:-1])


class Rounds(GoodAdapter):
    """Is off by more than the tolerance."""

    def read_back(self, deadline_s):
        return {n: v + 0.02 if isinstance(v, float) else v for n, v in super().read_back(deadline_s).items()}


class ReadsText(GoodAdapter):
    """Reads numbers back as text."""

    def read_back(self, deadline_s):
        return {n: str(v) for n, v in super().read_back(deadline_s).items()}


class IntegersAsFloats(GoodAdapter):
    """Reads whole numbers back as fractions."""

    def read_back(self, deadline_s):
        return {n: v if isinstance(v, str) else float(v) for n, v in super().read_back(deadline_s).items()}


class StaysAway(GoodAdapter):
    """Does not go home."""

    def go_to(self, known_good, deadline_s):
        self.need()


class TakesAnything(GoodAdapter):
    """Checks nothing."""

    def check(self, setting):
        pass


class ChecksTooLate(GoodAdapter):
    """Refuses, but after it has changed something."""

    def apply(self, setting, deadline_s):
        self.need()
        self.values = dict(setting)
        self.check(setting)


class NoOutcome(GoodAdapter):
    """Says yes instead of giving an outcome."""

    def run_trial(self, tag, deadline_s):
        self.need()
        return True


class MakesTwice(GoodAdapter):
    """Makes another part with the same tag."""

    made = 0

    def run_trial(self, tag, deadline_s):
        self.need()
        self.made += 1
        return Outcome(True, measurements={"number": self.made})


class TrueHealth(GoodAdapter):
    """Says yes instead of telling its health."""

    def health(self, deadline_s):
        return self.opened


class OddInterlock(GoodAdapter):
    """Has an interlock that is neither true nor false."""

    def health(self, deadline_s):
        return Health(self.opened, "memory", {"guard": "closed"})


class NeverLetsGo(GoodAdapter):
    """Keeps a lock, so that no other adapter can reach the machine."""

    holder = None

    def open(self, deadline_s):
        holder = type(self).holder
        if holder is not None and holder is not self:
            raise LinkError("somebody else has it")
        type(self).holder = self
        super().open(deadline_s)


class BeginsWithNothing(GoodAdapter):
    """Cannot say what the machine has before it was told."""

    def __init__(self, settings, parameters):
        super().__init__(settings, parameters)
        self.values = {}


class TakesItsTime(GoodAdapter):
    """Does not look at deadlines."""

    def run_trial(self, tag, deadline_s):
        threading.Event().wait(0.3)
        return super().run_trial(tag, deadline_s)


class Silent(GoodAdapter):
    """Does not say what went wrong."""

    def need(self):
        if not (self.opened and self.reachable):
            raise LinkError("")


class RemembersWhenLost(GoodAdapter):
    """Tells old values of a machine that is gone."""

    def read_back(self, deadline_s):
        if not self.opened:
            raise LinkError("not connected")
        return dict(self.values)


class GivesUpForGood(GoodAdapter):
    """Says that trying again does not help."""

    def need(self):
        if not self.opened:
            raise LinkError("not connected")
        if not self.reachable:
            raise RefusedError("gone")


class NeverReturns(GoodAdapter):
    """Does not find the machine again."""

    lost = False

    def need(self):
        self.lost = self.lost or not self.reachable
        if self.lost or not self.opened:
            raise LinkError("not connected")


DEFECTS = {
    NoDescription: "test_the_class_is_written_for_this_contract_and_documented",
    Undocumented: "test_the_class_is_written_for_this_contract_and_documented",
    Outdated: "test_the_class_is_written_for_this_contract_and_documented",
    SecretSettings: "test_the_settings_survive_the_way_to_another_process",
    Grumpy: "test_there_are_no_complaints_about_good_settings",
    ClosesOnce: "test_it_opens_and_closes_as_often_as_asked",
    AnswersWhenClosed: "test_what_is_not_open_does_not_answer",
    WellWhenClosed: "test_what_is_not_open_does_not_answer",
    WrongError: "test_what_is_not_open_does_not_answer",
    Silent: "test_what_is_not_open_does_not_answer",
    ForgetsOne: "test_what_was_applied_is_read_back",
    Rounds: "test_what_was_applied_is_read_back",
    ReadsText: "test_what_was_applied_is_read_back",
    IntegersAsFloats: "test_what_was_applied_is_read_back",
    StaysAway: "test_the_known_good_setting_is_found_again",
    TakesAnything: "test_a_wrong_setting_is_refused_and_nothing_changes",
    ChecksTooLate: "test_a_wrong_setting_is_refused_and_nothing_changes",
    NoOutcome: "test_a_trial_has_an_outcome",
    MakesTwice: "test_the_same_tag_is_the_same_part",
    TrueHealth: "test_it_says_how_the_machine_is",
    OddInterlock: "test_it_says_how_the_machine_is",
    NeverLetsGo: "test_a_new_adapter_takes_over",
    BeginsWithNothing: "test_a_new_adapter_takes_over",
    TakesItsTime: "test_a_short_deadline_is_met_or_missed_properly",
    RemembersWhenLost: "test_a_silent_machine_is_given_up_at_the_deadline",
    GivesUpForGood: "test_a_machine_that_was_never_there_is_told_and_found_later",
    NeverReturns: "test_a_lost_machine_is_told_and_found_again",
}
