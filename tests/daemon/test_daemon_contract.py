"""A daemon under a scrap contract: a real process, a simulated machine, and the journal computed again."""

import subprocess
import sys
from html import escape

import pytest

from tests.daemon.running import campaign_text, daemon, tune, until

CONTRACT = "[campaign.scrap]\nrate = 0.2\nstrictness = 'expected'\n"


def tuner(*arguments: object) -> str:
    shown = subprocess.run([sys.executable, "-m", "tuner", *map(str, arguments)], capture_output=True, text=True)
    assert shown.returncode == 0, shown.stderr
    return shown.stdout


@pytest.mark.slow
def test_a_campaign_under_a_contract_says_so_everywhere_and_is_replayed_bit_for_bit(tmp_path):
    with daemon(campaign_text("press", trials=6) + CONTRACT) as running:
        running.start()
        with running.client() as client:
            tune(client, "press")
            view = until(client, "press", lambda view: view.machine.home)
        assert view.contract.rate == 0.2
        assert view.contract.parts == 6
        assert view.contract.trial == 6
        assert 0.0 < view.contract.low <= view.contract.p_valid
        assert "scrap contract: " in tuner("status", "--state", running.state)
        assert "Scrap contract: " in tuner("handover", "--language", "en", "--state", running.state)
        running.stop()
        report = _report(running.state, tmp_path)
        assert [text for text in view.contract.texts if escape(text) not in report] == []
        tuner("replay", "--state", running.state, "--jobs", "1")


def _report(state, directory) -> str:
    tuner("report", "press", "--state", state, "--out", directory / "page.html")
    return (directory / "page.html").read_text()
