"""Finds the line of every key and list entry of a TOML text, which the standard library's parser does not tell.

The text has been accepted by `tomllib` before, so this scanner only follows the structure and never judges.
"""

import tomllib
from collections.abc import Mapping

from tuner.config.section import Path

_SPACE = " \t"
_BLANK = " \t\r\n"
_END_OF_BARE_VALUE = ",]}#\r\n"


def locate(text: str) -> Mapping[Path, int]:
    """Line numbers, from 1, by path; `()` is the whole file."""
    scanner = _Scanner(text)
    scanner.document()
    return scanner.lines


def line_of(path: Path, lines: Mapping[Path, int]) -> int:
    """The line of a path, or of the nearest table around it that has one."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, 1)


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.lines: dict[Path, int] = {(): 1}
        self.tables_in: dict[Path, int] = {}  # how many [[tables]] each array of tables has so far
        self._counted = (0, 1)  # a position and its line, so that lines are counted only once

    @property
    def char(self) -> str:
        return self.text[self.at : self.at + 1]

    def line(self) -> int:
        position, line = self._counted
        line += self.text.count("\n", position, self.at)
        self._counted = (self.at, line)
        return line

    def record(self, base: Path, keys: list[str], line: int) -> Path:
        """Note the line of a dotted key and of the tables it opens by the way."""
        path = base
        for key in keys:
            path = (*path, key)
            self.lines.setdefault(path, line)
        return path

    def document(self) -> None:
        table: Path = ()
        while True:
            self.skip(_BLANK)
            if not self.char:
                return
            if self.char == "#":
                self.comment()
            elif self.char == "[":
                table = self.header()
            else:
                self.pair(table)

    def header(self) -> Path:
        line = self.line()
        array = self.text.startswith("[[", self.at)
        self.at += 2 if array else 1
        keys = self.keys()
        self.at += 2 if array else 1
        path: Path = ()
        for position, key in enumerate(keys, start=1):
            path = self.record(path, [key], line)
            if array and position == len(keys):
                self.tables_in[path] = self.tables_in.get(path, 0) + 1
            if path in self.tables_in:
                path = (*path, self.tables_in[path] - 1)
                self.lines.setdefault(path, line)
        # a table that was only passed through before is now opened here
        if not array:
            self.lines[path] = line
        return path

    def pair(self, table: Path) -> None:
        line = self.line()
        keys = self.keys()
        self.at += 1  # the equals sign
        self.skip(_SPACE)
        self.value(self.record(table, keys, line))

    def keys(self) -> list[str]:
        """A dotted key, up to the character after it."""
        keys = []
        while True:
            self.skip(_SPACE)
            if self.char and self.char in "\"'":
                keys.append(self.quoted_key())
            else:
                start = self.at
                while self.char and self.char not in " \t.=]\r\n":
                    self.at += 1
                keys.append(self.text[start : self.at])
            self.skip(_SPACE)
            if self.char != ".":
                return keys
            self.at += 1

    def quoted_key(self) -> str:
        start = self.at
        self.string()
        return str(tomllib.loads(f"key = {self.text[start : self.at]}")["key"])

    def value(self, path: Path) -> None:
        if self.char and self.char in "\"'":
            self.string()
        elif self.char == "[":
            self.array(path)
        elif self.char == "{":
            self.inline_table(path)
        else:
            while self.char and self.char not in _END_OF_BARE_VALUE:
                self.at += 1

    def string(self) -> None:
        quote = self.char
        mark = quote * 3 if self.text.startswith(quote * 3, self.at) else quote
        self.at += len(mark)
        while self.char and not self.text.startswith(mark, self.at):
            self.at += 2 if self.char == "\\" and quote == '"' else 1
        self.at += len(mark)
        if len(mark) > 1:  # up to two quotes may stand directly before the closing three
            while self.char == quote:
                self.at += 1

    def array(self, path: Path) -> None:
        self.at += 1
        index = 0
        while self.between_entries():
            self.lines.setdefault((*path, index), self.line())
            self.value((*path, index))
            index += 1
        self.at += 1

    def between_entries(self) -> bool:
        """Skip commas, blanks and comments; whether another entry follows."""
        while self.char and self.char in ", \t\r\n#":
            if self.char == "#":
                self.comment()
            else:
                self.at += 1
        return bool(self.char) and self.char not in "]}"

    def inline_table(self, path: Path) -> None:
        self.at += 1
        while self.between_entries():
            self.pair(path)
        self.at += 1

    def comment(self) -> None:
        end = self.text.find("\n", self.at)
        self.at = len(self.text) if end < 0 else end

    def skip(self, characters: str) -> None:
        while self.char and self.char in characters:
            self.at += 1
