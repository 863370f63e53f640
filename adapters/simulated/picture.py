"""A picture of a simulated part, so that people have something to judge: a moulded plate with its flaws.

The plate is as bad to look at as its cost is high. Which flaws it has follows from the setting: two parts of equal cost
look different, as real ones do. The same plate is drawn as SVG for browsers and as pixels for terminals.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tuner.problems import Problem

_SAMPLE = 1024
_HIGH = 0.9  # of all costs: what is worse looks hopeless anyway
FLAWS = ("sink marks", "flash", "haze", "burn")
WIDE, DEEP = 480, 340  # of the picture
LEFT, TOP, RIGHT, BOTTOM, ROUND = 70.0, 50.0, 410.0, 290.0, 22.0  # of the plate in it
GROUND, FLASH, HAZE = (43, 48, 54), (199, 185, 138), (125, 131, 138)
# along a gradient: where, which colour, how much of it covers what is below
GLOSS = ((0.0, (169, 188, 205)), (0.45, (244, 248, 251)), (0.55, (142, 163, 182)), (1.0, (165, 183, 199)))
SINK = ((0.0, (61, 70, 80), 1.0), (0.75, (93, 104, 115), 0.8), (1.0, (223, 231, 238), 0.6))
BURN = ((0.0, (29, 15, 6), 1.0), (0.6, (107, 58, 18), 0.9), (1.0, (176, 122, 60), 0.0))
HOLES = ((105.0, 85.0), (375.0, 255.0))
HOLE = 11.0
Array = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class Spot:
    """An ellipse."""

    x: float
    y: float
    rx: float
    ry: float


@dataclass(frozen=True, slots=True)
class Plate:
    """What is to be seen of a part.

    Attributes:
        sinks: Sink marks.
        sunk: How much they cover.
        rim: Corners of the flash around the plate.
        flash: How much it covers.
        haze: How much of the gloss is gone.
        burn: The burnt spot.
    """

    sinks: tuple[Spot, ...]
    sunk: float
    rim: tuple[tuple[float, float], ...]
    flash: float
    haze: float
    burn: Spot


def ugliness(problem: Problem, cost: float) -> float:
    """How bad a part looks, from 0 for the best there is to 1.5; small differences near the best are seen best."""
    rng = np.random.default_rng(0)
    rows = problem.bounds[:, 0] + rng.random((_SAMPLE, problem.d)) * np.ptp(problem.bounds, axis=1)
    costs = problem.evaluate(rows[problem.is_valid(rows)])
    spread = float(np.quantile(costs, _HIGH)) - problem.minimum if len(costs) else 1.0
    return min(1.5, math.sqrt(max(0.0, cost - problem.minimum) / max(spread, 1e-12)))


def shares(places: Sequence[float]) -> tuple[float, ...]:
    """How much of the ugliness each flaw has, by where the setting is within its limits; they add up to 1."""
    first, second = places[0], places[1 % len(places)]
    rest = sum(places[2:])
    angles = [math.cos(2 * math.pi * (first + 0.7 * second + 0.3 * rest) - number * math.pi / 2) for number in range(4)]
    weights = [math.exp(1.5 * angle) for angle in angles]
    return tuple(weight / sum(weights) for weight in weights)


def plate(ugly: float, parts: Sequence[float], seed: int) -> Plate:
    """The part; the seed moves the flaws a little, for no two parts are the same."""
    rng = np.random.default_rng(seed)
    sink, flash, haze, burn = (ugly * share for share in parts)

    def about(value: float, by: float) -> float:
        return value + by * float(rng.standard_normal())

    sinks = []
    for x, y in ((150, 120), (330, 110), (240, 180), (140, 240), (345, 235)):
        size = about(64 * sink, 2 * sink)
        sinks.append(Spot(about(x, 3), about(y, 3), max(0.1, size), max(0.1, 0.7 * size)))
    rim = []
    for step in range(36):
        angle = 2 * math.pi * step / 36
        out = 10 + max(0.0, about(46 * flash, 18 * flash)) if flash > 0.01 else 10
        across = 240 + (170 + out - 10) * max(-1.0, min(1.0, 1.35 * math.cos(angle)))
        down = 170 + (120 + out - 10) * max(-1.0, min(1.0, 1.35 * math.sin(angle)))
        rim.append((across, down))
    scorch = max(0.1, about(95 * burn, 3 * burn))
    return Plate(
        sinks=tuple(sinks),
        sunk=min(1.0, 0.35 + sink),
        rim=tuple(rim),
        flash=min(1.0, 0.25 + 1.5 * flash),
        haze=min(0.95, 1.5 * haze),
        burn=Spot(about(360, 4), about(90, 4), scorch, 0.8 * scorch),
    )


def svg(part: Plate) -> str:
    """The picture for a browser."""
    marks = "".join(
        f'<ellipse cx="{one.x:.1f}" cy="{one.y:.1f}" rx="{one.rx:.1f}" ry="{one.ry:.1f}" fill="url(#sink)" '
        f'opacity="{part.sunk:.2f}"/>'
        for one in part.sinks
    )
    rim = " ".join(f"{x:.1f},{y:.1f}" for x, y in part.rim)
    body = f'<rect x="{LEFT:g}" y="{TOP:g}" width="{RIGHT - LEFT:g}" height="{BOTTOM - TOP:g}" rx="{ROUND:g}"'
    gloss = "".join(f'<stop offset="{at:g}" stop-color="{_hex(colour)}"/>' for at, colour in GLOSS)
    holes = "".join(f'<circle cx="{x:g}" cy="{y:g}" r="{HOLE:g}" fill="{_hex(GROUND)}"/>' for x, y in HOLES)
    burn = part.burn
    size = f'viewBox="0 0 {WIDE} {DEEP}" width="{2 * WIDE}" height="{2 * DEEP}"'
    return f"""<svg xmlns="http://www.w3.org/2000/svg" {size}>
<defs><radialGradient id="sink">{_stops(SINK)}</radialGradient>
<radialGradient id="burn">{_stops(BURN)}</radialGradient>
<linearGradient id="gloss" x2="1" y2="1">{gloss}</linearGradient></defs>
<rect width="{WIDE}" height="{DEEP}" fill="{_hex(GROUND)}"/>
<polygon points="{rim}" fill="{_hex(FLASH)}" opacity="{part.flash:.2f}"/>
{body} fill="url(#gloss)"/>
{body} fill="{_hex(HAZE)}" opacity="{part.haze:.2f}"/>
{marks}
<ellipse cx="{burn.x:.1f}" cy="{burn.y:.1f}" rx="{burn.rx:.1f}" ry="{burn.ry:.1f}" fill="url(#burn)"/>
{holes}
</svg>
"""


def _hex(colour: tuple[int, int, int]) -> str:
    return "#" + "".join(f"{one:02x}" for one in colour)


def _stops(gradient: Sequence[tuple[float, tuple[int, int, int], float]]) -> str:
    return "".join(
        f'<stop offset="{at:g}" stop-color="{_hex(colour)}" stop-opacity="{cover:g}"/>'
        for at, colour, cover in gradient
    )


def pixels(part: Plate, wide: int = 120) -> bytes:
    """The picture for a terminal: a portable pixmap (P6)."""
    deep = round(wide * DEEP / WIDE)
    x, y = np.meshgrid((np.arange(wide) + 0.5) * WIDE / wide, (np.arange(deep) + 0.5) * DEEP / deep)
    picture = np.full((deep, wide, 3), GROUND, dtype=np.float64)

    def cover(colour: Any, share: Array) -> None:
        picture[:] += share[..., None] * (np.asarray(colour, dtype=np.float64) - picture)

    def spot(one: Spot, gradient: Sequence[tuple[float, tuple[int, int, int], float]], share: float) -> None:
        away = np.hypot((x - one.x) / one.rx, (y - one.y) / one.ry)
        at = [stop[0] for stop in gradient]
        colours = np.stack([np.interp(away, at, [stop[1][c] for stop in gradient]) for c in range(3)], axis=-1)
        cover(colours, np.where(away <= 1.0, share * np.interp(away, at, [stop[2] for stop in gradient]), 0.0))

    cover(FLASH, np.where(_inside(part.rim, x, y), part.flash, 0.0))
    beyond = np.hypot(
        np.maximum(np.abs(x - (LEFT + RIGHT) / 2) - (RIGHT - LEFT) / 2 + ROUND, 0.0),
        np.maximum(np.abs(y - (TOP + BOTTOM) / 2) - (BOTTOM - TOP) / 2 + ROUND, 0.0),
    )
    body = np.where(beyond <= ROUND, 1.0, 0.0)
    along = ((x - LEFT) / (RIGHT - LEFT) + (y - TOP) / (BOTTOM - TOP)) / 2
    shine = [np.interp(along, [at for at, _ in GLOSS], [colour[c] for _, colour in GLOSS]) for c in range(3)]
    cover(np.stack(shine, axis=-1), body)
    cover(HAZE, part.haze * body)
    for one in part.sinks:
        spot(one, SINK, part.sunk)
    spot(part.burn, BURN, 1.0)
    for hole_x, hole_y in HOLES:
        cover(GROUND, np.where(np.hypot(x - hole_x, y - hole_y) <= HOLE, 1.0, 0.0))
    return f"P6 {wide} {deep} 255\n".encode() + picture.round().astype(np.uint8).tobytes()


def _inside(corners: Sequence[tuple[float, float]], x: Array, y: Array) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Whether points are inside of a polygon: a ray to the right crosses its sides an odd number of times."""
    odd = np.zeros(x.shape, dtype=bool)
    for (x1, y1), (x2, y2) in zip(corners, [*corners[1:], corners[0]], strict=True):
        if y1 != y2:
            odd ^= ((y1 > y) != (y2 > y)) & (x < x1 + (y - y1) * (x2 - x1) / (y2 - y1))
    return odd
