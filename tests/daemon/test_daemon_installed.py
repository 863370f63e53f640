"""An adapter that is installed while the daemon runs: a reload finds it, or says what to do."""

import os
from pathlib import Path

import pytest

from tests.daemon.running import campaign_text, daemon, until
from tests.daemon.scripted import install

ROOT = Path(__file__).parents[2]
ADAPTER = '''
from adapters.simulated import SimulatedAdapter


class OvenAdapter(SimulatedAdapter):
    """Of a third party."""
'''


@pytest.mark.slow
def test_an_adapter_that_was_installed_since_makes_parts_after_a_reload(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(tmp_path), str(ROOT))))
    before = campaign_text("press", autostart=False)
    after = before + campaign_text("baking").replace('name = "simulated"', 'name = "oven"')
    with daemon(before) as running:
        running.start()
        running.reload(after)
        running.wait_for_log('no adapter "oven" is installed')
        install(tmp_path, oven="oven_kit:OvenAdapter")  # as pip's -e: its name is known, its files are not on the path
        running.reload(after)
        running.wait_for_log("No module named 'oven_kit'; install it, or start the daemon again if")
        (tmp_path / "oven_kit.py").write_text(ADAPTER)
        running.reload(after)
        with running.client() as client:
            until(client, "baking", lambda view: view.duel is not None)
        assert running.stop() == 0
