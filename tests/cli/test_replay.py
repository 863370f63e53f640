import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from tuner.cli.main import cli
from tuner.compute import engine_name as engine
from tuner.compute.engine_name import engine_name
from tuner.journal.store import FILE_NAME, Store
from tuner.lab.bench import machines
from tuner.lab.bench.history import history


def replay(directory, *options):
    return CliRunner().invoke(cli, ["replay", "--state", str(directory), "--jobs", "1", *options])


@pytest.mark.slow
def test_proposals_that_the_model_did_not_make_are_found(tmp_path):
    config = machines.campaign("press", trials=50, seconds=0.0)
    with Store.open(tmp_path / FILE_NAME) as store:
        store.append(history("press", config, 4))
    shown = replay(tmp_path)
    assert shown.exit_code == 1
    assert "3 of 3 proposals differ" in shown.stderr
    assert "press trial 2: " in shown.stderr


@pytest.mark.slow
def test_another_version_s_proposals_are_named_as_such_and_do_not_excuse_this_one_s(tmp_path):
    with Store.open(tmp_path / FILE_NAME) as store:
        for name, engine in (("old", "tuner 0.1.0"), ("new", engine_name())):
            store.append(history(name, machines.campaign(name, trials=50, seconds=0.0), 3, engine=engine))
    shown = replay(tmp_path)
    assert shown.exit_code == 1
    assert f"2 of 2 proposals differ (made by {engine_name()})" in shown.stderr
    assert "new trial" in shown.stderr
    assert "old trial" not in shown.stderr
    shown = replay(tmp_path, "--campaign", "old")
    assert shown.exit_code == 0, shown.output
    assert shown.stdout == (
        "2 proposals made by another version, tuner 0.1.0: 2 not the same here; only that version can compute them "
        f"again (this is {engine_name()})\n"
    )


def test_the_engine_s_name_changes_with_its_source(tmp_path, monkeypatch):
    engine_name.cache_clear()
    before = engine_name()
    package = tmp_path / "tuner"
    shutil.copytree(Path(engine.__file__).parent.parent / "core", package / "core")
    (package / "compute").mkdir()
    shutil.copy(engine.__file__, package / "compute")
    names = []
    for words in ("", "\n# another word\n"):
        with (package / "core" / "ep.py").open("a") as file:
            file.write(words)
        monkeypatch.setattr(engine, "__file__", str(package / "compute" / "engine_name.py"))
        engine_name.cache_clear()
        names.append(engine_name())
    engine_name.cache_clear()
    assert len({before, *names}) == 3
    assert all(name.startswith("tuner ") and "numpy" in name for name in names)


def test_a_journal_without_proposals_or_no_journal_is_said_in_a_sentence(tmp_path):
    assert replay(tmp_path).stderr == f"{tmp_path / FILE_NAME}: there is no journal\n"
    with Store.open(tmp_path / FILE_NAME):
        pass
    shown = replay(tmp_path, "--campaign", "press")
    assert shown.exit_code == 1
    assert shown.stderr.endswith("the journal has no proposals to replay in the campaign press\n")
