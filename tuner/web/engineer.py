"""The engineer's window on one campaign: what the model believes, what was tried, who answers how; no ranking."""

from collections.abc import Sequence
from typing import Any

from tuner.console.campaign_text import brief, rows
from tuner.console.language import Words
from tuner.console.pages.champion import reasons, record, window
from tuner.console.pages.history import about, judged, outcome
from tuner.console.pages.why import circle_text
from tuner.web.drawing import Drawn, progress, slice_picture
from tuner.web.maps import BORDERS, map_picture
from tuner.web.model import Known
from tuner.wire.messages import CampaignView, JudgmentView, TrialView
from tuner.wire.model_answers import WindowView

_MOST_SLICES = 12


class Engineer:
    """A campaign with what the model has said of it so far."""

    def __init__(self, words: Words, view: CampaignView, known: Known) -> None:
        self._words = words
        self._view = view
        self._known = known
        self._trials: Sequence[TrialView] = known.trials.trials if known.trials else ()
        self._judgments: Sequence[JudgmentView] = known.trials.judgments if known.trials else ()
        self._tags = {trial.number: trial.tag for trial in self._trials}

    def fields(self) -> dict[str, Any]:
        """What the template shows."""
        view, known, words = self._view, self._known, self._words
        champion = view.champion.number if view.champion else None
        made = [trial for trial in self._trials if trial.valid is not None and trial.excluded is None]
        return {
            "computing": words("champion.computing") if known.asking else "",
            "failed": words("champion.not_ready", text=known.failed) if known.failed else "",
            "progress": progress(words, made, champion, known.maps.standing) if known.maps else None,
            "maps": self._maps(made, champion),
            "map_legend": words("page.map_legend", **{kind: words.percent(level) for kind, level in BORDERS}),
            "slices": self._slices(made),
            "importance": self._importance(),
            "people_noise": self._people(),
            "circles": self._circles(),
            "recommended": self._recommended(),
            "evidence": record(words, known.champion) if known.champion and known.champion.champion else "",
            "outlook": self._outlook(),
        }

    def history(self) -> list[dict[str, Any]]:
        """A row for each trial, the newest first."""
        words, view = self._words, self._view
        return [
            {
                "number": trial.number,
                "tag": trial.tag,
                "outcome": outcome(words, trial),
                "kind": _kind(trial),
                "setting": brief(words, view, trial.setting, " · "),
                "at": words.clock(trial.ended_at or trial.proposed_at),
                "champion": view.champion is not None and view.champion.number == trial.number,
                "measured": [f"{name} {words.value(value)}" for name, value in trial.measurements.items()],
                "judgments": [
                    {"number": j.number, "text": judged(words, trial, j, self._tags), "counts": j.retracted is None}
                    for j in about(trial, self._judgments)
                ],
            }
            for trial in self._trials
        ]

    def _windows(self) -> dict[str, WindowView]:
        have = self._known.recommended
        return {one.name: one for one in have.window} if have is not None else {}

    def _maps(self, made: Sequence[TrialView], champion: int | None) -> list[tuple[str, Drawn]]:
        """The pairs of parameters that matter most."""
        have, best = self._known.maps, self._known.recommended
        by_name = {one.name: one for one in self._view.parameters}
        recommended = (best.setting if best else None, self._windows())
        return [
            (
                f"{by_name[one.across].called} · {by_name[one.down].called}",
                map_picture(self._words, one, (by_name[one.across], by_name[one.down]), made, champion, recommended),
            )
            for one in (have.maps if have else ())
            if one.across in by_name and one.down in by_name
        ]

    def _slices(self, made: Sequence[TrialView]) -> list[dict[str, Any]]:
        have = self._known.slices
        if have is None:
            return []
        by_name = {one.name: one for one in self._view.parameters}
        found = []
        for cut in have.slices[:_MOST_SLICES]:
            parameter = by_name.get(cut.name)
            if parameter is None:
                continue
            best = max(range(len(cut.values)), key=cut.better.__getitem__)
            words = self._words
            sentence = words(
                "page.slice_words",
                best=words.value(cut.values[best], parameter),
                better=words.percent(cut.better[best]),
                at=words.value(cut.at, parameter),
                valid=words.percent(cut.valid[best]),
            )
            picture = slice_picture(words, cut, parameter, made, self._windows().get(cut.name))
            found.append({"name": parameter.called, "picture": picture, "sentence": sentence})
        return found

    def _importance(self) -> list[tuple[str, float, str]]:
        have = self._known.explained
        if have is None:
            return []
        ordered = sorted(have.importance.items(), key=lambda item: -item[1])
        return [(name, share, self._words.percent(share)) for name, share in ordered]

    def _people(self) -> list[str]:
        """Whose answers scatter, in the order of their names: it is about questions, not about people."""
        have = self._known.explained
        operators = list(have.operators.items()) if have is not None else []
        words = self._words
        return sorted(
            words("why.noise", operator=name, factor=words.number(noise, 1), first=operators[0][0])
            for name, noise in operators[1:]
        )

    def _circles(self) -> list[dict[str, Any]]:
        """Answers that contradict each other, by the parts' tags, and the judgment to ask again."""
        have = self._known.explained
        if have is None:
            return []
        return [
            {
                "text": circle_text(self._words, one),
                "judgment": one["judgment"],
            }
            for one in have.contradictions
        ]

    def _recommended(self) -> dict[str, Any] | None:
        have, view, words = self._known.recommended, self._view, self._words
        if have is None or have.setting is None:
            return None
        beside = view.champion.setting if view.champion else None
        windows = self._windows()
        compared = rows(words, view.parameters, have.setting, beside)
        return {
            "rows": [
                (row, window(words, windows[one.name], one) if one.name in windows else "")
                for row, one in zip(compared, view.parameters, strict=True)
            ],
            "words": [sentence for sentence, _ in reasons(words, view, have)],
        }

    def _outlook(self) -> str:
        have, words = self._known.explained, self._words
        look = have.outlook if have is not None else None
        if not look:
            return ""
        chances = {"percent": words.percent(look["left"]), "against": words.percent(look["against"])}
        return words("champion.stop" if look["stop"] else "champion.go_on", **chances)


def _kind(trial: TrialView) -> str:
    """By what a history is filtered."""
    if trial.excluded is not None:
        return "excluded"
    return "open" if trial.valid is None else "valid" if trial.valid else "scrap"
