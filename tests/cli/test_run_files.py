"""The configuration files of a daemon: read once at a start, however many campaigns they have."""

from tests.campaign.helpers import terms
from tests.daemon.running import campaign_text
from tuner.cli import run


def test_files_are_read_once_for_all_campaigns_and_again_when_asked(tmp_path, monkeypatch):
    paths = [tmp_path / "one.toml", tmp_path / "two.toml"]
    for path in paths:
        path.write_text(campaign_text(path.stem))
    opened = []
    real = run.load_config
    monkeypatch.setattr(run, "load_config", lambda path: (opened.append(path), real(path))[1])
    files = run.Files(paths)
    _, campaigns = files.read()
    assert [name for name, _ in campaigns] == ["one", "two"]
    for name, _ in campaigns:
        assert files.earlier_of(name, terms(), tmp_path) is None
    assert opened == paths
    files.read()
    assert opened == paths * 2
