"""Processes of ours import nothing from the working directory, whatever lies there."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.daemon.running import campaign_text, daemon, tune, until

TUNER = Path(sys.executable).with_name("tuner")
FOLDERS = (
    "tuner",
    "adapters",
    "numpy",
    "scipy",
    "zmq",
    "pydantic",
    "multiprocessing",
    "asyncio",
    "concurrent",
    "click",
)
FILES = ("json.py", "random.py", "socket.py", "threading.py", "selectors.py", "tomllib.py", "sqlite3.py", "runpy.py")


@pytest.fixture
def hostile(tmp_path):
    """A directory full of modules that tell when they are imported."""
    place = tmp_path / "hostile"
    for name in FOLDERS:
        (place / name).mkdir(parents=True)
    files = [place / name / "__init__.py" for name in FOLDERS] + [place / name for name in FILES]
    for file in files:
        told = tmp_path / f"imported-{file.relative_to(place).as_posix().replace('/', '-')}"
        file.write_text(f"open({str(told)!r}, 'w').close()\nraise SystemExit('a hostile module was imported')\n")
    yield place
    assert sorted(tmp_path.glob("imported-*")) == []


def run(place, *arguments, program=(str(TUNER),)):
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    command = [*program, *map(str, arguments)]
    done = subprocess.run(command, cwd=place, env=environ, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.mark.slow
def test_the_daemon_its_machines_and_its_models_import_nothing_from_there(hostile, monkeypatch):
    monkeypatch.chdir(hostile)
    with daemon(campaign_text(trials=2)) as running:
        running.start(wrap=lambda command: [str(TUNER), *command[3:]])
        with running.client() as client:
            view = tune(client, "press")
            assert view.budget.spent == 2
            assert client.recommendation("press").setting
        assert running.stop(signal.SIGTERM) == 0


@pytest.mark.slow
def test_python_m_tuner_imports_nothing_but_itself_from_there(hostile):
    with contextlib.suppress(FileNotFoundError):
        (hostile / "tuner" / "__init__.py").unlink()  # what comes before our first line is for `python -P -m`
        (hostile / "tuner").rmdir()
    (hostile / "runpy.py").unlink()
    assert "tuner" in run(hostile, "--version", program=(sys.executable, "-m", "tuner")).stdout
    run(
        hostile,
        "check-config",
        Path(__file__).parents[2] / "configs/sasena.toml",
        program=(sys.executable, "-m", "tuner"),
    )


@pytest.mark.slow  # its processes are those of the daemon above
def test_the_demo_imports_nothing_from_there(hostile, tmp_path):
    shown = run(hostile, "demo", "--trials", "2", "--fast")
    assert shown.stdout


@pytest.mark.parametrize(
    "more",
    [pytest.param((), marks=pytest.mark.slow), ("--in-process",)],
    ids=["with a daemon", "in its own processes"],
)
def test_simulated_runs_import_nothing_from_there(hostile, more):
    config = Path(__file__).parents[2] / "configs" / "sasena.toml"
    run(hostile, "simulate", config, "--judge", "oracle", "--seeds", "0-1", "--trials", "2", "--jobs", "2", *more)


@pytest.mark.slow
def test_a_program_of_the_user_still_finds_the_modules_beside_it(tmp_path):
    (tmp_path / "beside.py").write_text("ANSWER = {'valid': True}\n")
    script = tmp_path / "machine.py"
    script.write_text("import json, sys\nfrom beside import ANSWER\nsys.stdin.read()\nprint(json.dumps(ANSWER))\n")
    command = f'argv = ["{sys.executable}", "{script}"]'
    text = campaign_text(trials=2, policy="").replace('name = "simulated"', 'name = "command"')
    with daemon(text.replace('problem = "sasena"', command)) as running:
        running.start()
        with running.client() as client:
            view = until(client, "press", lambda view: view.duel is not None or view.fault)
            assert view.fault is None, view.fault
            assert [view.duel.left.valid, view.duel.right.valid] == [True, True]
