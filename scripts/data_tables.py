"""Writes the columns of `tuner export` into docs/data.md, between its two marks: `python -m scripts.data_tables`."""

from pathlib import Path

from tuner.tables.campaign_tables import COLUMNS

PAGE = Path(__file__).parents[1] / "docs" / "data.md"
BEGIN = "<!-- made by `python -m scripts.data_tables` from tuner/tables/campaign_tables.py -->\n"
END = "<!-- end of what is made -->\n"


def tables() -> str:
    """All columns that every campaign has."""
    lines = ["| table | column | type | unit | meaning |", "|---|---|---|---|---|"]
    for name, columns in COLUMNS.items():
        lines += [f"| {name} | `{c.name}` | {c.kind} | {c.unit} | {c.meaning} |" for c in columns]
    return "".join(f"{line}\n" for line in lines)


def updated(page: str) -> str:
    """The page with the table as it is now."""
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}{tables()}{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text()))
