"""A campaign's trials, judgments, looks and events as tables, one row each; the names of columns are kept for ever."""

import json
from datetime import UTC, datetime

from tuner.campaign.evolve import Recorded
from tuner.campaign.state import CampaignTrial, Duel, State
from tuner.config.parameters import Choice, Integer, Parameter
from tuner.tables.history import History
from tuner.tables.table import Cell, Column, Kind, Table, about, table

SETTING = "setting."
MEASURED = "measured."

_FIRST = (
    Column("trial", "whole", "number of the trial, from 1 on"),
    Column("tag", "text", "tag on the part"),
    Column("stage", "text", "how far it came: proposed, approved, sent, applied, running, done, rejected or dropped"),
    Column("valid", "yes/no", "whether it made a part that can be judged; empty: not known"),
    Column("outcome_reason", "text", "why it made none, or why it was rejected or dropped"),
    Column("champion", "yes/no", "whether it is the champion at the end of this table"),
    Column("champion_since", "time", "when it first was the champion; empty: never"),
    Column("excluded", "text", "why it is left out of account; empty: it is not"),
    Column("lot", "text", "lot of the material"),
)
_LAST = (
    Column("source", "text", "who proposed it: start, model, fallback or repeat"),
    Column("kind", "text", "how the model came to it"),
    Column("repeats", "whole", "trial of which it is the repetition"),
    Column("opponent", "whole", "trial against which it was to be judged"),
    Column("p_better", "number", "chance to be better than the opponent, as believed when proposed", "1"),
    Column("p_valid", "number", "chance to make a part, as believed when proposed", "1"),
    Column("distance", "number", "distance to the nearest setting tried before, in the unit cube", "1"),
    Column("reason", "text", "why this setting"),
    Column("proposed_at", "time", "when it was proposed", "UTC"),
    Column("started_at", "time", "when the machine began the part", "UTC"),
    Column("ended_at", "time", "when its outcome was told", "UTC"),
    Column("photo", "text", "where its photo is"),
)
_JUDGMENTS = (
    Column("judgment", "whole", "number of the judgment, from 1 on"),
    Column("duel", "whole", "the look it answers"),
    Column("left", "whole", "trial on the left"),
    Column("left_tag", "text", "its part"),
    Column("right", "whole", "trial on the right"),
    Column("right_tag", "text", "its part"),
    Column("winner", "whole", "trial that is better; empty: can't tell"),
    Column("winner_tag", "text", "its part"),
    Column("clearly", "yes/no", "whether it is clearly better; empty: nobody was asked"),
    Column("operator", "text", "who said so"),
    Column("at", "time", "when", "UTC"),
    Column("took_s", "number", "how long the answer took", "s"),
    Column("counts", "yes/no", "whether it counts: it was not taken back, and both trials are in account"),
    Column("retracted", "text", "why it was taken back; empty: it was not"),
)
_LOOKS = (
    Column("duel", "whole", "number of the look, from 1 on: one asking of two parts"),
    Column("left", "whole", "trial on the left"),
    Column("left_tag", "text", "its part"),
    Column("right", "whole", "trial on the right"),
    Column("right_tag", "text", "its part"),
    Column(
        "why",
        "text",
        "new: a new part; again: asked again, its answer may be a slip; compare: a further comparison; "
        "repeat: asked again to learn the noise; reduel: the champion again",
    ),
    Column("asked_at", "time", "when it was asked", "UTC"),
    Column("judgment", "whole", "the judgment that answers it; empty: none"),
    Column("closed", "text", "why it needed no answer; empty: it did"),
)
_EVENTS = (
    Column("event", "whole", "number of the event in the journal"),
    Column("at", "time", "when", "UTC"),
    Column("type", "text", "what happened"),
    Column("actor", "text", "who made it happen"),
    Column("trial", "whole", "the trial it is about"),
    Column("duel", "whole", "the look it is about"),
    Column("judgment", "whole", "the judgment it is about"),
    Column("result", "text", "what came of it"),
    Column("reason", "text", "why"),
    Column("body", "text", "all of it, as JSON"),
)
# every column but those of parameters and measurements
COLUMNS = {"trials": (*_FIRST, *_LAST), "judgments": _JUDGMENTS, "looks": _LOOKS, "events": _EVENTS}
_OWN = ("trial", "duel", "judgment", "result", "reason")  # what of an event has a column of its own


def campaign_tables(history: History) -> tuple[Table, ...]:
    """The tables trials, judgments, looks, events, and columns, which says what the others' columns mean."""
    state = history.state
    made = (_trials(history), _judgments(state), _looks(state), _events(history.recorded))
    return (*made, about(made))


def setting_columns(state: State) -> tuple[Column, ...]:
    """A column for each parameter."""
    return tuple(Column(SETTING + p.name, _kind(p), _meaning(p), p.unit) for p in state.terms.parameters)


def _kind(parameter: Parameter) -> Kind:
    if isinstance(parameter, Choice):
        return "text"
    return "whole" if isinstance(parameter, Integer) else "number"


def _meaning(parameter: Parameter) -> str:
    said = f"value of the parameter {parameter.name}"
    if isinstance(parameter, Choice):
        return f"{said}; one of {', '.join(parameter.choices)}"
    return f"{said}, from {parameter.low:g} to {parameter.high:g}"


def _trials(history: History) -> Table:
    state = history.state
    measured = sorted({name for trial in state.trials for name in trial.measurements})
    columns = (
        *_FIRST,
        *setting_columns(state),
        *(
            Column(MEASURED + name, "number", f"the machine's measurement {name}, in the machine's unit")
            for name in measured
        ),
        *_LAST,
    )
    return table("trials", columns, [_trial(trial, history) for trial in state.trials])


def _trial(trial: CampaignTrial, history: History) -> dict[str, Cell]:
    return {
        "trial": trial.number,
        "tag": trial.tag,
        "stage": str(trial.stage),
        "valid": trial.valid,
        "outcome_reason": trial.outcome_reason or None,
        "champion": trial.number == history.state.champion,
        "champion_since": _time(history.crowned.get(trial.number)),
        "excluded": trial.excluded,
        "lot": trial.lot or None,
        **{SETTING + name: value for name, value in trial.setting.items()},
        **{MEASURED + name: value for name, value in trial.measurements.items()},
        **{name: getattr(trial, name) for name in ("kind", "repeats", "opponent", "p_better", "p_valid", "distance")},
        "source": str(trial.source),
        "reason": trial.reason or None,
        "proposed_at": _time(trial.proposed_at),
        "started_at": _time(trial.started_at),
        "ended_at": _time(trial.ended_at),
        "photo": trial.photo,
    }


def _sides(one: Duel, state: State) -> dict[str, Cell]:
    tags = {name: state.trials[number - 1].tag for name, number in (("left", one.left), ("right", one.right))}
    return {"left": one.left, "right": one.right, **{f"{name}_tag": tag for name, tag in tags.items()}}


def _judgments(state: State) -> Table:
    counting = {judgment.number for judgment in state.active}
    rows = [
        {
            **_sides(state.duels[one.duel - 1], state),
            "judgment": one.number,
            "duel": one.duel,
            "winner": one.winner,
            "winner_tag": None if one.winner is None else state.trials[one.winner - 1].tag,
            "clearly": one.clearly,
            "operator": one.operator,
            "at": _time(one.at),
            "took_s": one.took_s,
            "counts": one.number in counting,
            "retracted": one.retracted,
        }
        for one in state.judgments
    ]
    return table("judgments", _JUDGMENTS, rows)


def _looks(state: State) -> Table:
    rows = [
        {
            **_sides(one, state),
            "duel": one.number,
            "why": one.why,
            "asked_at": _time(one.asked_at),
            "judgment": one.judgment,
            "closed": one.closed,
        }
        for one in state.duels
    ]
    return table("looks", _LOOKS, rows)


def _events(recorded: tuple[Recorded, ...]) -> Table:
    rows: list[dict[str, Cell]] = []
    for one in recorded:
        body = one.event.model_dump(mode="json", exclude={"type"}, exclude_defaults=True)
        own = {name: body[name] for name in _OWN if name in body}
        row = {"event": one.seq, "at": _time(one.at), "type": one.event.type, "actor": one.actor, **own}
        rows.append({**row, "body": json.dumps(body, ensure_ascii=False, sort_keys=True)})
    return table("events", _EVENTS, rows)


def _time(moment: datetime | None) -> datetime | None:
    return None if moment is None else moment.astimezone(UTC)
