"""A part's picture as block graphics: a small pixmap beside the photo, drawn with half blocks of two colours each.

The photo itself is for browsers. Where a file of the same name that ends in `.ppm` (portable pixmap, P6, of at most
`LARGEST_BYTES`) lies beside it, on the machine of this console, the terminal shows that.
"""

import os
import re
import stat
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from rich.style import Style
from rich.text import Text

LARGEST_BYTES = 400_000
LEAST_LINES = 5  # of a picture that still tells something
_HEAD = re.compile(rb"P6\s+([1-9]\d{0,3})\s+([1-9]\d{0,3})\s+255\s")
_UPPER = "▀"  # its colour is the upper pixel, the ground behind it the lower one


@dataclass(frozen=True, slots=True)
class Pixmap:
    """Rows of pixels, three bytes each, from the upper left."""

    wide: int
    deep: int
    content: bytes

    def lines_for(self, width: int) -> int:
        """How many lines of a terminal it has in so many columns; a half block is about a square."""
        return max(1, round(width * self.deep / self.wide / 2))

    def colour(self, left: int, top: int, right: int, bottom: int) -> tuple[int, int, int]:
        """The mean of a field of pixels."""
        sums, count = [0, 0, 0], 0
        for y in range(top, max(bottom, top + 1)):
            begin = 3 * (y * self.wide + left)
            piece = self.content[begin : begin + 3 * max(right - left, 1)]
            for part in range(3):
                sums[part] += sum(piece[part::3])
            count += len(piece) // 3
        red, green, blue = (one // max(count, 1) for one in sums)
        return red, green, blue


def picture_of(photo: str | None) -> Pixmap | None:
    """The pixmap beside a photo; None where there is none that this machine can show."""
    if not photo or "://" in photo or "\0" in photo:
        return None
    try:
        path = Path(photo).with_suffix(".ppm")
        found = path.stat()
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST_BYTES:
        return None
    return _read(path, found.st_mtime_ns)


@lru_cache(maxsize=8)
def _read(path: Path, changed_ns: int) -> Pixmap | None:
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            content = file.read(LARGEST_BYTES)
    except OSError:
        return None
    head = _HEAD.match(content)
    if head is None:
        return None
    wide, deep = int(head[1]), int(head[2])
    pixels = content[head.end() :]
    return Pixmap(wide, deep, pixels) if len(pixels) == 3 * wide * deep else None


def half_blocks(picture: Pixmap, width: int, lines: int) -> Text:
    """The picture in at most so many columns and lines, as large as it goes; a line break ends each line."""
    columns = min(width, max(1, round(2 * lines * picture.wide / picture.deep)))
    rows = min(lines, picture.lines_for(columns))
    across = [picture.wide * column // columns for column in range(columns + 1)]
    down = [picture.deep * row // (2 * rows) for row in range(2 * rows + 1)]
    text = Text(no_wrap=True)
    for row in range(rows):
        for column in range(columns):
            upper, lower = (
                "#{:02x}{:02x}{:02x}".format(
                    *picture.colour(across[column], down[half], across[column + 1], down[half + 1])
                )
                for half in (2 * row, 2 * row + 1)
            )
            text.append(_UPPER, Style(color=upper, bgcolor=lower))
        text.append("\n")
    return text
