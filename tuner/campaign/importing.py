"""What becomes of earlier trials and judgments: checked against the terms, then known to the model or taken over.

With a discount they only inform the model. With none (1) they become the campaign's own, which must not have begun:
it goes on where the other one was.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice

from tuner.basics.sentences import NOTHING, Sentence, listing, say
from tuner.basics.text import printable
from tuner.campaign.earlier import DISCOUNT, MOST_TRIALS, EarlierJudgment, EarlierTrial, ImportEarlier
from tuner.campaign.events import EarlierImported
from tuner.campaign.state import CampaignJudgment, CampaignTrial, Duel, Imported, Stage, State
from tuner.campaign.terms import Terms
from tuner.core.optimizer.records import FITS, Judgment, Memory, Trial
from tuner.core.space.expression import Constraint, parse_constraint
from tuner.core.space.values import Domain, Setting, finite

Domains = Mapping[str, Domain]
_MOST_TOLD = 5
MOST_KNOWN = 500  # earlier trials of one import that the model is told
SHARE_JUDGED = 0.8  # of them with a judgment: the others tell where there is scrap
MOST_ASKS = 2**31
_LEFT_OUT = "left out"


def import_of(state: State, discount: float = DISCOUNT) -> ImportEarlier:
    """All that a campaign found, as another one may import it; a trial that is still on its road is left out."""
    trials = [trial for trial in state.trials if not trial.open]
    return ImportEarlier(
        source=f"campaign {state.name}",
        trials=tuple(
            EarlierTrial(
                setting=dict(trial.setting),
                valid=trial.valid,
                stage=str(trial.stage),  # type: ignore[arg-type]  # no other stage is closed
                excluded=None if trial.excluded is None else one_line(trial.excluded),
                outcome_reason=one_line(trial.outcome_reason),
                kind=trial.kind,
                source=trial.source,
                repeats=trial.repeats,
                opponent=trial.opponent,
                tag=trial.tag,
                lot=trial.lot,
                # people see these when they compare parts, which they only do with the campaign's own
                measurements=dict(trial.measurements) if discount == 1.0 else {},
                photo=trial.photo if discount == 1.0 else None,
            )
            for trial in trials
        ),
        judgments=tuple(
            EarlierJudgment(
                left=one.left, right=one.right, winner=one.winner, clearly=one.clearly, operator=one.operator
            )
            for one in state.active
        ),
        discount=discount,
        model=state.memory,
    )


def one_line(text: str) -> str:
    """A text of a machine or a table as the journal takes it from people: printable, one line, not too long."""
    return printable(text).strip()[:500]


def continues(arriving: Imported | None, piece: ImportEarlier) -> bool:
    """Whether a piece is a first one, or the next of those that came."""
    if not piece.after or arriving is None:
        return not piece.after
    return (arriving.source, arriving.discount, arriving.rows) == (piece.source, piece.discount, piece.after)


def together(arriving: Imported | None, event: EarlierImported, at: datetime) -> Imported:
    """A piece with those before it."""
    before = arriving if event.after else None
    trials, judgments = ((), ()) if before is None else (before.trials, before.judgments)
    return Imported(event.source, event.discount, at, (*trials, *event.trials), (*judgments, *event.judgments))


def problems(terms: Terms, brought: ImportEarlier, before: Sequence[EarlierTrial] = ()) -> Sentence:
    """Why it cannot be imported after some other trials, in sentences; nothing if it can."""
    domains, constraints = _domains(terms), [parse_constraint(text) for text in terms.constraints]
    names = list(domains)
    found: list[Sentence] = []
    if len(before) + len(brought.trials) > MOST_TRIALS:
        found.append(say("earlier.most", most=MOST_TRIALS))
    for number, trial in enumerate(brought.trials, len(before) + 1):
        if set(trial.setting) != set(names):
            found.append(say("earlier.parameters", number=number, has=sorted(trial.setting), names=names))
            break  # the others will be alike
        found += [
            say("earlier.trial", number=number, why=why) for why in _of_trial(domains, constraints, number, trial)
        ]
    trials = (*before, *brought.trials)
    found += [
        say("earlier.judgment", number=n, why=why)
        for n, one in enumerate(brought.judgments, 1)
        if (why := _of(trials, one))
    ]
    more = len(found) - _MOST_TOLD
    if not found:
        return NOTHING
    return listing([*found[:_MOST_TOLD], *([say("earlier.more", count=more)] if more > 0 else [])])


def _of_trial(
    domains: Domains, constraints: Sequence[Constraint], number: int, trial: EarlierTrial
) -> Iterator[Sentence]:
    near = _near(domains, trial.setting)
    wrong = [
        say("value.wrong", name=name, why=why)
        for name, domain in domains.items()
        if (why := domain.problem(near[name]))
    ]
    yield from wrong
    if not wrong:
        legal = {name: domain.legal(near[name]) for name, domain in domains.items()}
        for constraint in constraints:
            if not constraint.holds({name: float(legal[name]) for name in constraint.names}):
                yield say("gate.constraint", constraint=constraint.text)
    if trial.stage == "done" and trial.valid is None and trial.excluded is None:
        yield say("earlier.no_outcome")
    for what in ("opponent", "repeats"):
        other = getattr(trial, what)
        if other is not None and other >= number:
            yield say(f"earlier.{what}", trial=other)


def _of(trials: Sequence[EarlierTrial], one: EarlierJudgment) -> Sentence:
    if one.left == one.right:
        return say("earlier.with_itself", trial=one.left)
    for number in (one.left, one.right):
        if number > len(trials):
            return say("earlier.no_trial", trial=number)
        trial = trials[number - 1]
        if trial.stage != "done" or not trial.valid or trial.excluded is not None:
            return say("earlier.no_part", trial=number)
    if one.winner not in (None, one.left, one.right):
        return say("earlier.winner", trial=one.winner)
    return say("earlier.tie") if one.winner is None and one.clearly is not None else NOTHING


def _domains(terms: Terms) -> Domains:
    """Made once for thousands of trials."""
    return {parameter.name: parameter.domain for parameter in terms.parameters}


def _near(domains: Domains, setting: Setting) -> Setting:
    """A continuous value at the nearest multiple of the present resolution: the machine cannot tell them apart."""
    near = dict(setting)
    for name, domain in domains.items():
        if domain.resolution and not domain.not_a(near[name]) and domain.inside(near[name]):
            near[name] = domain.snapped(float(near[name]))
    return near


def fitting(terms: Terms, trials: Sequence[EarlierTrial]) -> tuple[EarlierTrial, ...]:
    """The trials with settings as this campaign would have them."""
    domains = _domains(terms)
    found = []
    for trial in trials:
        near = _near(domains, trial.setting)
        legal = {name: domain.legal(near[name]) for name, domain in domains.items()}
        found.append(trial.model_copy(update={"setting": legal}))
    return tuple(found)


def unreadable(model: Memory | None, trials: int) -> bool:
    """Whether what the model is said to remember cannot be: it would fail at every proposal."""
    if model is None:
        return False
    leader, fits = model.leader, [fit for fit in model.fits.values() if fit is not None]
    return (
        not 0 <= model.asks <= MOST_ASKS
        or (leader is not None and not 1 <= leader <= trials)
        or not model.fits.keys() <= set(FITS)
        or not all(isinstance(fit, dict) and _positive(fit.get("lengthscales")) for fit in fits)
        or not all(_positive([fit.get("variance")]) and _positive(fit.get("noise")) for fit in fits)
    )


def _positive(numbers: object) -> bool:
    if not isinstance(numbers, list) or not numbers:
        return False
    return all((number := finite(one)) is not None and number > 0.0 for one in numbers)


def same(known: Imported, brought: Imported) -> bool:
    """Whether it was imported before, for whatever it counts."""
    ours, theirs = ([(t.setting, t.valid, t.stage) for t in one.trials] for one in (known, brought))
    return ours == theirs and brought.judgments == known.judgments


def objection(state: State, trials: Sequence[EarlierTrial]) -> Sentence:
    """Why an import without a discount cannot be taken over; nothing if it can."""
    if state.trials:
        return say("earlier.not_own", name=state.name, trials=len(state.trials))
    spent = sum(trial.stage == "done" for trial in trials)
    budget = state.terms.budget.trials
    if spent > budget:
        return say("earlier.too_many", trials=spent, budget=budget)
    return NOTHING


def imported(state: State, event: EarlierImported, at: datetime, by: str) -> State:
    """The state that knows what was imported."""
    known = together(state.arriving, event, at)
    if event.more:
        return replace(state, arriving=known)
    state = replace(state, imports=(*state.imports, known), arriving=None)
    return state if event.discount < 1.0 else _taken_over(state, known, event.model, by)


def _taken_over(state: State, whole: Imported, model: Memory | None, by: str) -> State:
    if state.trials:
        raise IndexError(len(state.trials))
    at = whole.at
    trials = tuple(
        CampaignTrial.of(
            trial,
            number=number,
            stage=Stage(trial.stage),
            tag=trial.tag or f"E{number}",
            proposed_at=at,
            staged_at=at,
            ended_at=at,
        )
        for number, trial in enumerate(whole.trials, 1)
    )
    judgments = tuple(
        CampaignJudgment.of(one, number=number, duel=number, at=at, took_s=None, by=by)
        for number, one in enumerate(whole.judgments, 1)
    )
    asks = sum(trial.source in ("model", "fallback") for trial in trials)
    return replace(
        state,
        trials=trials,
        duels=tuple(Duel(one.number, one.left, one.right, "new", at, judgment=one.number) for one in judgments),
        judgments=judgments,
        memory=model or Memory(asks=asks),
        lot=state.lot or trials[-1].lot,
    )


def as_earlier(imports: Sequence[Imported], trials: int, judgments: int) -> tuple[list[Trial], list[Judgment]]:
    """What was imported with a discount, as records of the optimiser that come after so many of the campaign's own.

    Of a large import the model is told the newest judgments with their trials, then the newest of the other trials: a
    proposal takes seconds with a thousand trials and minutes with ten thousand.
    """
    told: list[Trial] = []
    said: list[Judgment] = []
    for one in imports:
        if one.discount == 1.0:
            continue  # the campaign's own by now
        one = _newest(one)
        first = trials + len(told)
        told += [_record(trial, first + place, one.discount) for place, trial in enumerate(one.trials, 1)]
        said += [
            Judgment(
                number=judgments + len(said) + place,
                left=first + judgment.left,
                right=first + judgment.right,
                winner=None if judgment.winner is None else first + judgment.winner,
                clearly=judgment.clearly,
                discount=one.discount,
            )
            for place, judgment in enumerate(one.judgments, 1)
        ]
    return told, said


def _newest(one: Imported) -> Imported:
    """The part of an import that the model can carry."""
    if len(one.trials) <= MOST_KNOWN:
        return one
    kept: set[int] = set()
    for judgment in reversed(one.judgments):
        pair = {judgment.left, judgment.right}
        if len(kept | pair) > MOST_KNOWN * SHARE_JUDGED:
            break
        kept |= pair
    others = (number for number in range(len(one.trials), 0, -1) if number not in kept)
    numbers = sorted(kept | set(islice(others, MOST_KNOWN - len(kept))))
    place = {number: at for at, number in enumerate(numbers, 1)}
    return replace(
        one,
        trials=tuple(one.trials[number - 1] for number in numbers),
        judgments=tuple(
            judgment.model_copy(
                update={
                    "left": place[judgment.left],
                    "right": place[judgment.right],
                    "winner": None if judgment.winner is None else place[judgment.winner],
                }
            )
            for judgment in one.judgments
            if judgment.left in place and judgment.right in place
        ),
    )


def _record(trial: EarlierTrial, number: int, discount: float) -> Trial:
    done = trial.stage == "done" and trial.excluded is None
    return Trial(
        number=number,
        setting=trial.setting,
        kind="earlier",
        valid=trial.valid if done else None,
        excluded=None if done else _LEFT_OUT,
        earlier=True,
        discount=discount,
    )
