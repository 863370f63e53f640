"""Sentences for people: each is a code with values that also is its English text; `tell` says it in another language.

A sentence is a text, so that logs, journals and clients that know nothing of codes read on as before. What has no code,
such as what people and other people's adapters write, is told as it is.

The texts are in `texts/LANGUAGE.toml`, with the values in braces. Beside Python's own, there are these formats:
`quoted`: in quotes, as in TOML; `decimal`: a number that is written already, such as 0.05; `percent`: a share times
100; `chance`: a probability that is never rounded to certainty; `share`: one that may be small, as 0.4 %; `span`:
seconds as 12:40; `moment`: a time as the wire has it, in UTC in the text and by the reader's clock when it is told;
`# trial|# trials`: one or several; of a list anything else stands between its entries.
"""

import json
import math
import string
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib import resources
from typing import Any, NamedTuple, Self

from tuner.basics.text import chance, listed, nearest_of, share_text, shown, span
from tuner.basics.times import wall_clock

ENGLISH = "en"
LANGUAGES = (ENGLISH, "de", "es", "zh")
TOLD = "told"  # the field beside sentences that has their codes
_SEMICOLONS = (";", "\N{FULLWIDTH SEMICOLON}")
_DEEPEST = 8  # sentences in sentences
_POINT = "language.decimal"
_SHARES = {"chance": chance, "share": share_text}


class _Reader(NamedTuple):
    """Who reads: in which language, and whether by a clock on a wall or in a file that is read elsewhere."""

    language: str
    local: bool = True


_WRITTEN = _Reader(ENGLISH, local=False)
_MOST_NAMES = 12  # that a sentence lists


class Sentence(str):
    """An English text that knows what it says: its code, and the values in it; without a code it is only a text."""

    __slots__ = ("code", "values")
    code: str
    values: Mapping[str, Any]

    def __new__(cls, text: str = "", code: str = "", values: Mapping[str, Any] | None = None) -> Self:
        """Make one of what is known; `say` finds the text of a code."""
        made = super().__new__(cls, text)
        made.code, made.values = code, values or {}
        return made

    def __str__(self) -> str:
        """Return the sentence itself: the text of an error that was made of one keeps its code."""
        return self

    def __getnewargs__(self) -> tuple[str, str, Mapping[str, Any]]:  # type: ignore[override]  # a text has one
        """Keep code and values in a copy."""
        return "".join(self), self.code, self.values

    @classmethod
    def of(cls, text: str) -> "Sentence":
        """The sentence itself, or a text as one."""
        return text if isinstance(text, Sentence) else Sentence(text)

    def said(self) -> dict[str, Any]:
        """Code and values as plain data."""
        return {"code": self.code, "values": dict(self.values)}


NOTHING = Sentence()


def say(code: str, /, **values: object) -> Sentence:
    """The sentence of a code, with its values: texts, numbers, other sentences, or lists of these."""
    plain = {name: _plain(value) for name, value in values.items()}
    return Sentence(_filled(load(ENGLISH)[code], plain, _WRITTEN, _DEEPEST), code, plain)


def listing(parts: Iterable[str]) -> Sentence:
    """Several sentences as one, with semicolons between them."""
    return say("list.several", parts=list(parts))


def no_campaign(name: str, known: Iterable[str]) -> Sentence:
    """What is said to whoever names a campaign that is not there, by daemon and commands alike."""
    names = sorted(known)
    near = nearest_of(name, names)
    meant = NOTHING if near is None else say("value.did_you_mean", word=near)
    if not names:
        rest = say("refused.none_yet")
    elif len(names) > _MOST_NAMES:
        rest = meant
    else:
        told = {"meant": meant, "names": names}
        rest = say("refused.meant_or_known", **told) if meant else say("refused.known_campaigns", names=names)
    return say("refused.no_campaign", name=name, rest=rest)


def written(value: object) -> str:
    """A value as it is written in TOML; a number in the reader's form."""
    text = shown(value)
    return say("value.number", number=text) if isinstance(value, int | float) and not isinstance(value, bool) else text


def tell(text: str, language: str) -> str:
    """A sentence in a language; what has no code, or one that only a newer daemon knows, as it is."""
    template = load(language).get(text.code) if isinstance(text, Sentence) else None
    if template is None or not isinstance(text, Sentence):
        return text
    try:
        return _filled(template, text.values, _Reader(language), _DEEPEST)
    except (KeyError, ValueError, IndexError, TypeError, AttributeError):  # another version's values
        return "".join(text)


@cache
def load(language: str) -> Mapping[str, str]:
    """The texts of a language by code."""
    file = resources.files("tuner.basics") / "texts" / f"{language}.toml"
    tables = tomllib.loads(file.read_text("utf-8"))
    return {f"{section}.{name}": text for section, table in tables.items() for name, text in table.items()}


def codes_of(fields: Iterable[tuple[str, object]]) -> dict[str, Any]:
    """The codes of all sentences among fields, by name; those of a list as `name.0`, `name.1`."""
    found = {}
    for name, value in fields:
        entries = enumerate(value) if isinstance(value, list | tuple) else ()
        for place, one in ((name, value), *((f"{name}.{number}", entry) for number, entry in entries)):
            if isinstance(one, Sentence) and one.code:
                found[place] = one.said()
    return found


def with_code(text: str, said: object) -> Sentence:
    """A text with the code that came beside it."""
    if not isinstance(said, Mapping) or not isinstance(said.get("values"), Mapping):
        return Sentence.of(text)
    return Sentence(text, str(said.get("code", "")), said["values"])


def to_json(text: str) -> Any:
    """A sentence in one piece: with its code if it has one, else its text."""
    return _plain(text)


def from_json(data: Any) -> Sentence:
    """A sentence that was in one piece."""
    return with_code(str(data.get("text", "")), data) if isinstance(data, Mapping) else Sentence(str(data))


def sentence_in(fields: Mapping[str, Any], name: str) -> Sentence:
    """A sentence of plain data, with its code if that is beside it."""
    codes = fields.get(TOLD)
    text = str(fields.get(name) or "")
    return with_code(text, codes.get(name) if isinstance(codes, Mapping) else None)


def _plain(value: object) -> Any:
    """A value as JSON has it."""
    if isinstance(value, Sentence):
        return {"text": "".join(value), **value.said()} if value.code else "".join(value)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float):
        number = int(value) if isinstance(value, int) else float(value)  # not numpy's
        return number if math.isfinite(number) else repr(number)
    if isinstance(value, Mapping):
        return shown(dict(value))
    return [_plain(one) for one in value] if isinstance(value, Sequence) and not isinstance(value, str) else str(value)


def _filled(template: str, values: Mapping[str, Any], reader: _Reader, deep: int) -> str:
    pieces = []
    for literal, name, form, _ in string.Formatter().parse(template):
        pieces.append(literal)
        if name is not None:
            pieces.append(_shown(values[name], form or "", reader, deep))
    return "".join(pieces)


def _shown(value: Any, form: str, reader: _Reader, deep: int) -> str:
    if isinstance(value, list):
        texts = [_shown(one, "", reader, deep) for one in value]
        if form.strip() in _SEMICOLONS:  # what is told on its own elsewhere may end with a full stop
            texts = [*(text if text.endswith("..") else text.rstrip(".。") for text in texts[:-1]), *texts[-1:]]
        return listed(texts) if form == "quoted" else (form or ", ").join(texts)
    if isinstance(value, Mapping):
        return _nested(value, reader, deep)
    if isinstance(value, str):
        if form == "decimal":
            return value.replace(".", load(reader.language)[_POINT])
        if form == "moment":
            moment = datetime.fromisoformat(value)
            return wall_clock(moment) if reader.local else f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
        return shown(value) if form == "quoted" else value
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if "|" in form:
        return form.split("|")[int(value != 1)].replace("#", str(value))
    if form == "span":
        return span(value)
    if form == "percent":
        return f"{value:.0%}".removesuffix("%")
    text: str = _SHARES[form](value) if form in _SHARES else f"{value:{form}}" if form else repr(value)
    return text.replace(".", load(reader.language)[_POINT])


def _nested(value: Mapping[str, Any], reader: _Reader, deep: int) -> str:
    text = str(value.get("text", ""))
    template = load(reader.language).get(str(value.get("code", "")))
    if template is None or deep <= 0:
        return text
    return _filled(template, value["values"], reader, deep - 1)
