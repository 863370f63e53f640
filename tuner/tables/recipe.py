"""The recommended setting of a campaign with the evidence for it, for the master recipe."""

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from tuner.basics.files import csv_cell
from tuner.basics.text import chance, counted
from tuner.campaign.state import Stage, State
from tuner.errors import TunerError

Value = float | int | str

# what ends a window; where it is the parameter's own limit nothing is said
_ENDS = {"valid": "scrap beyond", "better": "no better beyond", "constraint": "a constraint at"}
_COLUMNS = ("called", "unit", "recommended", "champion", "known_good")


class NoRecipeError(TunerError):
    """Nothing can be recommended yet; the sentence says why."""


@dataclass(frozen=True)
class Line:
    """One parameter.

    Attributes:
        window_low: How far it may wander alone, downwards; None: the model does not say, or it is a choice.
        window_high: The same upwards.
        window_options: Of a choice, the options that will do as well.
        window_below: What ends the window below: valid (parts get unlikely), better (so does being better than
            known-good), constraint, or limit of the parameter.
        window_above: The same above.
    """

    parameter: str
    unit: str
    recommended: Value
    champion: Value
    known_good: Value
    window_low: float | None = None
    window_high: float | None = None
    window_options: tuple[str, ...] = ()
    window_below: str = ""
    window_above: str = ""
    label: str = ""

    @property
    def called(self) -> str:
        """What people call it."""
        return self.label or self.parameter

    @property
    def window(self) -> str:
        """For people."""
        if self.window_low is None or self.window_high is None:
            return ", ".join(self.window_options)
        return f"{_shown(self.window_low)} to {_shown(self.window_high)}"

    @property
    def window_ends(self) -> str:
        """What ends the window, where that is no limit of the parameter's own."""
        ends = [
            f"{_ENDS[why]} {_shown(end)}"
            for end, why in ((self.window_low, self.window_below), (self.window_high, self.window_above))
            if why in _ENDS
        ]
        return f"  {self.called}: {', '.join(ends)}" if ends else ""


@dataclass(frozen=True)
class Evidence:
    """What the recommendation rests on.

    Attributes:
        trials: Parts tried, scrap among them.
        scrap: How many made no part.
        judgments: Answers that count.
        operators: How many people gave them.
        champion_tag: The best part so far.
        won: Duels that the champion won.
        lost: Duels that it lost.
        ties: Duels that nobody could decide.
        parts_made: Parts made at the recommended setting; 0: it is the model's word alone.
        p_better: The model's chance that it is better than the champion.
        p_valid: The model's chance that it makes a part.
        keep: Whether nothing is believed better than the known-good setting, so that this is that one.
        better_than_known_good: The model's chance that it is better than the known-good setting; None: it is that one.
        parts_won: Duels that parts made at it won,
        parts_lost: lost,
        parts_tied: and that could not be told.
        window_valid: The chance to make a part that is kept in the window; None: there is no window.
        window_better: The chance to be better than known-good that is kept there.
    """

    trials: int
    scrap: int
    judgments: int
    operators: int
    champion_tag: str
    won: int
    lost: int
    ties: int
    parts_made: int
    p_better: float
    p_valid: float
    keep: bool = False
    better_than_known_good: float | None = None
    parts_won: int = 0
    parts_lost: int = 0
    parts_tied: int = 0
    window_valid: float | None = None
    window_better: float | None = None


@dataclass(frozen=True)
class Recipe:
    """A setting for production, and why."""

    campaign: str
    machine: str
    at: str
    lines: tuple[Line, ...]
    evidence: Evidence

    def as_json(self) -> str:
        """As JSON, every number in full."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=1, allow_nan=False) + "\n"

    def as_csv(self) -> str:
        """As CSV, one line for each parameter."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\r\n")
        writer.writerow(Line.__dataclass_fields__)
        for line in self.lines:
            cells = asdict(line) | {"window_options": ", ".join(line.window_options)}
            writer.writerow([csv_cell(cell) for cell in cells.values()])
        return text.getvalue()

    def as_text(self) -> str:
        """For people: a table and the evidence in sentences."""
        head = ("parameter", "unit", "recommended", f"champion {self.evidence.champion_tag}", "known-good")
        rows = [head, *(tuple(_shown(getattr(line, name)) for name in _COLUMNS) for line in self.lines)]
        if any(line.window for line in self.lines):
            ends = ("window", *(line.window for line in self.lines))
            rows = [(*row, end) for row, end in zip(rows, ends, strict=True)]
        widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
        table = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        title = f"{self.campaign} on {self.machine}, as of {self.at}"
        return "\n".join([title, "", *table, "", *self._sentences()]) + "\n"

    def _sentences(self) -> list[str]:
        found = self.evidence
        said = [
            f"{counted(found.trials, 'trial')}, {found.scrap} of them scrap; {counted(found.judgments, 'judgment')} by "
            f"{counted(found.operators, 'operator')}.",
            f"The champion {found.champion_tag} won {found.won}, lost {found.lost}, could not be told apart in "
            f"{counted(found.ties, 'duel')}.",
        ]
        if found.keep:
            said.append("Nothing is believed better than the known-good setting: keep it.")
        if found.better_than_known_good is not None:
            said.append(
                f"It is {chance(found.better_than_known_good)} likely to be better than the known-good setting."
            )
        said += self._window()
        if found.parts_made:
            duels = f"{found.parts_won} won, {found.parts_lost} lost, {found.parts_tied} could not be told"
            return [*said, f"{counted(found.parts_made, 'part')} made at the recommended setting so far: {duels}."]
        return [
            *said,
            f"The model gives the recommended setting {chance(found.p_better)} to be better than the champion and "
            f"{chance(found.p_valid)} to make a part.",
            "No part was made at it yet: make some and look at them before it becomes the recipe.",
        ]

    def _window(self) -> list[str]:
        found = self.evidence
        if found.window_valid is None or not any(line.window for line in self.lines):
            return []
        better = (
            ""
            if found.window_better is None
            else f", and {chance(found.window_better)} likely to be better than the known-good setting"
        )
        return [
            "The window says how far each parameter may wander alone while a part stays "
            f"{chance(found.window_valid)} likely{better}.",
            *(line.window_ends for line in self.lines if line.window_ends),
        ]


def recipe(name: str, state: State, found: Mapping[str, Any] | None) -> Recipe:
    """Put a recommendation together with what the campaign knows.

    It has what `tuner.core.optimizer.records.Recommended` has; all but `setting`, `p_better` and `p_valid` may be left
    out.

    Raises:
        NoRecipeError: No part was made yet.
    """
    if found is None or state.champion is None:
        raise NoRecipeError(f"{name}: no part was made yet, so nothing can be recommended")
    champion = state.trials[state.champion - 1]
    setting = found["setting"]
    mine = [one for one in state.active if champion.number in (one.left, one.right)]
    won = sum(one.winner == champion.number for one in mine)
    ties = sum(one.tie for one in mine)
    evidence = Evidence(
        trials=sum(trial.stage is Stage.DONE for trial in state.trials),
        scrap=state.scrap,
        judgments=len(state.active),
        operators=len({one.operator for one in state.active}),
        champion_tag=champion.tag,
        won=won,
        lost=len(mine) - won - ties,
        ties=ties,
        parts_made=sum(trial.usable and dict(trial.setting) == dict(setting) for trial in state.trials),
        p_better=found["p_better"],
        p_valid=found["p_valid"],
        keep=found.get("keep", False),
        better_than_known_good=found.get("better_than_known_good"),
        parts_won=found.get("won", 0),
        parts_lost=found.get("lost", 0),
        parts_tied=found.get("tied", 0),
        window_valid=found.get("window_valid"),
        window_better=found.get("window_better"),
    )
    windows = {one["name"]: one for one in found.get("window", ())}
    lines = tuple(
        Line(
            p.name,
            p.unit,
            setting[p.name],
            champion.setting[p.name],
            state.terms.known_good[p.name],
            windows.get(p.name, {}).get("low"),
            windows.get(p.name, {}).get("high"),
            tuple(windows.get(p.name, {}).get("options", ())),
            windows.get(p.name, {}).get("below", ""),
            windows.get(p.name, {}).get("above", ""),
            p.label or "",
        )
        for p in state.terms.parameters
    )
    return Recipe(name, state.terms.machine, _last(state), lines, evidence)


def _last(state: State) -> str:
    """The time of the last thing that counts for it."""
    times = [one.at for one in state.judgments] + [trial.ended_at for trial in state.trials if trial.ended_at]
    return f"{max(times):%Y-%m-%d %H:%M:%S} UTC" if times else "the beginning"


def _shown(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
