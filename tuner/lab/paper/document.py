"""A page as a list of blocks, written as Markdown beside its pictures or as one HTML file that needs nothing else."""

import html
from collections.abc import Sequence
from dataclasses import dataclass

STYLE = (
    "body{font:15px/1.5 sans-serif;max-width:62em;margin:2em auto;padding:0 1em;color:#222}"
    "table{border-collapse:collapse;font-size:13px;margin:1em 0}td,th{border:1px solid #bbb;padding:.3em .5em;"
    "text-align:left;vertical-align:top}th{background:#eee}code{background:#f3f3f3}svg{max-width:100%;height:auto}"
    "td.agrees{background:#d9f2d9}td.disagrees{background:#f8d7d7}td.undecided{background:#fff3cd}"
)


@dataclass(frozen=True)
class Heading:
    """A heading of level 1 to 3."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Code:
    """Lines to type."""

    text: str


@dataclass(frozen=True)
class Table:
    """A table of texts."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Picture:
    """A picture as SVG text, with the name of its file and what it shows."""

    name: str
    title: str
    svg: str


Block = Heading | Text | Code | Table | Picture


def to_markdown(blocks: Sequence[Block], pictures: str) -> str:
    """Return the page as Markdown; its pictures are files in the folder `pictures` beside it."""
    return "\n\n".join(_markdown(block, pictures) for block in blocks) + "\n"


def _markdown(block: Block, pictures: str) -> str:
    match block:
        case Heading(text, level):
            return f"{'#' * level} {text}"
        case Text(text):
            return text
        case Code(text):
            return "\n".join(f"    {line}" for line in text.splitlines())
        case Table(head, rows):
            lines = [head, ("---",) * len(head), *rows]
            return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
        case Picture(name, title, _):
            return f"![{title}]({pictures}/{name}.svg)"


def to_html(blocks: Sequence[Block], title: str) -> str:
    """Return the page as one HTML file with its pictures inside."""
    body = "\n".join(_html(block) for block in blocks)
    head = f'<meta charset="utf-8"><title>{html.escape(title)}</title><style>{STYLE}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>\n{body}\n</body></html>\n'


def _html(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"<h{level}>{html.escape(text)}</h{level}>"
        case Text(text):
            return f"<p>{html.escape(text)}</p>"
        case Code(text):
            return f"<pre><code>{html.escape(text)}</code></pre>"
        case Table(head, rows):
            top = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
            lines = ("".join(_cell(cell) for cell in row) for row in rows)
            return f"<table><tr>{top}</tr>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"
        case Picture(name, title, svg):
            # ids of different pictures must not meet in one page
            inside = svg[svg.index("<svg") :].replace('id="', f'id="{name}-')
            inside = inside.replace('xlink:href="#', f'xlink:href="#{name}-').replace("url(#", f"url(#{name}-")
            return f'<figure role="img" aria-label="{html.escape(title)}">{inside}</figure>'


def _cell(text: str) -> str:
    mark = f' class="{text}"' if text in ("agrees", "disagrees", "undecided") else ""
    return f"<td{mark}>{html.escape(text)}</td>"
