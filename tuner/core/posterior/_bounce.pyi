from typing import Any

def run(
    state: Any,
    rows: Any,
    gamma: Any,
    lower: Any,
    upper: Any,
    zeros: int,
    parts: int,
    cosine: float,
    sine: float,
    limit: int,
    force: Any,
    heights: Any,
) -> tuple[int, int, int]: ...
