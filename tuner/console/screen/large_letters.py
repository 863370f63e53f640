"""Part tags large enough to be read from the machine: a dot font of five rows, drawn with blocks."""

# each letter: five rows of dots, a row as a digit 0-7 (4 left, 2 middle, 1 right)
_NARROW = {
    "0": "75557", "1": "26227", "2": "71747", "3": "71317", "4": "55711", "5": "74717", "6": "74757", "7": "71244",
    "8": "75757", "9": "75717", "A": "25755", "B": "65656", "C": "34443", "D": "65556", "E": "74647", "F": "74644",
    "G": "34553", "H": "55755", "I": "72227", "J": "11152", "K": "55655", "L": "44447", "O": "25552", "P": "65644",
    "Q": "25563", "R": "65655", "S": "34216", "T": "72222", "U": "55557", "V": "55552", "X": "55255", "Y": "55222",
    "Z": "71247", "-": "00700", "_": "00007", ".": "00002", "/": "11244",
}  # fmt: skip
# letters that three columns cannot tell from others
_WIDE = {
    "M": ("#...#", "##.##", "#.#.#", "#...#", "#...#"),
    "N": ("#..#", "##.#", "#.##", "#..#", "#..#"),
    "W": ("#...#", "#...#", "#.#.#", "##.##", "#...#"),
}
_HALVES = {(False, False): " ", (True, False): "▀", (False, True): "▄", (True, True): "█"}
_ROWS = 5


def large_letters(tag: str, *, large: bool) -> list[str]:
    """The lines of a tag: three lines of half blocks, or five lines twice as wide; what has no dots stays small."""
    letters = tag.upper()
    if not all(letter in _NARROW or letter in _WIDE for letter in letters):
        return [tag]
    rows = [[_dots(letter, row) for letter in letters] for row in range(_ROWS)]
    if large:
        return [" ".join("".join("██" if dot else "  " for dot in dots) for dots in row).rstrip() for row in rows]
    rows.append([(False,) * len(dots) for dots in rows[0]])
    return [
        " ".join(
            "".join(_HALVES[pair] for pair in zip(upper, lower, strict=True))
            for upper, lower in zip(rows[row], rows[row + 1], strict=True)
        ).rstrip()
        for row in range(0, _ROWS, 2)
    ]


def _dots(letter: str, row: int) -> tuple[bool, ...]:
    if letter in _WIDE:
        return tuple(dot == "#" for dot in _WIDE[letter][row])
    bits = int(_NARROW[letter][row])
    return tuple(bool(bits >> place & 1) for place in (2, 1, 0))
