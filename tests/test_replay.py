from click.testing import CliRunner

from tuner.bench import machines
from tuner.bench.history import history
from tuner.cli import cli
from tuner.journal.store import FILE_NAME, Store


def replay(directory, *options):
    return CliRunner().invoke(cli, ["replay", "--state", str(directory), "--workers", "1", *options])


def test_proposals_that_the_model_did_not_make_are_found(tmp_path):
    config = machines.campaign("press", trials=50, seconds=0.0)
    with Store.open(tmp_path / FILE_NAME) as store:
        store.append(history("press", config, 4))
    shown = replay(tmp_path)
    assert shown.exit_code == 1
    assert "3 of 3 proposals differ" in shown.stderr
    assert "press trial 2: " in shown.stderr


def test_a_journal_without_proposals_or_no_journal_is_said_in_a_sentence(tmp_path):
    assert replay(tmp_path).stderr == f"{tmp_path / FILE_NAME}: there is no journal\n"
    with Store.open(tmp_path / FILE_NAME):
        pass
    shown = replay(tmp_path, "--campaign", "press")
    assert shown.exit_code == 1
    assert shown.stderr.endswith("the journal has no proposals to replay in the campaign press\n")
