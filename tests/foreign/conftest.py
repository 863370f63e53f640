"""A run ends with tables: which software of others, how many trials, how often it was held, and what came of it."""

import pytest

ROWS: list[tuple[str, ...]] = []
HEAD = ("software", "version", "trials", "holds", "seconds", "result")
ANSWERS: list[tuple[str, ...]] = []
ANSWERED = ("software", "waits for", "hold", "stop", "abort")


@pytest.fixture(scope="session")
def rows() -> list[tuple[str, ...]]:
    return ROWS


@pytest.fixture(scope="session")
def answers() -> list[tuple[str, ...]]:
    return ANSWERS


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for title, head, rows in (("foreign software", HEAD, ROWS), ("seconds until answered", ANSWERED, ANSWERS)):
        if rows:
            terminalreporter.section(title)
            widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
            for row in (head, *rows):
                line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
                terminalreporter.write_line(line.rstrip())
