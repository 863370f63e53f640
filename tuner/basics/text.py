"""Small pieces of sentences shared by all messages to the user."""

import json
from collections.abc import Iterable
from difflib import get_close_matches
from unicodedata import category

_LONGEST = 40
_HOUR_S = 3600
_DOUBT = 0.01
_WHOLE_FROM = 0.0995  # of a share, in percent


def nearest(word: str, known: Iterable[str]) -> str:
    """A clause that names the nearest known word, or nothing: `; did you mean "speed"?`."""
    found = nearest_of(word, known)
    return "" if found is None else f"; did you mean {shown(found)}?"


def nearest_of(word: str, known: Iterable[str]) -> str | None:
    """The nearest known word, or None."""
    by_lower = {candidate.lower(): candidate for candidate in known}
    found = get_close_matches(word.lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[found[0]] if found else None


def printable(text: str) -> str:
    """What others said, without what a terminal or a log would obey: a space for each such letter.

    Spaces of other widths stay: they may be part of an option's name, or of a file's.
    """
    return "".join(letter if letter.isprintable() or category(letter) == "Zs" else " " for letter in text)


def on_one_line(text: str) -> str:
    """What others said, on one line: no line breaks, no escape sequences, no runs of spaces."""
    return " ".join(printable(text).split())


def listed(words: Iterable[object]) -> str:
    """All words, comma separated, texts in quotes."""
    return ", ".join(shown(word) for word in words)


def shown(value: object) -> str:
    """A value as the user wrote it in TOML, on one line and not longer than a glance."""
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, str | bool):
        text = json.dumps(value, ensure_ascii=not str(value).isprintable())
    else:
        text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def span(seconds: float) -> str:
    """A time span such as `0:07`, `12:40` or `3:05 h`."""
    whole = max(0, round(seconds))
    if whole < _HOUR_S:
        return f"{whole // 60}:{whole % 60:02d}"
    return f"{whole // _HOUR_S}:{whole % _HOUR_S // 60:02d} h"


def chance(share: float) -> str:
    """A probability, never rounded to certainty: `<1 %`, `37 %`, `>99 %`."""
    if share < _DOUBT:
        return "<1 %"
    return ">99 %" if share > 1 - _DOUBT else f"{share * 100:.0f} %"


def share_text(share: float) -> str:
    """A share that may be small: `2 %`, `0.4 %`."""
    whole = share >= _WHOLE_FROM or round(share * 100, 9) % 1 == 0
    return f"{share * 100:.0f} %" if whole else f"{share * 100:.1f} %"


def counted(number: int, noun: str) -> str:
    """`1 campaign`, `2 campaigns`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
