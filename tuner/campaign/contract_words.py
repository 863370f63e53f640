"""What a scrap contract says, as sentences: scrap so far, what is left, and what is not tried; pure.

The word "safe" is not used: a contract is about scrap, not about people.
"""

from collections.abc import Mapping

from tuner.basics.sentences import Sentence, say
from tuner.campaign.state import State
from tuner.core.space.values import Value

_SOME = 0.05  # a smaller share of ground that cannot be reached is not worth a sentence


def contract_sentences(state: State) -> list[Sentence]:
    """Everything a contract says now; nothing where there is none."""
    agreed, account = state.terms.scrap, state.account
    if agreed is None or account is None:
        return []
    said = [
        say("contract.so_far", scrap=account.scrap, parts=account.parts, rate=float(agreed.rate), left=account.left)
    ]
    if state.contract_held:
        said.append(say("contract.held"))
    if account.known_ground:
        said.append(say("contract.known_ground"))
    said.append(say("contract.allowed", allowed=float(account.allowed)))
    newest = next((trial for trial in reversed(state.trials) if trial.assured is not None), None)
    if newest is None or newest.assured is None:
        return said
    assured = newest.assured
    if newest.p_valid is not None:
        low, confidence = float(assured.low), float(agreed.confidence)
        said.append(say("contract.next", valid=float(newest.p_valid), confidence=confidence, low=low))
    said.append(say("contract.base", share=float(assured.base)))
    if assured.refused is not None and assured.refused_better is not None and assured.refused_risk is not None:
        better, risk = float(assured.refused_better), float(assured.refused_risk)
        said.append(say("contract.refused", setting=_setting(state, assured.refused), better=better, risk=risk))
    if assured.unreached is not None and assured.unreached >= _SOME:
        said.append(say("contract.unreached", share=float(assured.unreached)))
    return said


def _setting(state: State, setting: Mapping[str, Value]) -> list[Sentence]:
    return [
        say("phase.value", name=one.called, value=value if isinstance(value, str) else one.shown(value, unit=True))
        for one in state.terms.parameters
        for value in [setting[one.name]]
    ]
