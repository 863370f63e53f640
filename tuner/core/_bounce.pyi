from typing import Any

def run(
    state: Any,
    rows: Any,
    gamma: Any,
    lower: Any,
    upper: Any,
    zeros: int,
    cosine: float,
    sine: float,
    limit: int,
) -> tuple[int, int]: ...
