"""What a start reads does not grow with the campaigns squared: a daemon of a thousand has to start too."""

import pytest

from tests.daemon.running import campaign_text
from tuner.cli import run as under_test
from tuner.config import plugins
from tuner.config.plugins import load_adapter
from tuner.errors import TunerError


def test_the_files_are_read_once_however_many_campaigns_ask_what_they_import(tmp_path, monkeypatch):
    loads = []
    load_config = under_test.load_config
    monkeypatch.setattr(under_test, "load_config", lambda path: loads.append(path) or load_config(path))
    file = tmp_path / "tuner.toml"
    file.write_text("".join(campaign_text(f"press{number}") for number in range(3)))
    files = under_test.Files([file])
    _, campaigns = files.read()
    assert [files.earlier_of(name, terms, tmp_path) for name, terms in campaigns] == [None] * 3
    assert loads == [file]


def test_what_a_campaign_imports_is_what_the_files_said_when_they_were_read_last(tmp_path):
    file = tmp_path / "tuner.toml"
    file.write_text(campaign_text("press"))
    files = under_test.Files([file])
    files.read()
    file.write_text(campaign_text("press") + '[campaign.earlier]\nfrom = "old"\n')
    name, terms = files.read()[1][0]
    with pytest.raises(TunerError, match="there is no journal"):
        files.earlier_of(name, terms, tmp_path)


def test_packages_are_searched_for_adapters_once_until_something_is_installed(tmp_path, monkeypatch):
    searches = []
    entry_points = plugins.entry_points
    monkeypatch.setattr(plugins, "entry_points", lambda **of: searches.append(of) or entry_points(**of))
    monkeypatch.syspath_prepend(tmp_path)
    for _ in range(5):
        load_adapter("simulated")
    assert len(searches) == 1
    (tmp_path / "another-1.0.dist-info").mkdir()
    (tmp_path / "another-1.0.dist-info" / "entry_points.txt").write_text("[tuner.adapters]\nanother = a:B\n")
    (tmp_path / "another-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: another\nVersion: 1.0\n")
    assert "another" in plugins.adapter_names()
