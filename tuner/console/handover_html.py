"""The shift handover as one HTML page to print: no script, nothing loaded from outside."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_STYLE = """
body { font: 11pt/1.35 sans-serif; max-width: 60em; margin: 1.5em auto; color: #222; }
h1 { font-size: 1.4em; margin-bottom: 0; } h2 { font-size: 1.05em; margin: 1em 0 .2em; }
p { margin: .1em 0; } .when { color: #666; }
table { border-collapse: collapse; width: 100%; font-size: .9em; }
th, td { text-align: left; vertical-align: top; padding: .15em .6em .15em 0; border-bottom: 1px solid #ccc; }
@media print { body { margin: 0; } section { break-after: page; } section:last-child { break-after: auto; } }
"""


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and its lines; `table` holds rows of cells, the first one heads."""

    title: str
    lines: tuple[str, ...] = ()
    table: tuple[tuple[str, ...], ...] = ()


def page(language: str, reports: Sequence[tuple[str, str, Sequence[Section]]]) -> str:
    """The page of one or more campaigns."""
    title = escape(reports[0][0])
    body = "\n".join(_report(*report) for report in reports)
    return (
        f'<!DOCTYPE html>\n<html lang="{language}">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _report(title: str, subtitle: str, parts: Sequence[Section]) -> str:
    sections = "\n".join(_part(part) for part in parts)
    return f'<section>\n<h1>{escape(title)}</h1>\n<p class="when">{escape(subtitle)}</p>\n{sections}\n</section>'


def _part(part: Section) -> str:
    lines = "".join(f"<p>{escape(line)}</p>" for line in part.lines)
    if part.table:
        heads = "".join(f"<th>{escape(cell)}</th>" for cell in part.table[0])
        rows = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in part.table[1:])
        lines += f"<table><tr>{heads}</tr>{rows}</table>"
    return f"<h2>{escape(part.title)}</h2>\n{lines}"
