"""Writes the table of operations into docs/wire.md, between its two marks: `python -m scripts.wire_tables`."""

from collections.abc import Iterable
from pathlib import Path

from tuner.basics.vocabulary import Role
from tuner.wire.operation import AnyOperation
from tuner.wire.operations import OPS

PAGE = Path(__file__).parents[1] / "docs" / "wire.md"
BEGIN = "<!-- made by `python -m scripts.wire_tables` from tuner/wire/operations.py -->\n"
END = "<!-- end of what is made -->\n"
_TITLES = ("op", "campaign", "roles", "body", "status", "answer", "events", "what it does")


def table() -> str:
    """All operations in the order of the table in the code."""
    lines = [_line(_TITLES), f"|{'---|' * len(_TITLES)}", *(_line(_cells(row)) for row in OPS.values())]
    return "".join(f"{line}\n" for line in lines)


def updated(page: str) -> str:
    """The page with the table as it is now."""
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}{table()}{END}{rest.partition(END)[2]}"


def _cells(row: AnyOperation) -> list[str]:
    roles = "all" if len(row.roles) == len(Role) else ", ".join(role for role in Role if role in row.roles)
    fields = [f"`{name}`" if field.is_required() else f"[`{name}`]" for name, field in row.body.model_fields.items()]
    events = ", ".join(f"`{event}`" for event in row.events)
    return [
        f"`{row.name}`",
        "yes" if row.campaign else "no",
        roles,
        ", ".join(fields) or "-",
        row.status,
        row.answer.__name__,
        events or "-",
        row.about,
    ]


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text()))
