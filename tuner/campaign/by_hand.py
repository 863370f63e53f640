"""What people have to change by hand before a part can be made, or for the machine to be as it was; pure."""

from dataclasses import dataclass

from tuner.basics.vocabulary import Mode, Stage
from tuner.campaign.state import State
from tuner.core.optimizer.records import Setting


@dataclass(frozen=True, slots=True)
class Needed:
    """The values that manual parameters must get, for a trial or for the known-good setting."""

    setting: Setting
    trial: int | None


def needed(state: State) -> Needed | None:
    """What must be changed by hand now; None if nothing, or if nobody wants anything of the machine.

    What somebody was asked for and has not confirmed is not known, so it is asked for again.
    """
    manual = [parameter.name for parameter in state.terms.parameters if parameter.manual]
    if not manual or state.terms.policy.dry_run:
        return None
    machine, trial = state.machine, state.trial
    under_way = trial is not None and trial.stage is Stage.RUNNING
    if machine.home_wanted is not None or (machine.home and state.mode is not Mode.EXECUTE):
        number, target = None, state.terms.known_good
    elif state.mode is Mode.EXECUTE and trial is not None and trial.stage is Stage.APPROVED:
        number, target = trial.number, trial.setting
    else:
        return None
    differing = {name: target[name] for name in manual if state.manual.get(name) != target[name]}
    return Needed(differing, number) if differing and not under_way else None
