"""What a scrap contract says, as sentences: what is agreed, scrap so far, what goes on, and what is not tried; pure.

The word "safe" is not used: a contract is about scrap, not about people.
"""

from collections.abc import Iterator, Mapping

from tuner.basics.sentences import Sentence, say
from tuner.campaign.state import Mode, State
from tuner.config.campaign import ScrapContract
from tuner.core.optimizer.contract import Account, settle, share
from tuner.core.optimizer.records import Assured
from tuner.core.space.values import Value

_SOME = 0.05  # a smaller share of ground that cannot be reached is not worth a sentence
_STEPS = {  # what is to be done where the optimiser says that nothing keeps the contract
    "contract.no_ground": "contract.do_ground",
    "contract.budget": "contract.do_budget",
    "contract.cannot_hold": "contract.do_cause",
}


def hold_reason(state: State, why: str) -> Sentence:
    """Why tuning is held, and the next step: which key of the configuration, and which commands."""
    step = _STEPS.get(Sentence.of(why).code, "contract.do_rate")
    first = next((one.number for one in state.trials if one.source == "start"), 1)
    more = {"trial": first} if step == "contract.do_ground" else {}
    return say(step, why=Sentence.of(why), name=state.name, **more)


def changed_reason(name: str) -> Sentence:
    """Why tuning is still held once the contract was changed."""
    return say("contract.changed", name=name)


def told_why(reason: str) -> str:
    """Of a reason for a hold only why, without what people would do at a daemon; another reason as it is."""
    why = _why(reason)
    if isinstance(why, Mapping):
        return str(why.get("text", ""))
    return reason if why is None else str(why)


def _why(reason: str) -> object:
    if isinstance(reason, Sentence) and reason.code.startswith("contract.do_"):
        return reason.values.get("why")
    return None


def kind_of(reason: str) -> str:
    """What tells reasons of one kind from others, whatever the numbers in them; a text is its own kind."""
    why = _why(reason) or reason
    code = why.get("code") if isinstance(why, Mapping) else getattr(why, "code", "")
    return str(code) or told_why(reason)


def agreed_scrap(contract: ScrapContract, planned: int, parts: int = 0) -> int:
    """How many scrap parts a contract allows in all: the rate over the planned parts, and the budget."""
    return settle(contract.agreed, [True] * parts, planned).left


def agreed_sentences(contract: ScrapContract, planned: int, parts: int = 0) -> Iterator[Sentence]:
    """What was agreed."""
    rate, most = float(contract.rate), agreed_scrap(contract, planned, parts)
    if rate * planned < 1.0:
        yield say("contract.agreed_one", rate=rate, planned=planned)
    else:
        by_rate = most if contract.budget is None else max(most, share(rate, planned))
        yield say("contract.agreed", rate=rate, planned=planned, most=by_rate)
    if contract.budget is not None:
        yield say("contract.agreed_budget", budget=max(contract.budget, 1))
    if contract.strictness == "certain":
        yield say("contract.agreed_certain", confidence=float(contract.confidence))


def contract_sentences(state: State) -> list[Sentence]:
    """Everything a contract says now; nothing where there is none."""
    agreed, account = state.terms.scrap, state.account
    if agreed is None or account is None:
        return []
    planned = state.terms.budget.trials
    said = [_so_far(state, account, agreed_scrap(agreed, planned, account.parts))]
    said += agreed_sentences(agreed, planned, account.parts)
    if state.contract_held:
        code = "held_changed" if Sentence.of(state.reason).code == "contract.changed" else "held"
        said.append(say(f"contract.{code}", name=state.name))
    elif state.mode is not Mode.COMPLETE:
        said.append(_goes_on(agreed, account))
    newest = next((trial for trial in reversed(state.trials) if trial.assured is not None), None)
    if newest is None or newest.assured is None:
        return said
    assured = newest.assured
    if newest.p_valid is not None:
        low, confidence = float(assured.low), float(agreed.confidence)
        said.append(say("contract.next", tag=newest.tag, valid=float(newest.p_valid), confidence=confidence, low=low))
        if assured.risk > assured.allowed and assured.stage == "known ground":
            risk, allowed = float(assured.risk), float(assured.allowed)
            said.append(say("contract.next_known", risk=risk, allowed=allowed))
    return [*said, *_of_ground(state, assured)]


def _so_far(state: State, account: Account, most: int) -> Sentence:
    known = {"scrap": account.scrap, "parts": account.parts}
    if account.scrap > most:
        return say("contract.so_far_over", **known, over=account.scrap - most)
    if state.mode is Mode.COMPLETE:
        return say("contract.so_far_end", **known)
    return say("contract.so_far", **known, left=account.left) if account.left else say("contract.so_far_all", **known)


def _goes_on(agreed: ScrapContract, account: Account) -> Sentence:
    """What the next part may risk, and on which ground."""
    rate = float(agreed.rate)
    if not account.known_ground:
        return say("contract.allowed", allowed=float(account.allowed), rate=rate)
    return say("contract.known_ground_free" if agreed.budget is None else "contract.known_ground", rate=rate)


def _of_ground(state: State, assured: Assured) -> Iterator[Sentence]:
    """Scrap by chance, what is not tried, and what cannot be reached."""
    yield say("contract.base", share=float(assured.base))
    if assured.refused is not None and assured.refused_better is not None and assured.refused_risk is not None:
        better, risk = float(assured.refused_better), float(assured.refused_risk)
        yield say("contract.refused", setting=_setting(state, assured.refused), better=better, risk=risk)
    if assured.unreached is not None and assured.unreached >= _SOME:
        yield say("contract.unreached", share=float(assured.unreached))


def _setting(state: State, setting: Mapping[str, Value]) -> list[Sentence]:
    return [
        say("phase.value", name=one.called, value=value if isinstance(value, str) else one.shown(value, unit=True))
        for one in state.terms.parameters
        for value in [setting[one.name]]
    ]
