import json
import shutil
import subprocess
import sys
import tomllib

import pytest
from click.testing import CliRunner

from tuner.cli import init as command
from tuner.cli.main import cli
from tuner.config import load_config
from tuner.setup.about import ABOUT
from tuner.setup.interview import Ask, interview
from tuner.setup.questions import next_question

FIVE = """
machine = "press-3"
campaign = "bracket"
adapter = "practice"
constraints = ["2*speed + pressure <= 160"]
trials = 60
scrap = 15
approval = false
timezone = "Europe/Vienna"
quiet_hours = ["22:00-06:00"]
breaks = ["09:00-09:15", "12:00-12:30"]
settling_parts = 2
[[parameter]]
name = "pressure"
unit = "bar"
low = 20
high = 80
start = 45
step_limit = 5
[[parameter]]
name = "speed"
low = 10
high = 60
resolution = 2.5
start = 30
[[parameter]]
name = "strokes"
low = 1
high = 8
resolution = 1
start = 3
[[parameter]]
name = "heat"
unit = "°C"
low = 180
high = 240
start = 210
rate_limit = 5
[[parameter]]
name = "nozzle"
kind = "choice"
choices = ["round", "flat", "slot"]
start = "flat"
"""


STEPS = "high = 49\nresolution = 2.6\nstart = 30.8"


def init(*words, **options):
    return CliRunner().invoke(cli, ["init", *map(str, words)], **options)


def typed(directory, lines):
    return init(directory, input="".join(f"{line}\n" for line in lines))


def test_yes_writes_a_configuration_that_is_right_with_a_machine_to_practise(tmp_path):
    shown = init(tmp_path / "press", "--yes")
    assert shown.exit_code == 0, shown.output
    assert f"export TUNER_STATE={tmp_path}/press/state" in shown.stdout
    assert f"tuner run {tmp_path}/press/tuner.toml 2>{tmp_path}/press/daemon.log &" in shown.stdout
    (campaign,) = load_config(tmp_path / "press" / "tuner.toml").campaigns
    assert [p.name for p in campaign.parameters] == ["pressure", "speed", "nozzle"]
    assert campaign.constraints[0].text == "2*speed + pressure <= 160"
    request = json.dumps({"op": "run_trial", "setting": dict(campaign.known_good), "tag": "5f01ab-P1"})
    made = subprocess.run(
        [sys.executable, *campaign.adapter.settings.argv[1:]], input=request, capture_output=True, text=True, check=True
    )
    flaws = json.loads(made.stdout)["measurements"]["flaws"]
    assert (tmp_path / "press" / "parts" / "P1.txt").read_text().count("#") == flaws


def test_answers_of_a_file_become_parameters_of_the_right_kinds(tmp_path):
    (tmp_path / "answers.toml").write_text(FIVE)
    shown = init(tmp_path / "press", "--answers", tmp_path / "answers.toml")
    assert shown.exit_code == 0, shown.output
    (campaign,) = load_config(tmp_path / "press" / "tuner.toml").campaigns
    assert [p.kind for p in campaign.parameters] == ["continuous", "continuous", "integer", "continuous", "choice"]
    assert campaign.parameters[1].resolution == 2.5
    assert campaign.parameters[0].step_limit == 5.0
    assert campaign.parameters[3].rate_limit == 5.0
    assert campaign.known_good == {"pressure": 45.0, "speed": 30.0, "strokes": 3, "heat": 210.0, "nozzle": "flat"}
    assert (campaign.budget.trials, campaign.budget.scrap) == (60, 15)
    assert campaign.policy.approval is False
    assert campaign.policy.settling_parts == 2
    assert len(campaign.policy.questions.breaks) == 2


def test_what_people_say_of_a_parameter_comes_into_a_configuration_that_is_right(tmp_path):
    heat = 'name = "heat"\nlabel = "mould heat"\nmanual = true\nchange_cost = 3\nresolution = 0.5'
    odd = 'name = "strokes"\nlabel = "Hübe"'
    text = FIVE.replace('name = "heat"', heat).replace('name = "strokes"', odd)
    # 10 is no multiple of 2.6: it is steps from there on
    (tmp_path / "answers.toml").write_text(text.replace("high = 60\nresolution = 2.5\nstart = 30", STEPS))
    shown = init(tmp_path / "press", "--answers", tmp_path / "answers.toml")
    assert shown.exit_code == 0, shown.output
    checked = CliRunner().invoke(cli, ["check-config", str(tmp_path / "press" / "tuner.toml")])
    assert checked.exit_code == 0, checked.output
    (campaign,) = load_config(tmp_path / "press" / "tuner.toml").campaigns
    known = {p.name: p for p in campaign.parameters}
    assert (known["heat"].called, known["heat"].manual, known["heat"].cost) == ("mould heat", True, 3.0)
    assert known["heat"].resolution == 0.5
    assert (known["strokes"].called, known["strokes"].manual) == ("Hübe", False)
    assert (known["speed"].kind, known["speed"].step) == ("stepped", 2.6)
    made = CliRunner().invoke(cli, ["adapters", "rehearse", str(tmp_path / "press" / "tuner.toml"), "--yes"])
    assert "a valid part" in made.output, "the practice machine is told of what people change too"


def test_an_adapter_s_own_keys_are_asked_for_and_checked(tmp_path):
    settings = """
[settings]
host = "10.0.0.7"
parameters.pressure.address = 10
parameters.pressure.type = "float32"
parameters.speed.address = 12
parameters.speed.type = "float32"
trial.start.address = 20
trial.done.address = 21
"""
    text = FIVE.replace('"practice"', '"modbus"') + settings
    pressed = text[: text.index('[[parameter]]\nname = "strokes"')] + settings
    (tmp_path / "answers.toml").write_text(pressed)
    shown = init(tmp_path / "press", "--answers", tmp_path / "answers.toml")
    assert shown.exit_code == 0, shown.output
    (campaign,) = load_config(tmp_path / "press" / "tuner.toml").campaigns
    assert campaign.adapter.settings.parameters["speed"].address == 12
    assert not (tmp_path / "press" / "machine.py").exists()
    (tmp_path / "answers.toml").write_text(pressed.replace("parameters.speed.address = 12\n", ""))
    shown = init(tmp_path / "other", "--answers", tmp_path / "answers.toml")
    assert shown.exit_code == 2
    assert "there is no answer to settings.parameters.speed.address" in shown.stderr
    assert not (tmp_path / "other").exists()


TALK = [
    "press-3", "bracket", "",  # machine, campaign, practice
    "pressure", "", "", "bar", "20", "80", "", "45", "", "",
    "", "",  # not by hand, not hard to change
    "n",  # no other parameter
    "", "", "", "", "", "", "", "", "",
]  # fmt: skip


def test_a_person_is_asked_in_plain_words(tmp_path):
    shown = typed(tmp_path / "press", TALK)
    assert shown.exit_code == 0, shown.output
    assert "What is the machine called? [press-1] press-3" in shown.stdout
    (campaign,) = load_config(tmp_path / "press" / "tuner.toml").campaigns
    assert (campaign.machine, campaign.name) == ("press-3", "bracket")


def test_back_takes_an_answer_back_and_a_wrong_answer_is_asked_again(tmp_path):
    talk = ["press 3", "press-9", "back", *TALK[:3], "?", *TALK[3:7], "twenty", "20", "10", "80", "", "95", *TALK[10:]]
    shown = typed(tmp_path / "press", talk)
    assert shown.exit_code == 0, shown.output
    assert "a name has a letter first" in shown.stdout
    assert '"twenty" is no number' in shown.stdout
    assert "more than the lowest value, 20" in shown.stdout
    assert "must lie between low (20.0) and high (80.0), not 95.0" in shown.stdout
    (campaign,) = load_config(tmp_path / "press" / "tuner.toml").campaigns
    assert campaign.machine == "press-3"
    assert campaign.known_good == {"pressure": 45.0}


def test_back_at_the_first_question_stays_there(tmp_path):
    shown = typed(tmp_path / "press", ["back", *TALK])
    assert shown.exit_code == 0
    assert "This is the first question." in shown.stdout


def test_a_rule_that_the_known_good_setting_breaks_is_not_taken(tmp_path):
    place = TALK.index("n") + 1
    shown = typed(tmp_path / "press", [*TALK[:place], "pressure <= 40", "pressure <= 70", *TALK[place:]])
    assert shown.exit_code == 0, shown.output
    assert 'must satisfy "pressure <= 40", but pressure = ' in shown.stdout
    (campaign,) = load_config(tmp_path / "press" / "tuner.toml").campaigns
    assert [one.text for one in campaign.constraints] == ["pressure <= 70"]


def test_control_c_and_answers_that_end_write_nothing(tmp_path, monkeypatch):
    shown = typed(tmp_path / "press", TALK[:5])
    assert shown.exit_code == 2
    assert "The answers ended before the questions did; nothing was written" in shown.stderr

    def interrupted(prompt):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "_line", interrupted)
    shown = init(tmp_path / "press")
    assert shown.exit_code == 130
    assert "Nothing was written." in shown.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("trials = 60", "trials = 0"), "answers: trials: a whole number, 1 or more, not 0"),
        (("trials = 60", "trails = 60"), 'answers: trails: is no question; did you mean "trials"?'),
        (('"22:00-06:00"', '"22-6"'), "answers: quiet_hours: "),
        (("start = 45", "start = 450"), "answers: parameter.0.start: must lie between low (20.0) and high (80.0)"),
        (("high = 80", "high = 8"), "answers: parameter.0.high: more than the lowest value, 20, not 8"),
        (("resolution = 2.5", "resolution = 2.4"), "answers: parameter.1.start: "),
        (('"practice"', '"modbuss"'), 'answers: adapter: one of "practice", '),
        (('"Europe/Vienna"', '"Europe/Wien"'), "is not a time zone"),
        (("[[parameter]]", "[[parameter"), "is not TOML"),
    ],
)
def test_a_wrong_answer_of_a_file_is_named_and_nothing_is_written(tmp_path, change, sentence):
    (tmp_path / "answers.toml").write_text(FIVE.replace(*change, 1))
    shown = init(tmp_path / "press", "--answers", tmp_path / "answers.toml")
    assert shown.exit_code == 78, shown.output
    assert sentence in shown.stderr
    assert not (tmp_path / "press").exists()


def test_what_is_there_already_is_not_written_over(tmp_path):
    (tmp_path / "tuner.toml").write_text("mine")
    shown = init(tmp_path, "--yes")
    assert shown.exit_code == 1
    assert "is there already" in shown.stderr
    (tmp_path / "tuner.toml").unlink()
    (tmp_path / "machine.py").write_text("mine too")
    assert init(tmp_path, "--yes").exit_code == 1
    assert not (tmp_path / "tuner.toml").exists()


def test_texts_with_quotes_and_signs_survive(tmp_path):
    text = FIVE.replace('"round", "flat", "slot"', "'ro\"und', 'fl\\at', \"sl'ot\"").replace(
        'start = "flat"', "start = 'fl\\at'"
    )
    (tmp_path / "answers.toml").write_text(text)
    shown = init(tmp_path / "press", "--answers", tmp_path / "answers.toml")
    assert shown.exit_code == 0, shown.output
    table = tomllib.loads((tmp_path / "press" / "tuner.toml").read_text())
    assert table["campaign"][0]["parameter"][4]["choices"] == ['ro"und', "fl\\at", "sl'ot"]
    setting = dict(load_config(tmp_path / "press" / "tuner.toml").campaigns[0].known_good)
    python = shutil.which("python3") or sys.executable
    machine = [python, tmp_path / "press" / "machine.py"]
    asked = json.dumps({"setting": setting, "tag": "P1"})
    made = subprocess.run(machine, input=asked, capture_output=True, text=True, check=True)
    assert json.loads(made.stdout)["valid"] is True


def test_every_question_has_a_sentence_for_who_asks_and_yes_or_no_shows_itself():
    answers, without = {}, []
    while (question := next_question(answers)) is not None:
        if not (question.about or ABOUT.get(question.key.rpartition(".")[2])):
            without.append(question.key)
        answers[question.key] = question.default if question.default is not None else question.sample
    assert not without
    shown = []
    with pytest.raises(KeyboardInterrupt):
        interview({}, defaults=False, ask=Ask(lambda prompt: shown.append(prompt) or _typed(prompt), shown.append))
    assert "Another parameter? [y/n] " in shown
    assert "five parts" in ABOUT["change_cost"]


def _typed(prompt):
    if prompt.startswith("Another parameter"):
        raise KeyboardInterrupt
    return (
        "1"
        if "Highest" in prompt
        else "0"
        if "Lowest" in prompt
        else "0.5"
        if "good parts" in prompt
        else ("melt" if "its name" in prompt else "")
    )
