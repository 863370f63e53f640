"""Makes a journal of the corpus: `python -m tests.journals.make VERSION`.

A journal of an older version is made by that version's own code, in a checkout of it that this folder was copied to.
Files of a released version are never made again.
"""

import asyncio
import json
import lzma
import sqlite3
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from tuner.basics.threads import one_blas_thread

HERE = Path(__file__).parent
_MADE_AT = "2026-03-02 08:00:00"  # instead of the wall clock's word on when the tables were made


def dump(journal: Path) -> bytes:
    """A closed journal as compressed SQL: the same for the same content, whatever version of SQLite wrote it."""
    connection = sqlite3.connect(journal)
    try:
        connection.execute("UPDATE _sqlite_migrations SET applied_at = ?", (_MADE_AT,))
        text = "\n".join(connection.iterdump())
    finally:
        connection.close()
    return lzma.compress(text.encode(), preset=9)


def restore(version: str, directory: Path) -> Path:
    """Put a journal of the corpus into a state directory, without the lock file of its last writer."""
    directory.mkdir(parents=True, exist_ok=True)
    journal = directory / "journal.sqlite"
    connection = sqlite3.connect(journal)
    try:
        connection.executescript(lzma.decompress((HERE / f"{version}.sql.xz").read_bytes()).decode())
    finally:
        connection.close()
    return journal


def versions() -> list[str]:
    """All journals that are kept."""
    return sorted(path.name.removesuffix(".sql.xz") for path in HERE.glob("*.sql.xz"))


def expected(version: str) -> dict[str, Any]:
    """What every later version must read in it."""
    return json.loads((HERE / f"{version}.json").read_text("utf-8"))


def facts(state: Any) -> dict[str, Any]:
    """What a state says about the campaign, in words that outlive its fields' names."""
    questions = state.terms.policy.questions
    return {
        "mode": str(state.mode),
        "reason": state.reason,
        "fault": state.fault,
        "events": state.count,
        "lot": state.lot,
        "known good": state.terms.known_good,
        "constraints": list(state.terms.constraints),
        "time zone": questions.timezone,
        "windows": [f"{one.start}-{one.end}" for one in (*questions.quiet_hours, *questions.breaks)],
        "budget": [state.terms.budget.trials, state.terms.budget.scrap],
        "champion": state.champion,
        "scrap": state.scrap,
        "home": [state.machine.home, state.machine.home_failed],
        "read back": state.machine.read_back,
        "trials": [
            [t.number, t.tag, t.source, str(t.stage), t.setting, t.valid, t.outcome_reason, t.excluded, t.lot]
            for t in state.trials
        ],
        "measured": [dict(t.measurements) for t in state.trials],
        "duels": [[d.number, d.left, d.right, d.why, d.judgment, d.closed] for d in state.duels],
        "judgments": [[j.number, j.duel, j.winner, j.operator, j.took_s, j.retracted] for j in state.judgments],
        "ended": [t.ended_at.isoformat() if t.ended_at else None for t in state.trials],
    }


def main(version: str) -> None:
    """Make the journal, and what is to be read in it."""
    one_blas_thread()
    from tests.journals.scenario import play

    with tempfile.TemporaryDirectory(prefix="tuner-") as directory:
        states = asyncio.run(play(Path(directory)))
        journal = Path(directory) / "journal.sqlite"
        (HERE / f"{version}.sql.xz").write_bytes(dump(journal))
        connection = sqlite3.connect(journal)
        rows = connection.execute("SELECT type, hash, body FROM journal ORDER BY seq").fetchall()
        replies = connection.execute("SELECT count(*) FROM replies").fetchone()[0]
        connection.close()
    made = [json.loads(body) for type_, _, body in rows if type_ == "proposal_made"]
    known = {
        "head": rows[-1][1],
        "types": dict(sorted(Counter(row[0] for row in rows).items())),
        "replies": replies,
        "proposals": sum(one["source"] == "model" for one in made),
        "campaigns": {name: facts(state) for name, state in states.items()},
    }
    (HERE / f"{version}.json").write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
