"""Texts and numbers in the reader's language: one file a language, all with the same texts and placeholders."""

import math
import os
import tomllib
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from importlib import resources

from tuner.basics.sentences import LANGUAGES as LANGUAGES
from tuner.basics.sentences import Sentence, tell
from tuner.basics.text import chance, listed, nearest, shown, span
from tuner.basics.times import wall_clock
from tuner.core.space.values import Value
from tuner.errors import TunerError
from tuner.wire.messages import ParameterView

_RESOLUTION = 1e-3  # of a parameter's range: finer differences no person can set or see
_MOST_DIGITS = 12


class LanguageError(TunerError):
    """There are no texts in a language; trying again does not help."""

    exit_code = 2


@cache
def load(language: str) -> Mapping[str, str]:
    """All texts of a language by `section.name`."""
    file = resources.files("tuner.console") / "texts" / f"{language}.toml"
    tables = tomllib.loads(file.read_text("utf-8"))
    return {f"{section}.{name}": text for section, table in tables.items() for name, text in table.items()}


def choose_language(wanted: str | None, environ: Mapping[str, str] | None = None) -> str:
    """The language asked for, by option or TUNER_LANGUAGE, else the environment's, else English."""
    environ = os.environ if environ is None else environ
    wanted = wanted if wanted is not None else environ.get("TUNER_LANGUAGE") or None
    if wanted is not None:
        if wanted not in LANGUAGES:
            known = f"{nearest(wanted, LANGUAGES)}: {listed(LANGUAGES)}"
            raise LanguageError(f"there is no language {shown(wanted)}{known}")
        return wanted
    # the first that is set decides, as everywhere: LC_ALL=C asks for English whatever LANG says
    place = next(filter(None, (environ.get(name) for name in ("LC_ALL", "LC_MESSAGES", "LANG"))), "")
    return place[:2] if place[:2] in LANGUAGES else "en"


class Words:
    """Speaks one language."""

    def __init__(self, language: str) -> None:
        self.language = language
        self._texts = load(language)

    def __call__(self, key: str, /, **fields: object) -> str:
        """A text with its placeholders filled in; numbers and what the daemon said are told in this language."""
        text = self._texts[key]
        return text.format(**{name: self._shown(value) for name, value in fields.items()}) if fields else text

    def _shown(self, value: object) -> object:
        if isinstance(value, float):
            return f"{value:g}".replace(".", self._texts["language.decimal"])
        return self.told(value) if isinstance(value, Sentence) else value

    def told(self, text: str) -> str:
        """What the daemon said, in this language as far as it has a code."""
        return tell(text, self.language)

    def known(self, key: str, otherwise: str) -> str:
        """A text that may not be there, such as that of a code from a newer daemon."""
        return self._texts.get(key, otherwise)

    def next_language(self) -> str:
        """The one after this, round and round."""
        return LANGUAGES[(LANGUAGES.index(self.language) + 1) % len(LANGUAGES)]

    def number(self, value: float, decimals: int = 0, *, grouped: bool = True) -> str:
        """A number with the language's marks."""
        text = f"{value:,.{decimals}f}" if grouped else f"{value:.{decimals}f}"
        return text.translate({ord(","): self("language.thousands"), ord("."): self("language.decimal")})

    def percent(self, share: float) -> str:
        """A probability, never rounded to certainty."""
        return chance(share)

    def value(self, value: Value, parameter: ParameterView | None = None, *, unit: bool = True) -> str:
        """A parameter's value, as exact as the parameter can be set; without thousands marks, as machines show it."""
        if isinstance(value, str):
            return value
        text = self.number(value, decimals_of(value, parameter), grouped=False)
        return f"{text} {parameter.unit}" if unit and parameter is not None and parameter.unit else text

    def difference(self, new: float, old: float, parameter: ParameterView) -> str:
        """By how much two values of a parameter differ, with a sign."""
        text = self.number(abs(new - old), decimals_of(new, parameter), grouped=False)
        return f"{'+' if new > old else '-'}{text}"

    def clock(self, at: str | datetime, *, seconds: bool = False) -> str:
        """A time of day where the reader is; with the date if it is another day than today."""
        return wall_clock(datetime.fromisoformat(at) if isinstance(at, str) else at, seconds=seconds)

    def span(self, seconds: float) -> str:
        """A time span such as 0:07, 12:40 or 3:05 h."""
        return span(seconds)


def decimals_of(value: float, parameter: ParameterView | None) -> int:
    """How many digits after the decimal mark a parameter's values need."""
    if isinstance(value, int) or (parameter is not None and parameter.kind == "integer"):
        return 0
    if parameter is not None and (grid := parameter.step or parameter.resolution):
        return _digits(grid)
    if parameter is None or parameter.low is None or parameter.high is None:
        return max(0, min(_MOST_DIGITS, 3 - math.floor(math.log10(abs(value))))) if value else 0
    resolution = (parameter.high - parameter.low) * _RESOLUTION
    if parameter.low > 0 and parameter.high / parameter.low > 1e3:  # a logarithmic scale
        resolution = abs(value) * _RESOLUTION
    return max(0, min(_MOST_DIGITS, -math.floor(math.log10(resolution)))) if resolution > 0 else 0


def _digits(step: float) -> int:
    text = f"{step:.{_MOST_DIGITS}f}".rstrip("0")
    return len(text.partition(".")[2])
