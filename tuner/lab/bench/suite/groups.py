"""The groups of the suite: which families, sizes, grounds, kinds and people a seed draws from."""

from dataclasses import dataclass

from tuner.basics.text import listed, nearest, shown
from tuner.errors import TunerError
from tuner.lab.bench.suite.shapes import FAMILIES

REPORTED_FROM = 1000  # seeds below are for choosing, from here on for reporting
ALL = tuple(FAMILIES)
SMOOTH = ("bowl", "ill-conditioned", "curved valley", "ridge")


class UnknownGroupError(TunerError):
    """No group has this name."""


@dataclass(frozen=True)
class Group:
    """What an instance of the group is drawn from.

    Attributes:
        name: On the command line.
        words: What is special about it.
        sizes: How many numbers; integers are among them.
        families: Of the cost.
        grounds: Where parts are made.
        choices: How many choices, from and to.
        integers: How many of the numbers are whole, from and to.
        constraints: How many constraints between numbers.
        scrap: Share of random scrap.
        people: Who judges.
        drawn_as: The group whose seeds draw the process: groups that share it differ only in who judges.
    """

    name: str
    words: str
    sizes: tuple[int, ...] = (1, 2, 3, 4)
    families: tuple[str, ...] = ALL
    grounds: tuple[str, ...] = ("everywhere",)
    choices: tuple[int, int] = (0, 0)
    integers: tuple[int, int] = (0, 0)
    constraints: int = 0
    scrap: float = 0.0
    people: str = "exact"
    drawn_as: str = ""


def _judged(name: str, words: str, people: str) -> Group:
    """A group of the processes that every kind of people judges: the same seeds are the same processes."""
    return Group(
        name,
        words,
        sizes=(2, 3, 4, 6),
        grounds=("everywhere", "everywhere", "border", "islands"),
        choices=(0, 1),
        people=people,
        drawn_as="judged",
    )


_ALL_GROUPS = (
    Group("numbers", "1 to 4 numbers"),
    Group("many", "6 to 10 numbers", sizes=(6, 8, 10)),
    Group("border", "the optimum on the border of one region", sizes=(2, 3, 4), families=SMOOTH, grounds=("border",)),
    Group("rings", "valid in a ring or in bands", sizes=(1, 2, 3, 4), grounds=("annulus", "bands")),
    Group("islands", "valid on two to four islands, the start on another", grounds=("islands",)),
    Group("scrap", "3 % of all parts fail by chance", scrap=0.03, grounds=("everywhere", "border")),
    Group("choices", "one to three choices of 2 to 6 levels", sizes=(1, 2, 3, 4), choices=(1, 3)),
    Group("integers", "some numbers are whole", sizes=(2, 3, 4), integers=(1, 3)),
    Group("constraints", "one or two constraints, half of them through the optimum", sizes=(2, 3, 4, 6), constraints=2),
    _judged("steady", "the processes of the next seven groups, judged exactly", "exact"),
    _judged("close", "close calls go wrong", "close calls"),
    _judged("slips5", "5 % of the answers are slips", "slips 5 %"),
    _judged("slips10", "10 % of the answers are slips", "slips 10 %"),
    _judged("slips20", "20 % of the answers are slips", "slips 20 %"),
    _judged("ties", "differences that nobody notices are ties", "ties"),
    _judged("operators", "a careful and a careless operator", "two operators"),
    _judged("tires", "one who tires", "one who tires"),
    Group(
        "shop",
        "choices, integers, a border or islands, 3 % scrap, 5 % slips",
        sizes=(2, 3, 4, 6),
        grounds=("border", "islands", "bands"),
        choices=(1, 2),
        integers=(0, 1),
        scrap=0.03,
        people="slips 5 %",
    ),
)  # fmt: skip
GROUPS = {group.name: group for group in _ALL_GROUPS}
# names for several groups at once
TOGETHER = {
    "slips": ("slips5", "slips10", "slips20"),
    "judges": ("steady", "close", "slips5", "slips10", "slips20", "ties", "operators", "tires"),
    "borders": ("border", "rings", "islands"),
    "all": tuple(GROUPS),
}


def get_groups(names: tuple[str, ...]) -> tuple[Group, ...]:
    """Return the groups of these names, each once; a name may stand for several.

    Raises:
        UnknownGroupError: With the nearest name and all names.
    """
    found: dict[str, Group] = {}
    for name in names:
        if name not in GROUPS and name not in TOGETHER:
            known = (*GROUPS, *TOGETHER)
            raise UnknownGroupError(
                f"no group is called {shown(name)}{nearest(name, known) or ','} known: {listed(known)}"
            )
        found |= {one: GROUPS[one] for one in TOGETHER.get(name, (name,))}
    return tuple(found.values())
