"""A damaged page, a directory that cannot be written, several daemons at once: nothing is lost in silence."""

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

from tests.daemon.running import campaign_text, daemon
from tests.journals.make import restore
from tests.patience import PATIENT_S
from tuner.errors import TunerError
from tuner.journal import FILE_NAME, Store
from tuner.wire.operations import Operations

PAGE_BYTES = 4096


def damage_pages(directory: Path, count: int, seed: int) -> dict[str, int]:
    """Spoil one page of a journal at a time: was it found, or was all that counts still there, or was it believed?"""
    rng = random.Random(seed)  # noqa: S311 - which page
    original = restore("0.2.0", directory / "original").read_bytes()
    with Store.open_reading(directory / "original" / FILE_NAME) as store:
        true = list(store.rows())
    found = {"found": 0, "harmless": 0, "believed": 0}
    for number in range(count):
        page = rng.randrange(len(original) // PAGE_BYTES)
        there = directory / str(number)
        there.mkdir()
        spoilt = bytearray(original)
        start = page * PAGE_BYTES + rng.randrange(PAGE_BYTES - 64)
        spoilt[start : start + 64] = rng.randbytes(64)
        (there / FILE_NAME).write_bytes(spoilt)
        try:
            with Store.open_reading(there / FILE_NAME) as store:
                whole = store.verify().ok
                same = whole and list(store.rows()) == true
        except TunerError:
            whole = False
        found["found" if not whole else "harmless" if same else "believed"] += 1
    return found


def test_a_damaged_page_is_found_or_holds_nothing_of_the_journal(tmp_path):
    found = damage_pages(tmp_path, 20, seed=1)
    assert found["believed"] == 0
    assert found["found"] > 0


def test_a_daemon_whose_directory_it_may_not_write_ends_with_a_sentence_and_changes_nothing(tmp_path):
    with daemon(campaign_text(trials=2)) as running:
        restore("0.2.0", running.state)
        before = {path.name: path.read_bytes() for path in running.state.iterdir()}
        # root may write everywhere, unless it gives that right away
        meek = [shutil.which("setpriv"), "--bounding-set", "-dac_override"] if os.geteuid() == 0 else []
        running.state.chmod(0o555)
        command = [*meek, sys.executable, "-m", "tuner", "run", str(running.config), "--state", str(running.state)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENT_S, check=False)
        finally:
            running.state.chmod(0o755)
        assert done.returncode == 1, done.stderr
        assert "Permission denied" in done.stderr
        assert "Traceback" not in done.stderr
        assert {path.name: path.read_bytes() for path in running.state.iterdir()} == before


def test_of_several_daemons_started_at_once_one_serves_and_the_others_say_so():
    with daemon(campaign_text(trials=2, autostart=False)) as running:
        command = [sys.executable, "-m", "tuner", "run", str(running.config), "--state", str(running.state)]
        rivals = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(3)]
        lost = []
        while len(lost) < 2:
            for rival in [one for one in rivals if one not in lost and one.poll() is not None]:
                lost.append(rival)
        (winner,) = [one for one in rivals if one not in lost]
        for rival in lost:
            assert rival.returncode == 75
            assert f"process {winner.pid}" in rival.communicate()[1]
        running.process = winner
        with running.client() as client:
            assert client.call(Operations.status(), timeout_s=PATIENT_S).pid == winner.pid
        assert running.stop() == 0
        winner.communicate()
