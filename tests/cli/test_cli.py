import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tests.patience import PATIENT_S
from tuner.cli import main as cli_module
from tuner.cli.main import COMMANDS, cli
from tuner.errors import ConfigError, DeniedError, TryAgainError, TunerError, UnreachableError

ROOT = Path(__file__).parents[2]
HEAVY = ("numpy", "scipy", "pydantic", "textual", "rich", "zmq", "tuner.config")


def run(*arguments: str, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tuner", *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=PATIENT_S,
        **options,
    )


@pytest.fixture
def failing(monkeypatch):
    """Make `tuner demo` raise what the test wants."""

    def install(error: BaseException) -> None:
        @click.command()
        def demo() -> None:
            raise error

        monkeypatch.setattr(cli_module.LazyGroup, "get_command", lambda *_: demo)

    return install


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["completion", "fish"]])
def test_a_light_command_imports_nothing_heavy(arguments):
    program = (
        "import sys; from tuner.cli.main import cli; cli.main(sys.argv[1:], standalone_mode=False);"
        f"print([m for m in {HEAVY} if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=PATIENT_S,
        check=True,
    )
    assert done.stdout
    assert done.stderr.strip() == "[]"


def test_completion_of_a_command_imports_nothing_heavy_and_offers_all_commands():
    program = (
        "import sys; from tuner.cli.main import cli; import click;"
        "print(*[item.value for item in cli.shell_complete(click.Context(cli), 'c')]);"
        f"print([m for m in {HEAVY} if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, timeout=PATIENT_S, check=True
    )
    assert done.stdout.splitlines() == ["campaign check-config completion config console", "[]"]


def test_help_lists_every_command_with_its_purpose():
    shown = CliRunner().invoke(cli, ["--help"])
    assert shown.exit_code == 0
    for name, (_, purpose) in COMMANDS.items():
        assert name in shown.output
        assert purpose in shown.output


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_in_the_table_can_be_loaded_and_explains_itself(name):
    shown = CliRunner().invoke(cli, [name, "--help"])
    assert shown.exit_code == 0, shown.output
    assert "Usage:" in shown.output


def test_version_names_the_program():
    assert CliRunner().invoke(cli, ["--version"]).output.startswith("tuner 0.")


def test_a_wrong_command_is_wrong_usage_and_names_the_nearest():
    shown = CliRunner().invoke(cli, ["chek-config"])
    assert shown.exit_code == 2
    assert "check-config" in shown.output


@pytest.mark.parametrize(
    ("error", "code"),
    [(TunerError, 1), (UnreachableError, 69), (TryAgainError, 75), (DeniedError, 77), (ConfigError, 78)],
)
def test_an_error_for_the_user_is_its_sentence_and_its_exit_code(failing, error, code):
    failing(error("the sentence"))
    shown = CliRunner().invoke(cli, ["demo"])
    assert shown.exit_code == code
    assert shown.stderr == "the sentence\n"
    assert shown.stdout == ""


def test_an_unexpected_error_is_one_sentence_and_the_way_to_see_more(failing):
    failing(ZeroDivisionError("by zero"))
    shown = CliRunner().invoke(cli, ["demo"])
    assert shown.exit_code == 1
    assert "ZeroDivisionError: by zero" in shown.stderr
    assert "--debug" in shown.stderr
    assert "Traceback" not in shown.stderr


def test_debug_shows_the_traceback_and_keeps_the_exit_code(failing):
    failing(ConfigError("the sentence"))
    shown = CliRunner().invoke(cli, ["--debug", "demo"])
    assert shown.exit_code == 78
    assert "Traceback" in shown.stderr
    assert shown.stderr.endswith("the sentence\n")


def test_an_interrupt_ends_quietly_with_130(failing):
    failing(KeyboardInterrupt())
    shown = CliRunner().invoke(cli, ["demo"])
    assert shown.exit_code == 130
    assert shown.output == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["completion", "bash"]])
def test_a_full_disk_is_told_in_one_sentence_and_is_no_defect(arguments):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "tuner", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            timeout=PATIENT_S,
        )
    assert done.returncode == 1
    assert done.stderr == "tuner: [Errno 28] No space left on device\n"


def test_a_closed_pipe_is_quiet():
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as closed:
        done = subprocess.run(
            [sys.executable, "-m", "tuner", "--help"],
            stdout=closed,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            timeout=PATIENT_S,
        )
    assert done.stderr == ""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_for_each_shell(shell):
    shown = CliRunner().invoke(cli, ["completion", shell])
    assert shown.exit_code == 0
    assert "_TUNER_COMPLETE" in shown.stdout


def test_completion_refuses_an_unknown_shell_as_wrong_usage():
    assert CliRunner().invoke(cli, ["completion", "tcsh"]).exit_code == 2


def test_the_installed_command_reports_all_errors_of_all_files_and_no_traceback(tmp_path):
    broken = tmp_path / "broken.toml"
    broken.write_text('[daemon]\nstate_dir = "x"\n[[campaign]]\nname = "a b"\n')
    good = ROOT / "configs" / "sasena.toml"
    done = run("check-config", str(broken), str(tmp_path / "missing.toml"), str(good))
    assert done.returncode == 78
    assert f"{good}: ok: 1 campaign, 2 parameters" in done.stdout
    assert f'{broken}:2: daemon.state_dir: is not a known key; did you mean "state_directory"?' in done.stderr
    assert f'{broken}:4: campaign[a b].name: "a b" is not a name' in done.stderr
    assert "missing.toml:1: file: does not exist" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "order", [("reject", "press", "1"), ("exclude", "press", "1"), ("freeze", "press", "gate", "fan")]
)
def test_an_order_that_needs_a_reason_says_so_before_anything_is_sent(order, tmp_path):
    shown = CliRunner().invoke(cli, ["campaign", *order, "--state", str(tmp_path)])
    assert shown.exit_code == 2
    assert "Missing option '--reason'" in shown.stderr
