"""Names of people: one form for each, and none that passes for the daemon's or for another key's.

A name may be in any script. Within a word all letters are of one (Han, kana and Hangul count as one), for a Cyrillic
letter in a Latin word has one purpose only. Whole words that look like a reserved name are found by a table of the
letters that Latin shares with Cyrillic, Greek and a few others.
"""

# ruff: noqa: RUF001 - the letters that look alike are meant

import unicodedata

RESERVED = "tuner"  # who the daemon's own words are by
LONGEST = 64
VIA = " via "  # between person and key in the journal's signatures

_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")  # letters and signs that show nothing
_EAST_ASIAN = frozenset({"CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO", "KATAKANA-HIRAGANA", "IDEOGRAPHIC"})
_LOOKS = {  # what passes for a Latin letter
    "a": "аαᴀɑ", "c": "сᴄ", "d": "ԁ", "e": "еᴇ", "g": "ɡ", "h": "һ", "i": "іιıɪ", "j": "ј", "k": "κ",
    "l": "ӏʟ", "n": "пɴոνᴨ", "o": "оοᴏ", "p": "рρ", "q": "ԛ", "r": "гʀ", "s": "ѕ", "t": "тτᴛտ", "u": "υᴜս",
    "v": "ѵᴠ", "w": "ԝ", "x": "хχ", "y": "уγ", "A": "АΑ", "B": "ВΒ", "C": "С", "E": "ЕΕꓰᎬ", "H": "НΗ",
    "I": "ІΙ", "J": "Ј", "K": "КΚ", "M": "МΜ", "N": "ΝⲚꓠ", "O": "ОΟ", "P": "РΡ", "Q": "Ԛ", "R": "ꓣᎡ",
    "S": "Ѕ", "T": "ТΤⲦꓔᎢ", "U": "ꓴ", "W": "Ԝ", "X": "ХΧ", "Y": "УΥ", "Z": "Ζ", "V": "Ѵ",
}  # fmt: skip
_AS_LATIN = str.maketrans({look: letter for letter, looks in _LOOKS.items() for look in looks})


class NameProblemError(ValueError):
    """Why a text is no name for a person; the sentence is for people."""


def person_name(text: str) -> str:
    """The one form of a name: composed characters (NFKC), single blanks.

    Raises:
        NameProblemError: it is none, or passes for another's.
    """
    name = " ".join(unicodedata.normalize("NFKC", text).split())
    shown = ascii(name) if not name.isprintable() or _BLANK & set(name) else f"{name!r}"
    if not name or len(name) > LONGEST or not name.isprintable() or _BLANK & set(name):
        raise NameProblemError(
            f"an actor is the name of a person or program, of 1 to {LONGEST} characters that can be seen, not {shown}"
        )
    mixed = next((word for word in name.split() if len(_scripts(word)) > 1), None)
    if mixed is not None:
        scripts = " and ".join(sorted(_scripts(mixed))).lower()
        raise NameProblemError(f"the name {shown} mixes {scripts} letters in one word; write it in one script")
    looks = _skeleton(name)
    if looks == RESERVED:
        raise NameProblemError(f"{shown} is or looks like {RESERVED!r}, the daemon's own name; give another")
    if VIA in _skeleton(name.replace("ν", "v")):  # it passes for v as well as for n
        raise NameProblemError(
            f"the name {shown} has the word 'via', which stands between person and key; leave it out"
        )
    return name


def same_name(one: str, other: str) -> bool:
    """Whether two names are one person's: capitals do not matter."""
    return _folded(one) == _folded(other)


def _folded(name: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold()).split())


def _skeleton(name: str) -> str:
    """What a name looks like to a hasty reader, in small Latin letters."""
    plain = "".join(letter for letter in name if unicodedata.category(letter) != "Mn")  # marks that compose are gone
    return plain.translate(_AS_LATIN).casefold().translate(_AS_LATIN)


def _scripts(word: str) -> set[str]:
    """The scripts of a word's letters, by their Unicode names: the standard library knows no scripts."""
    found = set()
    for letter in word:
        if unicodedata.category(letter) in ("Lu", "Ll", "Lt", "Lo"):
            script = unicodedata.name(letter, "UNKNOWN").partition(" ")[0]
            found.add("EAST ASIAN" if script in _EAST_ASIAN else script)
    return found
