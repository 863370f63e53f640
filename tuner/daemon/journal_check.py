"""The check of the whole journal while the daemon works."""

import threading
from pathlib import Path

from tuner.journal.errors import DamagedError, JournalError
from tuner.journal.store import Store

_BREATH_S = 0.002  # between two pieces


def check_journal(path: Path, structure: bool, ended: threading.Event) -> None:
    """Verify the journal in a thread that often steps back; raise if something is wrong."""

    def pause() -> None:
        if ended.wait(_BREATH_S):
            raise JournalError("the daemon ends")

    with Store.open_reading(path) as store:
        if structure:
            store.quick_check()
        verdict = store.verify(pause=pause)
    if not verdict.ok:
        raise DamagedError(f"{path}: {verdict.fault}; restore a backup with `tuner journal restore`")
