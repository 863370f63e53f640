"""Writes docs/configuration.md from the models of the configuration: `python -m scripts.config_page`."""

from itertools import groupby
from pathlib import Path

from tuner.setup.keys import SETTINGS, Key, all_keys

PAGE = Path(__file__).parents[1] / "docs" / "configuration.md"
_HEAD = """# Configuration

<!-- made by `python -m scripts.config_page` from the models in tuner/config and the adapters: change those -->

Every key of a configuration file. A file is [TOML](https://toml.io): `[table]` begins a table, `[[table]]` one more
table of a list. [configs/](../configs) has a commented file for each adapter, `tuner init` writes one from answers,
`tuner check-config FILE` tells every error of a file at once, and `tuner config explain KEY` prints what stands here
about a key or a table.

A key without a default must be there. Numbers have the unit that the key ends with (`_s` are seconds), or the one in
the column.
"""
_ADAPTERS = """
# Keys of the adapters

They stand in `[campaign.adapter.settings]`, and below it where the heading says so; `NAME` is a name that you choose,
mostly that of a parameter. `tuner adapters info ADAPTER` prints the same for adapters that do not ship with tuner.
"""


def page() -> str:
    """The whole page."""
    parts = [_HEAD]
    told = False
    for (table, owner), group in groupby(all_keys(), lambda key: (key.table, key.owner)):
        if SETTINGS in table and not told:
            parts.append(_ADAPTERS)
            told = True
        parts.append(_section(table, owner, list(group)))
    return "".join(parts)


def _section(table: str, owner: str, keys: list[Key]) -> str:
    which = f" with `name = {owner!r}`" if SETTINGS in table else f" with `kind = {owner!r}`" if owner else ""
    lines = [
        f"\n## `{table}`{which}\n".replace("'", '"'),
        "| key | type and limits | default | unit | meaning | example |",
        "|---|---|---|---|---|---|",
    ]
    for key in keys:
        limits = ", ".join(filter(None, (key.kind, key.limits)))
        default = "must be there" if key.default is None else f"`{key.default}`"
        cells = (f"`{key.name}`", limits, default, key.unit, key.meaning, f"`{key.example}`")
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
