"""The fixed keys: which there are, in which row, and what each does."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Key:
    """A key: what is pressed, Textual's name for it, the text's key and the action."""

    shown: str
    name: str
    text: str
    action: str


def both(name: str) -> str:
    """A key's names with and without Caps Lock: `h` must hold the machine in either case."""
    return f"{name},{name.upper()}" if len(name) == 1 and name.isalpha() else name


ANSWERS = (
    Key("1", "1", "key.left", "judge('left')"),
    Key("2", "2", "key.right", "judge('right')"),
    Key("0", "0", "key.tie", "tie"),
    Key("x", "x", "key.scrap", "scrap"),
    Key("r", "r", "key.repeat", "repeat"),
    Key("u", "u", "key.undo", "undo"),
)
CONTROL = (
    Key("a", "a", "key.approve", "approve"),
    Key("n", "n", "key.reject", "reject"),
    Key("h", "h", "key.hold", "hold"),
    Key("s", "s", "key.stop", "stop"),
    Key("v", "v", "key.valid", "valid"),
    Key("?", "question_mark", "key.why", "why"),
    Key("l", "l", "key.language", "language"),
)
SCREENS = (
    Key("t", "t", "key.history", "page('history')"),
    Key("c", "c", "key.champion", "page('champion')"),
    Key("p", "p", "key.parameters", "page('parameters')"),
    Key("m", "m", "key.alarms", "page('alarms')"),
    Key("o", "o", "key.operator", "sign_in"),
    Key("g", "g", "key.lot", "lot"),
    Key("q", "q", "key.quit", "quit"),
)
ALL = (*ANSWERS, *CONTROL, *SCREENS)
