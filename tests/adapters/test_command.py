import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from pydantic import ValidationError

from adapters.command import CommandAdapter
from adapters.command.adapter import CommandSettings
from tests.patience import PATIENT_S
from tuner.adapter import AdapterError, DeadlineError, LinkError, ParameterInfo, RefusedError
from tuner.config import load_config
from tuner.config.plugins import load_adapter
from tuner.testing import AdapterConformance, LinkConformance

ROOT = Path(__file__).parents[2]
SPEED = ParameterInfo("speed", "integer", 120, 60, 240)
HEAT = ParameterInfo("heat", "continuous", 180.0, 120.0, 260.0)
COLOUR = ParameterInfo("colour", "choice", "red", choices=("red", "blue"))
ALL = ("open", "apply", "read_back", "run_trial", "health", "go_to", "close")
GOOD = {"speed": 120, "heat": 180.0}

# a machine that keeps its state in a file, as a real one does; it may be killed at any time, so the file is replaced
WHOLE = """
import json, pathlib, sys, time
request = json.load(sys.stdin)
state = pathlib.Path("state.json")
known = json.loads(state.read_text()) if state.exists() else {"setting": {}, "parts": {}}
mood = pathlib.Path("mood").read_text() if pathlib.Path("mood").exists() else ""
if mood == "gone":
    sys.exit("the machine is switched off")
if mood == "mute":
    time.sleep(3600)
answer = {}
if request["op"] in ("apply", "go_to"):
    known["setting"] = request["setting"]
elif request["op"] == "read_back":
    answer = {"setting": known["setting"] or {"speed": 0, "heat": 0, "colour": "red"}}
elif request["op"] == "run_trial":
    made = {"valid": True, "measurements": {"number": len(known["parts"])}}
    answer = known["parts"].setdefault(request["tag"], made)
elif request["op"] == "health":
    answer = {"ok": True, "text": "idle", "interlocks": {"guard": True}}
fresh = pathlib.Path("state.new")
fresh.write_text(json.dumps(known))
fresh.replace(state)
print(json.dumps(answer))
"""


@pytest.fixture
def program(tmp_path):
    """Write a program and get settings for it; it runs in its own directory."""

    def write(text, **settings):
        (tmp_path / "machine.py").write_text(textwrap.dedent(text))
        return CommandSettings(argv=(sys.executable, "machine.py"), directory=tmp_path, **settings)

    return write


@pytest.fixture
def opened(program):
    """Write a program and get an open adapter for it, with a setting applied."""
    adapters = []

    def make(text, **settings):
        adapter = CommandAdapter(program(text, **settings), [SPEED, HEAT])
        adapters.append(adapter)
        adapter.open(10.0)
        if "apply" not in settings.get("operations", ()):
            adapter.apply(GOOD, 10.0)
        return adapter

    yield make
    for adapter in adapters:
        adapter.close()


class TestConformanceOfAWholeProgram(LinkConformance):
    adapter = CommandAdapter
    parameters = (SPEED, HEAT, COLOUR)

    @pytest.fixture
    def settings(self, program, tmp_path):
        self.mood = tmp_path / "mood"
        return program(WHOLE, operations=ALL, stop_s=0.1)

    def lose_machine(self):
        self.mood.write_text("gone")

    def return_machine(self):
        self.mood.unlink()

    def mute_machine(self):
        self.mood.write_text("mute")


class TestConformanceOfTheSimplestProgram(AdapterConformance):
    adapter = CommandAdapter
    parameters = (SPEED, HEAT)

    @pytest.fixture
    def settings(self):
        return CommandSettings(argv=(sys.executable, str(ROOT / "examples" / "command_machine.py")))


def test_it_is_found_by_its_entry_point():
    assert load_adapter("command") is CommandAdapter


def test_the_sample_configuration_works_with_the_example_program(monkeypatch):
    monkeypatch.chdir(ROOT)
    campaign = load_config(ROOT / "configs" / "command.toml").campaigns[0]
    adapter = CommandAdapter(campaign.adapter.settings, [SPEED, HEAT])
    adapter.open(10.0)
    adapter.apply(campaign.known_good, 10.0)
    assert adapter.run_trial("a", 10.0).measurements == {"cycle_s": 30.0}
    adapter.apply({"speed": 120, "heat": 140.0}, 10.0)
    assert adapter.run_trial("b", 10.0).reason == "the melt was too cold to fill the mould"
    adapter.close()


def test_the_program_gets_setting_tag_and_deadline(opened, tmp_path):
    adapter = opened("import sys; open('got', 'w').write(sys.stdin.read()); print('{\"valid\": true}')")
    assert adapter.run_trial("C3-0017", 9.5).valid
    got = json.loads((tmp_path / "got").read_text())
    assert got == {"op": "run_trial", "setting": GOOD, "tag": "C3-0017", "deadline_s": 9.5}


def test_the_program_has_its_directory_and_environment_and_that_of_tuner(opened, monkeypatch, tmp_path):
    monkeypatch.setenv("PRESS_SECRET", "s3")
    text = """
        import json, os
        seen = [os.getcwd(), os.environ["PRESS"], os.environ["PRESS_SECRET"]]
        print(json.dumps({"valid": False, "reason": " ".join(seen)}))
    """
    assert opened(text, environment={"PRESS": "7"}).run_trial("a", 10.0).reason == f"{tmp_path} 7 s3"


def test_a_program_that_does_not_read_its_input_is_fine(opened):
    assert opened("print('{\"valid\": true}')").run_trial("a", 10.0).valid


def test_scrap_without_a_reason_gets_one(opened):
    outcome = opened("print('{\"valid\": false}')").run_trial("a", 10.0)
    assert outcome.reason == "the machine gave no reason"


def test_an_exit_code_is_a_fault_with_the_text_from_stderr(opened):
    adapter = opened("import sys; print('{\"valid\": true}'); sys.exit('press 7 is not reachable')")
    with pytest.raises(LinkError, match="ended with exit code 1 on run_trial: press 7 is not reachable"):
        adapter.run_trial("a", 10.0)
    with pytest.raises(LinkError, match="signal 9 on run_trial: it wrote nothing to stderr"):
        opened("import os; os.kill(os.getpid(), 9)").run_trial("a", 10.0)


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        ("", "which is not a JSON object"),
        ("oops", "which is not a JSON object"),
        ("[1]", "which is not a JSON object"),
        ('{"valid": true} {"valid": true}', "which is not a JSON object"),
        ('{"valid": true, "measurements": {"a": NaN}}', "did not answer with an outcome: measurements.a"),
        ('{"valid": true, "measurements": {"a": "3"}}', "did not answer with an outcome: measurements.a"),
        ("{}", "did not answer with an outcome: valid"),
        ('{"valid": "yes"}', "did not answer with an outcome: valid"),
        ('{"valid": 1}', "did not answer with an outcome: valid"),
        ("[" * 100_000, "which is not a JSON object"),
        ("x" * 1_100_000, "answered with"),
    ],
)
def test_an_answer_that_is_no_outcome_is_a_fault_of_the_link(opened, tmp_path, answer, complaint):
    (tmp_path / "answer").write_text(answer)
    with pytest.raises(LinkError, match=complaint):
        opened("print(open('answer').read())").run_trial("a", 10.0)


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ('{"speed": 120}', "exactly speed, heat"),
        ("3", "exactly speed, heat"),
        ('{"speed": 120, "heat": "hot"}', 'heat is "hot", which is not a finite number'),
        ('{"speed": 120, "heat": null}', "heat is None"),
        ('{"speed": 120.5, "heat": 180}', "speed is 120.5, which is not a whole number"),
        ('{"speed": true, "heat": 180}', "speed is true"),
    ],
)
def test_a_read_back_that_is_no_setting_is_a_fault_of_the_link(opened, setting, complaint):
    adapter = opened(f"print('{{\"setting\": {setting}}}')", operations=("apply", "read_back", "run_trial"))
    with pytest.raises(LinkError, match=complaint):
        adapter.read_back(10.0)


def test_a_number_beyond_all_floats_is_a_fault_of_the_link(opened):
    text = "import json\nprint(json.dumps({'setting': {'speed': 10**400, 'heat': 180.0}}))"
    adapter = opened(text, operations=("apply", "read_back", "run_trial"))
    with pytest.raises(LinkError, match=r"speed is 1000.*, which is not a finite number"):
        adapter.read_back(10.0)


def test_numbers_are_read_back_in_the_type_of_their_parameter(opened):
    adapter = opened('print(\'{"setting": {"speed": 120.0, "heat": 180}}\')', operations=ALL)
    assert repr(adapter.read_back(10.0)) == "{'speed': 120, 'heat': 180.0}"


def test_a_program_can_refuse_a_setting_for_good(opened):
    adapter = opened('print(\'{"refused": "the mould is open"}\')', operations=("apply", "read_back", "run_trial"))
    with pytest.raises(RefusedError, match="the program refuses apply: the mould is open"):
        adapter.apply(GOOD, 10.0)


def test_health_is_what_the_program_says(opened):
    text = 'print(\'{"ok": false, "text": "the guard is open", "interlocks": {"guard": false}}\')'
    health = opened(text, operations=("run_trial", "health")).health(10.0)
    assert (health.ok, health.text, health.interlocks) == (False, "the guard is open", {"guard": False})
    with pytest.raises(LinkError, match="did not answer with its health: ok"):
        opened("print('{}')", operations=("run_trial", "health")).health(10.0)


def test_a_late_program_is_ended_with_all_its_children(opened, tmp_path):
    """Program and grandchild ignore the polite signal; a named pipe tells when the last of them is gone."""
    os.mkfifo(tmp_path / "alive")
    text = """
        import signal, subprocess, sys, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"], stdout=open("alive", "w"))
        time.sleep(3600)
    """
    reader = os.open(tmp_path / "alive", os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(DeadlineError, match=r"did not answer run_trial within 3 s") as caught:
        opened(text, stop_s=0.1).run_trial("a", 3.0)
    os.set_blocking(reader, True)
    assert os.read(reader, 1) == b""  # blocks as long as somebody could still write
    os.close(reader)
    assert caught.value.retry


def test_a_late_program_may_put_the_machine_in_order(opened, tmp_path):
    text = """
        import signal, sys, time
        def stop(*_):
            open("in-order", "w").close()
            sys.exit(0)
        signal.signal(signal.SIGTERM, stop)
        time.sleep(3600)
    """
    with pytest.raises(DeadlineError):
        opened(text, stop_s=5.0).run_trial("a", 4.0)
    assert (tmp_path / "in-order").exists()


def test_a_child_that_keeps_the_output_open_does_not_keep_us(opened):
    text = """
        import subprocess, sys
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
        print('{"valid": true}')
    """
    with pytest.raises(DeadlineError):
        opened(text, stop_s=0.1).run_trial("a", 1.0)


def test_a_flood_of_output_is_not_kept(opened):
    adapter = opened("import sys\nwhile True: sys.stdout.write('x' * 65536)", stop_s=0.1)
    with pytest.raises(DeadlineError):
        adapter.run_trial("a", 1.0)


def test_a_missing_program_or_directory_is_told_and_trying_again_does_not_help(tmp_path):
    adapter = CommandAdapter(CommandSettings(argv=("no-such-program",)), [SPEED])
    with pytest.raises(AdapterError, match='there is no program "no-such-program" that can be run') as caught:
        adapter.open(1.0)
    assert not caught.value.retry
    adapter.close()
    adapter = CommandAdapter(CommandSettings(argv=("ls",), directory=tmp_path / "gone"), [SPEED])
    with pytest.raises(AdapterError, match="gone of the program does not exist"):
        adapter.open(1.0)


def test_a_program_that_disappears_is_bad_health(tmp_path):
    program = tmp_path / "machine"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    adapter = CommandAdapter(CommandSettings(argv=("./machine",), directory=tmp_path), [SPEED])
    adapter.open(1.0)
    assert adapter.health(1.0).ok
    program.unlink()
    assert not adapter.health(1.0).ok
    with pytest.raises(AdapterError):
        adapter.run_trial("a", 1.0)
    adapter.close()


def test_a_file_that_is_no_program_is_told(tmp_path):
    program = tmp_path / "machine"
    program.write_bytes(b"\x00\x01")
    program.chmod(0o755)
    adapter = CommandAdapter(CommandSettings(argv=(str(program),)), [SPEED])
    adapter.open(1.0)
    adapter.apply({"speed": 100}, 1.0)
    with pytest.raises(LinkError, match="cannot be started"):
        adapter.run_trial("a", 1.0)
    adapter.close()


@pytest.mark.parametrize(
    ("operations", "complaint"),
    [
        (("run_trial",), None),
        (ALL, None),
        (("health",), 'must have "run_trial"'),
        (("run_trial", "run_trial"), "twice"),
        (("run_trial", "apply"), 'both "apply" and "read_back"'),
        (("run_trial", "go_to"), 'has "go_to", which needs'),
    ],
)
def test_operations_that_cannot_work_are_complained_about(operations, complaint):
    found = CommandAdapter.complaints(CommandSettings(argv=("x",), operations=operations), [SPEED])
    assert [complaint in sentence for sentence in found] == ([True] if complaint else [])


@pytest.mark.parametrize("wrong", [{"argv": ()}, {"argv": ("x",), "operations": ("explode",)}, {"argv": "x"}])
def test_wrong_settings_are_not_accepted(wrong):
    with pytest.raises(ValidationError):
        CommandSettings(**wrong)


def test_the_example_can_be_tried_by_hand():
    done = subprocess.run(
        [sys.executable, "examples/command_machine.py"],
        input='{"setting": {"speed": 120, "heat": 180.0}, "tag": "p1"}',
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=PATIENT_S,
        check=True,
    )
    assert json.loads(done.stdout)["valid"] is True
