import os
import subprocess
import sys
import threading
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.patience import PATIENT_S
from tuner.adapter import Adapter, AdapterSettings, Health, Inspected, LinkError, RefusedError
from tuner.cli import adapters as adapters_cli
from tuner.cli.main import cli
from tuner.config import plugins
from tuner.config.plugins import GROUP
from tuner.machine import check as adapters_check
from tuner.testing import AdapterConformance

ROOT = Path(__file__).parents[2]
SASENA = str(ROOT / "configs" / "sasena.toml")


class OddAdapter(Adapter):
    """Does in each call what the test wants.

    Only the first line is shown.
    """

    open_ = health_ = read_back_ = close_ = staticmethod(lambda: None)
    inspect_ = staticmethod(lambda: ())

    def inspect(self, deadline_s):
        return self.inspect_()

    def open(self, deadline_s):
        self.open_()

    def apply(self, setting, deadline_s):
        raise AssertionError("nothing may be moved")

    go_to = apply

    def run_trial(self, tag, deadline_s):
        raise AssertionError("no part may be made")

    def read_back(self, deadline_s):
        return self.read_back_()

    def health(self, deadline_s):
        return self.health_()

    def close(self):
        self.close_()


@pytest.fixture
def odd(monkeypatch):
    """Pretend that adapters of third parties are installed, some of them broken; what `odd` does can be set."""
    points = [
        *entry_points(group=GROUP),
        EntryPoint("odd", f"{__name__}:OddAdapter", GROUP),
        EntryPoint("missing", "no_such_module:Adapter", GROUP),
        EntryPoint("number", "math:pi", GROUP),
        EntryPoint("quitter", "this_program_ends:Adapter", GROUP),
        EntryPoint("twin", f"{__name__}:OddAdapter", GROUP),
        EntryPoint("twin", "math:pi", GROUP),
    ]

    def find(group, name=None):
        return [point for point in points if name in (None, point.name)]

    for module in (plugins, adapters_cli):
        monkeypatch.setattr(module, "entry_points", find)

    def behave(**calls):
        for name, call in calls.items():
            monkeypatch.setattr(OddAdapter, f"{name}_", staticmethod(call))

    behave(health=lambda: Health(True, "idle"), read_back=lambda: {"x": 1.0})
    return behave


@pytest.fixture
def config(tmp_path):
    """A configuration with the adapter `odd`."""
    file = tmp_path / "odd.toml"
    file.write_text(
        '[[campaign]]\nname = "c"\nmachine = "m"\nbudget.trials = 3\nadapter.name = "odd"\n'
        '[[campaign.parameter]]\nkind = "continuous"\nname = "x"\nlow = 0\nhigh = 2\nstart = 1\nunit = "bar"\n'
    )
    return str(file)


def run(*arguments):
    return CliRunner().invoke(cli, ["adapters", *arguments])


def raising(error):
    def call():
        raise error

    return call


def test_a_new_package_is_not_written_through_a_link(tmp_path):
    for exists in (False, True):
        link, there = tmp_path / f"link{exists}", tmp_path / f"there{exists}"
        link.symlink_to(there)
        if exists:
            there.mkdir()
        shown = CliRunner().invoke(cli, ["adapters", "new", "oven", str(link)])
        assert shown.exit_code == 2
        assert "exists and is not an empty directory" in shown.output
        assert not exists or not list(there.iterdir())


def test_the_list_has_name_origin_and_purpose_of_every_adapter():
    shown = run("list")
    assert shown.exit_code == 0, shown.output
    rows = {line.split()[0]: line for line in shown.stdout.splitlines()}
    assert {"simulated", "command", "mqtt", "serial"} <= set(rows)
    assert "process-tuner 0." in rows["simulated"]
    assert rows["simulated"].endswith("the i-th parameter is the problem's i-th variable.")


def test_broken_adapters_are_listed_with_the_reason_and_do_not_stop_the_others(odd, tmp_path, monkeypatch):
    (tmp_path / "this_program_ends.py").write_text("import sys; sys.exit('no driver')")
    monkeypatch.syspath_prepend(tmp_path)
    shown = run("list")
    assert shown.exit_code == 0
    rows = {line.split()[0]: line for line in shown.stdout.splitlines()}
    assert rows["odd"].endswith("unknown origin       Does in each call what the test wants.")
    assert "broken: the adapter \"missing\" cannot be imported: No module named 'no_such_module'" in rows["missing"]
    assert 'broken: the adapter "number" is not a subclass' in rows["number"]
    assert "broken: it ends the program when it is imported, with 'no driver'" in rows["quitter"]
    assert "broken: another distribution has an adapter of this name" in rows["twin"]
    assert "broken" not in rows["simulated"]


def test_info_shows_every_setting_with_type_default_and_meaning():
    shown = run("info", "simulated")
    assert shown.exit_code == 0
    text = " ".join(shown.stdout.split())
    assert 'problem name of the test problem (text; default "sasena")' in text
    assert "seconds_per_trial how long a trial takes (number, at least 0, at most 86400; default 0.0)" in text
    assert "(path; default none)" in text


def test_info_shows_tables_within_tables():
    text = " ".join(run("info", "mqtt").stdout.split())
    assert "tls.ca_file certificates to trust" in text
    assert "interlocks.NAME.topic where the machine tells it" in text
    assert 'result_words.valid words for a part (list of text, not empty; default ["1", "true", "OK"])' in text
    assert "qos quality of service of all messages (one of 0, 1, 2; default 1)" in text
    assert "(text; required)" in text


def test_info_of_an_adapter_without_settings_says_so(odd):
    shown = run("info", "odd")
    assert shown.stdout == "odd (unknown origin)\nDoes in each call what the test wants.\n\nIt has no settings.\n"


@pytest.mark.parametrize("name", [point.name for point in entry_points(group=GROUP)])
def test_info_works_for_every_adapter_that_comes_with_tuner(name):
    shown = run("info", name)
    assert shown.exit_code == 0, shown.output
    assert "[campaign.adapter.settings]" in shown.stdout


@pytest.mark.parametrize("command", ["info", "check"])
def test_an_unknown_adapter_is_wrong_usage_and_names_the_nearest(command):
    shown = run(command, "simulate", *(["--config", SASENA] if command == "check" else []))
    assert shown.exit_code == 2
    assert 'no adapter "simulate" is installed; did you mean "simulated"?' in " ".join(shown.stderr.split())


def test_a_broken_adapter_is_a_failure_with_its_reason(odd):
    shown = run("info", "missing")
    assert (shown.exit_code, shown.stdout) == (1, "")
    assert "cannot be imported" in shown.stderr


def test_check_asks_a_machine_and_moves_nothing(odd, config):
    odd(health=lambda: Health(True, "idle", {"guard": True}))
    shown = run("check", "odd", "--config", config)
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert shown.stdout.splitlines() == [
        "campaign c, machine m, adapter odd",
        "  connected",
        "  health: well, idle",
        "  interlock guard: holds",
        "  x: 1.0 bar (known-good 1.0 bar)",
        "  ready; nothing was moved",
    ]


def test_check_works_on_the_sample_configuration():
    shown = run("check", "simulated", "--config", SASENA)
    assert shown.exit_code == 0, shown.output
    assert "x1: 3.5 mm (known-good 3.5 mm)" in shown.stdout


def test_a_machine_that_has_no_setting_yet_is_sent_one(odd, config):
    odd(read_back=lambda: {})
    shown = run("check", "odd", "--config", config)
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert "it has no setting yet: tuner sends it the known-good one first" in shown.stdout


def test_a_machine_that_does_not_say_what_it_has_is_not_ready(odd, config):
    odd(read_back=lambda: {"y": 1.0})
    shown = run("check", "odd", "--config", config)
    assert (shown.exit_code, shown.stderr) == (75, "m: the machine is not well: it does not say what it has for x\n")
    assert "x: not known (known-good 1.0 bar)" in shown.stdout


def test_a_value_outside_of_the_bounds_is_pointed_out(odd, config):
    odd(read_back=lambda: {"x": 7.0})
    shown = run("check", "odd", "--config", config)
    assert "x: 7.0 bar (outside of what is allowed, known-good" in shown.stdout
    assert "ready" not in shown.stdout  # the daemon would send nothing from there either
    sentence = "m: the machine is not well: x is outside of its limits, bring it back by hand\n"
    assert (shown.exit_code, shown.stderr) == (75, sentence)


@pytest.mark.parametrize(
    ("calls", "code", "sentence"),
    [
        ({"open": raising(LinkError("no answer"))}, 75, "m: no answer"),
        ({"health": raising(LinkError("cut off"))}, 75, "m: cut off"),
        ({"health": lambda: Health(False, "the door is open")}, 75, "m: the machine is not well: the door is open"),
        ({"health": lambda: Health(True, "", {"guard": False})}, 75, "m: no setting can be sent: guard does not hold"),
        ({"read_back": raising(RefusedError("not for you"))}, 1, "m: not for you"),
        ({"read_back": lambda: {"x": float("nan")}}, 1, "m: x was read back as nan"),
        ({"read_back": lambda: {"x": "warm"}}, 1, 'm: x was read back as "warm"'),
        ({"read_back": lambda: None}, 1, "m: the adapter answered read_back with None"),
        ({"health": lambda: "fine"}, 1, 'm: the adapter answered health with "fine"'),
        (
            {"open": raising(ZeroDivisionError("by zero"))},
            1,
            "m: the adapter failed in open, which is a defect of it: ZeroDivisionError: by zero",
        ),
        (
            {"close": raising(KeyError("x"))},
            1,
            "m: the adapter failed in close, which is a defect of it: KeyError: 'x'",
        ),
        ({"open": raising(LinkError("first")), "close": raising(KeyError("later"))}, 75, "m: first"),
    ],
)
def test_what_is_wrong_with_a_machine_is_a_sentence_and_an_exit_code(odd, config, calls, code, sentence):
    odd(**calls)
    shown = run("check", "odd", "--config", config)
    assert (shown.exit_code, shown.stderr) == (code, f"{sentence}\n")


def test_an_adapter_that_never_returns_is_left_behind(odd, config, monkeypatch):
    monkeypatch.setattr(adapters_check, "GRACE_S", 0.1)
    for_ever = threading.Event()
    odd(health=lambda: for_ever.wait() and None)
    shown = run("check", "odd", "--config", config, "--deadline-s", "0.1")
    for_ever.set()
    assert shown.exit_code == 75
    assert "did not return from health" in shown.stderr


def test_one_machine_that_fails_does_not_keep_from_the_next(odd, tmp_path):
    file = tmp_path / "two.toml"
    campaign = '[[campaign]]\nname = "{0}"\nmachine = "{0}"\nbudget.trials = 3\nadapter.name = "odd"\n'
    parameter = '[[campaign.parameter]]\nkind = "continuous"\nname = "x"\nlow = 0\nhigh = 2\nstart = 1\n'
    file.write_text("".join(campaign.format(name) + parameter for name in ("a", "b")))
    failures = iter([LinkError("a is off")])
    odd(open=lambda: (_ for _ in ()).throw(next(failures)) if failures.__length_hint__() else None)
    shown = run("check", "odd", "--config", str(file))
    assert (shown.exit_code, shown.stderr) == (75, "a: a is off\n")
    assert "campaign b, machine b" in shown.stdout
    assert run("check", "odd", "--config", str(file), "--campaign", "b").stdout.startswith("campaign b,")


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["check", "simulated", "--config", "missing.toml"], 78, "missing.toml:1: file: does not exist"),
        (["check", "command", "--config", SASENA], 2, 'uses the adapter "command"; used: "simulated"'),
        (["check", "simulated", "--config", SASENA, "--campaign", "x"], 2, 'has no campaign "x"; it has "sasena"'),
        (["check", "simulated", "--config", SASENA, "--deadline-s", "0"], 2, "0<x<=3600"),
        (["new", "Oven"], 2, '"Oven" is not a name for an adapter'),
        (["new", "my-oven"], 2, "is not a name for an adapter"),
        (["new", "oven_"], 2, "is not a name for an adapter"),
        (["new", "../oven"], 2, "is not a name for an adapter"),
        (["new", "x" * 41], 2, "is not a name for an adapter"),
        (["new", "simulated"], 2, 'an adapter "simulated" is already installed'),
        (["new", "oven", str(ROOT)], 2, "exists and is not an empty directory"),
        (["new", "oven", SASENA], 2, "exists and is not an empty directory"),
        (["explode"], 2, "No such command 'explode'"),
    ],
)
def test_bad_input_is_answered_with_a_sentence_and_the_right_exit_code(arguments, code, sentence):
    shown = run(*arguments)
    assert shown.exit_code == code
    assert sentence.replace(" ", "") in "".join(shown.stderr.split())


@pytest.mark.slow
def test_a_new_adapter_can_be_installed_passes_its_tests_and_answers(tmp_path, monkeypatch):
    """As its author would do it, but without a network and without touching this environment."""
    package, site = tmp_path / "tuner-big_oven", tmp_path / "site"
    shown = run("new", "big_oven", str(package))
    assert shown.exit_code == 0, shown.output
    assert f"wrote {package / 'tuner_big_oven' / 'adapter.py'}" in shown.stdout
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(site), str(ROOT)))}

    def python(*arguments):
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=package,
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENT_S,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    offline = ["--no-build-isolation", "--no-deps", "--no-index", "--disable-pip-version-check", "--quiet"]
    python("-m", "pip", "install", *offline, "--target", str(site), str(package))
    tested = python("-m", "pytest", "-q", "-W", "error", "-p", "no:asyncio", "-p", "no:cacheprovider")
    assert f"{len(conformance_tests())} passed" in tested
    monkeypatch.syspath_prepend(site)
    rows = [" ".join(line.split()) for line in run("list").stdout.splitlines()]
    assert "big_oven tuner-big-oven 0.1.0 Speaks with the machine big_oven." in rows
    assert "where the machine is" in run("info", "big_oven").stdout
    checked = run("check", "big_oven", "--config", str(package / "example.toml"))
    assert checked.exit_code == 0, checked.output
    assert "ready; nothing was moved" in checked.stdout


def conformance_tests():
    return [name for name in dir(AdapterConformance) if name.startswith("test_")]


def test_a_new_adapter_is_written_as_neatly_as_ours(tmp_path):
    package = tmp_path / "oven"
    assert CliRunner().invoke(cli, ["adapters", "new", "oven", str(package)]).exit_code == 0
    rules = ["--isolated", "--no-cache", "--line-length", "120"]  # its own place, not ours: tuner is a third party
    for command in (
        ["check", "--select", "E,F,W,I,UP,B,D,PT,RET,SIM", "--ignore", "D203,D213,D107"],
        ["format", "--check"],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, *rules, "."],
            cwd=package,
            capture_output=True,
            text=True,
            timeout=PATIENT_S,
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_without_a_directory_the_package_is_written_beside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("new", "oven").exit_code == 0
    assert (tmp_path / "tuner-oven" / "pyproject.toml").exists()
    again = run("new", "oven")
    assert again.exit_code == 2
    assert "tuner-oven exists" in again.stderr


def test_names_of_adapters_are_completed():
    context = adapters_cli.info.make_context("info", ["simulated"])
    offered = adapters_cli.info.params[0].shell_complete(context, "sim")
    assert [item.value for item in offered] == ["simulated"]


def test_the_base_settings_have_no_keys():
    assert AdapterSettings.model_fields == {}


def test_check_shows_every_place_and_fails_where_one_cannot_be_used(odd, config):
    good = Inspected("trial.start", "DB5.DBX0.0", "written, now false", took_s=0.0012)
    odd(inspect=lambda: [good])
    shown = run("check", "odd", "--config", config)
    assert shown.exit_code == 0
    assert "  trial.start  DB5.DBX0.0      1.2 ms  written, now false" in shown.stdout
    odd(inspect=lambda: [good, Inspected("trial.valid", "DB5.DBX9.0", "beyond the end of the block", ok=False)])
    shown = run("check", "odd", "--config", config)
    assert "! trial.valid  DB5.DBX9.0" in shown.stdout
    sentence = "m: 1 of 2 places cannot be used: trial.valid; trial.valid: beyond the end of the block\n"
    assert (shown.exit_code, shown.stderr) == (1, sentence)
