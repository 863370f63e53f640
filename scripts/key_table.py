"""Writes the table of keys into docs/console.md, from the console's own table: python -m scripts.key_table."""

import re
from pathlib import Path

from tuner.basics.vocabulary import Mode, Role
from tuner.console.keyboard import ALARMS, CHAMPION, HISTORY, MAIN, WHY, Key
from tuner.console.language import Words
from tuner.wire.operations import OPS

PAGE = Path(__file__).parents[1] / "docs" / "console.md"
BEGIN, END = "<!-- keys: made by python -m scripts.key_table -->\n", "<!-- end of keys -->\n"
ROLES = tuple(Role)
WORDS = Words("en")


def row(key: Key) -> str:
    """A key's line: what it does, what must be there, in which states, and for which roles."""
    needs = (key.needs.__doc__ or "").partition("\n")[0].partition(":")[0].rstrip(".").lower() if key.needs else ""
    modes = ", ".join(WORDS(f"mode.{mode}") for mode in Mode if mode in key.ops) if len(key.ops) < len(Mode) else ""
    may = [frozenset(OPS[op].roles) for op in key.ops.values()]
    roles = ", ".join(role for role in ROLES if any(role in one for one in may)) if may else "all"
    return f"| `{key.shown}` | {WORDS(key.help)} | {needs} | {modes if key.ops else ''} | {roles} |\n"


def table() -> str:
    """The whole table."""
    lines = ["| Key | What it does | It needs | In the states | For the roles |\n", "|---|---|---|---|---|\n"]
    lines += [row(key) for key in MAIN]
    for page, keys in (("history", HISTORY), ("champion", CHAMPION), ("why", WHY), ("alarms", ALARMS)):
        lines += [row(key).replace("` |", f"` in the {page} |", 1) for key in keys]
    return "".join(lines)


def updated(text: str) -> str:
    """The page with the table as it is now."""
    return re.sub(f"{re.escape(BEGIN)}.*?{re.escape(END)}", lambda _: BEGIN + table() + END, text, flags=re.S)


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text("utf-8")), "utf-8")
