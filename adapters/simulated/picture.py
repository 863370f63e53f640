"""A picture of a simulated part, so that people have something to judge: a moulded plate with its flaws, as SVG.

The plate is as bad to look at as its cost is high. Which flaws it has follows from the setting: two parts of equal cost
look different, as real ones do.
"""

import math
from collections.abc import Sequence

import numpy as np

from tuner.problems import Problem

_SAMPLE = 1024
_HIGH = 0.9  # of all costs: what is worse looks hopeless anyway
FLAWS = ("sink marks", "flash", "haze", "burn")


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


def plate(ugly: float, parts: Sequence[float], seed: int) -> str:
    """The picture; the seed moves the flaws a little, for no two parts are the same."""
    rng = np.random.default_rng(seed)
    sink, flash, haze, burn = (ugly * share for share in parts)

    def about(value: float, by: float) -> float:
        return value + by * float(rng.standard_normal())

    marks = []
    for x, y in ((150, 120), (330, 110), (240, 180), (140, 240), (345, 235)):
        size = about(64 * sink, 2 * sink)
        marks.append(
            f'<ellipse cx="{about(x, 3):.1f}" cy="{about(y, 3):.1f}" rx="{max(0.1, size):.1f}" '
            f'ry="{max(0.1, 0.7 * size):.1f}" fill="url(#sink)" opacity="{min(1.0, 0.35 + sink):.2f}"/>'
        )
    rim = []
    for step in range(36):
        angle = 2 * math.pi * step / 36
        out = 10 + max(0.0, about(46 * flash, 18 * flash)) if flash > 0.01 else 10
        across = 240 + (170 + out - 10) * max(-1.0, min(1.0, 1.35 * math.cos(angle)))
        down = 170 + (120 + out - 10) * max(-1.0, min(1.0, 1.35 * math.sin(angle)))
        rim.append(f"{across:.1f},{down:.1f}")
    scorch = max(0.1, about(95 * burn, 3 * burn))
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 480 340" width="960" height="680">
<defs><radialGradient id="sink"><stop offset="0" stop-color="#3d4650"/><stop offset=".75" stop-color="#5d6873" \
stop-opacity=".8"/><stop offset="1" stop-color="#dfe7ee" stop-opacity=".6"/></radialGradient>
<radialGradient id="burn"><stop offset="0" stop-color="#1d0f06"/><stop offset=".6" stop-color="#6b3a12" \
stop-opacity=".9"/><stop offset="1" stop-color="#b07a3c" stop-opacity="0"/></radialGradient>
<linearGradient id="gloss" x2="1" y2="1"><stop offset="0" stop-color="#a9bccd"/><stop offset=".45" \
stop-color="#f4f8fb"/><stop offset=".55" stop-color="#8ea3b6"/><stop offset="1" \
stop-color="#a5b7c7"/></linearGradient></defs>
<rect width="480" height="340" fill="#2b3036"/>
<polygon points="{" ".join(rim)}" fill="#c7b98a" opacity="{min(1.0, 0.25 + 1.5 * flash):.2f}"/>
<rect x="70" y="50" width="340" height="240" rx="22" fill="url(#gloss)"/>
<rect x="70" y="50" width="340" height="240" rx="22" fill="#7d838a" opacity="{min(0.95, 1.5 * haze):.2f}"/>
{"".join(marks)}
<ellipse cx="{about(360, 4):.1f}" cy="{about(90, 4):.1f}" rx="{scorch:.1f}" ry="{0.8 * scorch:.1f}" fill="url(#burn)"/>
<circle cx="105" cy="85" r="11" fill="#2b3036"/><circle cx="375" cy="255" r="11" fill="#2b3036"/>
</svg>
"""
