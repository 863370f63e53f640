"""Refuses texts that are too large or too deep before they are parsed: a dotted key takes the square of its length."""

import re

LARGEST_BYTES = 1_000_000
MOST_ENTRIES = 30_000  # signs of structure outside of texts: four hundred campaigns have that many
DEEPEST = 20  # tables and lists in each other; the parsed table is checked for it, so that the key can be told
DEEPEST_PARSED = 300  # what is deeper, in brackets or by dots, is not parsed at all

# strings and comments are skipped whole; one that does not end is left to the parser, which says so
_TOKEN = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*+"""|\'\'\'(?:[^\']|\'(?!\'\'))*+\'\'\''
    r'|"(?:[^"\\\n]|\\.)*+"|\'[^\'\n]*+\'|\#[^\n]*+|[\[\]{},=.\n]',
    re.DOTALL,
)


def too_much(text: str) -> tuple[int, str] | None:
    """The line and a sentence on why a text is not even parsed, or None."""
    if len(text) > LARGEST_BYTES:
        return 1, f"is larger than {LARGEST_BYTES} bytes"
    depth = dots = entries = 0
    for token in _TOKEN.finditer(text):
        sign = token[0]
        if sign == ".":
            dots += 1
        elif len(sign) == 1:
            dots = 0
            depth = max(0, depth + (sign in "[{") - (sign in "]}"))
        entries += len(sign) == 1 and sign in "[{,=."
        if max(dots, depth) > DEEPEST_PARSED or entries > MOST_ENTRIES:
            line = text.count("\n", 0, token.start()) + 1
            return line, "is nested too deep" if entries <= MOST_ENTRIES else f"has more than {MOST_ENTRIES} entries"
    return None
