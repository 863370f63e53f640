"""`tuner adapters check`: asks a machine everything, moves nothing, and says in a sentence what is wrong."""

import threading

import pytest

from tests.cli.odd import SASENA, run
from tuner.adapter import Health, Inspected, LinkError, RefusedError
from tuner.machine import check as adapters_check


def raising(error):
    def call():
        raise error

    return call


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
        (
            {"health": lambda: Health(True, "", {"guard": False, "key": False, "air": True})},
            75,
            "m: no setting can be sent: guard, key do not hold",
        ),
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


def test_check_shows_every_place_and_fails_where_one_cannot_be_used(odd, config):
    good = Inspected("trial.start", "DB5.DBX0.0", "written, now false", took_s=0.0012)
    odd(inspect=lambda: [good])
    shown = run("check", "odd", "--config", config)
    assert shown.exit_code == 0
    assert "  trial.start  DB5.DBX0.0      1.2 ms  written, now false" in shown.stdout
    odd(inspect=lambda: [good, Inspected("trial.valid", "DB5.DBX9.0", "beyond the end of the block", ok=False)])
    shown = run("check", "odd", "--config", config)
    assert "! trial.valid  DB5.DBX9.0" in shown.stdout
    sentence = "m: 1 of 2 places cannot be used: trial.valid: beyond the end of the block\n"
    assert (shown.exit_code, shown.stderr) == (1, sentence)
    odd(
        inspect=lambda: [
            Inspected(name, "DB5", f"{name} is too short", ok=False) for name in ("trial.tag", "trial.made")
        ]
    )
    shown = run("check", "odd", "--config", config)
    assert shown.stderr == "m: 2 of 2 places cannot be used: trial.tag, trial.made; trial.tag is too short\n"


def test_what_a_machine_says_of_its_faults_moves_no_cursor(odd, config):
    odd(inspect=lambda: [Inspected("trial.valid", "DB5\x1b[2J", "beyond\x1b]0;mine\x07", ok=False)])
    shown = run("check", "odd", "--config", config)
    assert "trial.valid: beyond ]0;mine" in shown.stderr
    assert "\x1b" not in shown.stdout + shown.stderr
