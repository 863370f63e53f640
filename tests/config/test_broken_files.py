"""Broken configuration files: each must give its line, its key and its reason, exit code 78 and no traceback."""

import pytest
from click.testing import CliRunner, Result

from tuner.cli.main import cli
from tuner.config import parse_config
from tuner.config.size import too_much
from tuner.errors import ConfigError

GOOD = """\
[daemon]
state_directory = "state"
requests = "ipc:///run/tuner/requests.sock"
[[campaign]]
name = "press"
machine = "line-3"
constraints = ["2*speed + pressure <= 140"]
[campaign.budget]
trials = 30
[campaign.policy]
approval = true
[campaign.policy.questions]
quiet_hours = ["22:00-06:00"]
[campaign.adapter]
name = "simulated"
[campaign.adapter.settings]
problem = "rosenbrock5"
[[campaign.parameter]]
kind = "continuous"
name = "speed"
low = 1
high = 60.0
start = 20.0
log = true
[[campaign.parameter]]
kind = "stepped"
name = "pressure"
low = 0.0
high = 100.0
step = 2.5
start = 50.0
[[campaign.parameter]]
kind = "integer"
name = "passes"
low = 1
high = 9
start = 3
[[campaign.parameter]]
kind = "choice"
name = "tool"
choices = ["steel", "brass"]
start = "brass"
[[campaign.parameter]]
kind = "continuous"
name = "heat"
low = -10.0
high = 200.0
start = 80.0
"""
SECOND = """\
[[campaign]]
name = "{name}"
machine = "{machine}"
budget = {{ trials = 5 }}
adapter = {{ name = "simulated", settings = {{ problem = "forrester" }} }}
[[campaign.parameter]]
kind = "continuous"
name = "x"
low = 0
high = 1
start = 0.5
"""


def check(tmp_path, content: str | bytes) -> Result:
    file = tmp_path / "broken.toml"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return CliRunner().invoke(cli, ["check-config", str(file)])


# the line to change (or None to append), what to write there, the line of the error, its key, its reason
BROKEN = [
    (1, "[deamon]", 1, "deamon", 'not a known key; did you mean "daemon"?'),
    (2, 'state_directry = "x"', 2, "daemon.state_directry", 'did you mean "state_directory"? known: state_directory,'),
    (2, "state_directory = 3", 2, "daemon.state_directory", "must be a text in quotes, not 3"),
    (2, 'state_directory = ""', 2, "daemon.state_directory", "must be the path of a directory"),
    (3, 'requests = "5555"', 3, "daemon.requests", 'allowed: "ipc:///absolute/path" or "tcp://host:port"'),
    (3, 'requests = "tcp://here:70000"', 3, "daemon.requests", "is not an endpoint"),
    (3, f'events = "ipc:///{"x" * 120}"', 3, "daemon.events", "107 bytes"),
    (3, 'log = { level = "loud" }', 3, "daemon.log.level", 'must be "debug", "info", "warning" or "error", not "loud"'),
    (3, "log.file_megabytes = 0", 3, "daemon.log.file_megabytes", "must be greater than 0, not 0"),
    (4, "[campaign]", 4, "campaign", "must be a list of tables: write [[campaign]]"),
    (5, "", 4, "campaign[#1].name", "is missing: name of the campaign"),
    (5, 'name = "a press"', 5, "campaign[a press].name", "allowed: a letter, then"),
    (5, "name = 2024-05-01", 5, "campaign[#1].name", "is a date or time"),
    (7, "constraints = 'speed <= 3'", 7, "campaign[press].constraints", "must be a list, not"),
    (
        7,
        'constraints = [\n"speed <= 140",\n"speed +"]',
        9,
        "campaign[press].constraints[#2]",
        "column 8: expected a number",
    ),
    (
        7,
        'constraints = ["sped <= 9"]',
        7,
        "campaign[press].constraints[#1]",
        '"sped", which is no parameter; did you mean "speed"?',
    ),
    (7, 'constraints = ["tool <= 9"]', 7, "campaign[press].constraints[#1]", "is a choice and not a number"),
    (
        7,
        'constraints = ["speed < 20"]',
        7,
        "campaign[press].constraints[#1]",
        "known-good setting (the keys `start`) must satisfy",
    ),
    (7, 'constraints = ["speed > 60"]', 7, "campaign[press].constraints[#1]", "no setting satisfies the constraint"),
    (7, 'constraints = ["3.2 < passes < 3.8"]', 7, "campaign[press].constraints[#1]", "no setting satisfies"),
    (
        7,
        'constraints = ["heat <= 100", "speed + pressure <= 70", "speed + pressure >= 71"]',
        7,
        "campaign[press].constraints[#3]",
        "no setting satisfies all of these constraints: 'speed + pressure <= 70', 'speed + pressure >= 71'",
    ),
    (
        7,
        'constraints = ["speed + pressure <= 1.001"]',
        7,
        "campaign[press].constraints[#1]",
        "known-good setting (the keys `start`) must satisfy",
    ),
    (7, 'constraints = ["1/(speed-20) < 20"]', 7, "campaign[press].constraints[#1]", "speed = 20 do not"),
    (7, 'constraints = ["1 < 2"]', 7, "campaign[press].constraints[#1]", "speaks of no parameter"),
    (7, 'constraints = [["speed < 2"]]', 7, "campaign[press].constraints[#1]", "must be a text such as"),
    (9, "trials = 0", 9, "campaign[press].budget.trials", "must be at least 1, not 0"),
    (9, "trials = 12.5", 9, "campaign[press].budget.trials", "must be a whole number, not 12.5"),
    (9, "scrap = 3", 8, "campaign[press].budget.trials", "is missing: largest number of trials"),
    (11, 'approval = "yes"', 11, "campaign[press].policy.approval", 'must be true or false, not "yes"'),
    (11, "approval = 1", 11, "campaign[press].policy.approval", "must be true or false, not 1"),
    (11, "settling_s = -inf", 11, "campaign[press].policy.settling_s", "must be a finite number, not -inf"),
    (
        13,
        'quiet_hours = ["22:00-06:00",\n"9-10"]',
        14,
        "campaign[press].policy.questions.quiet_hours[#2]",
        "is not a time of day",
    ),
    (13, 'breaks = ["12:00-12:00"]', 13, "campaign[press].policy.questions.breaks[#1]", "to another HH:MM"),
    (13, 'timezone = "Europe/Atlantis"', 13, "campaign[press].policy.questions.timezone", "is not a time zone"),
    (13, 'timezone = "../../etc/passwd"', 13, "campaign[press].policy.questions.timezone", "is not a time zone"),
    (15, 'name = "simulater"', 15, "campaign[press].adapter.name", 'did you mean "simulated"? installed:'),
    (15, "", 14, "campaign[press].adapter.name", "is missing: name of an installed adapter"),
    (17, 'problem = "rosenbrok"', 17, "campaign[press].adapter.settings.problem", 'did you mean "rosenbrock5"?'),
    (17, 'problm = "sasena"', 17, "campaign[press].adapter.settings.problm", 'did you mean "problem"? known: problem,'),
    (
        17,
        "seconds_per_trial = true",
        17,
        "campaign[press].adapter.settings.seconds_per_trial",
        "must be a number, not true",
    ),
    (17, 'problem = "sasena"', 16, "campaign[press].adapter.settings", "has 2 variables, the campaign 5 parameters"),
    (19, 'kind = "continuos"', 19, "campaign[press].parameter[speed].kind", 'did you mean "continuous"?'),
    (
        19,
        "kind = 3",
        19,
        "campaign[press].parameter[speed].kind",
        'must be one of "continuous", "integer", "stepped", "choice", not 3',
    ),
    (19, "", 18, "campaign[press].parameter[speed].kind", 'is missing; it must be one of "continuous"'),
    (20, 'name = "feed speed"', 20, "campaign[press].parameter[feed speed].name", "cannot be used in constraints"),
    (20, 'name = "max"', 20, "campaign[press].parameter[max].name", "is a function in constraints"),
    (20, 'name = "heat"', 45, "campaign[press].parameter[heat].name", 'another parameter has the name "heat" too'),
    (21, 'low = "1"', 21, "campaign[press].parameter[speed].low", 'must be a number, not "1"'),
    (21, "low = true", 21, "campaign[press].parameter[speed].low", "must be a number, not true"),
    (21, "low = nan", 21, "campaign[press].parameter[speed].low", "must be a finite number, not nan"),
    (21, "low = -1.0", 24, "campaign[press].parameter[speed].log", "a log scale needs low greater than 0"),
    (21, "low = 60", 22, "campaign[press].parameter[speed].high", "must be greater than low (60.0), not 60.0"),
    (22, "high = 0.5", 22, "campaign[press].parameter[speed].high", "must be greater than low (1.0), not 0.5"),
    (22, "high = inf", 22, "campaign[press].parameter[speed].high", "must be a finite number, not inf"),
    (22, "hihg = 60", 22, "campaign[press].parameter[speed].hihg", 'did you mean "high"?'),
    (
        23,
        "start = 61",
        23,
        "campaign[press].parameter[speed].start",
        "must lie between low (1.0) and high (60.0), not 61.0",
    ),
    (23, "", 18, "campaign[press].parameter[speed].start", "is missing: known-good value"),
    (24, "step_limit = 0", 24, "campaign[press].parameter[speed].step_limit", "must be greater than 0, not 0"),
    (24, "rate_limit = -3", 24, "campaign[press].parameter[speed].rate_limit", "must be greater than 0, not -3"),
    (24, f"tolerance = {10**30}", 24, "campaign[press].parameter[speed].tolerance", "64 bits"),
    (24, f"tolerance = 0x{'f' * 9999}", 24, "campaign[press].parameter[speed].tolerance", "64 bits"),
    (28, "low = 1.0", 30, "campaign[press].parameter[pressure].step", "the nearest below is 98.5"),
    (30, "step = 1e-9", 30, "campaign[press].parameter[pressure].step", "use a continuous parameter"),
    (30, "step = 200", 30, "campaign[press].parameter[pressure].step", "whole number of steps"),
    (31, "start = 51", 31, "campaign[press].parameter[pressure].start", "50 or 52.5, not 51.0"),
    (31, "start = 50\nstep_limit = 1", 32, "campaign[press].parameter[pressure].step_limit", "at least one step (2.5)"),
    (35, "low = 1.0", 35, "campaign[press].parameter[passes].low", "must be a whole number, not 1.0"),
    (36, "high = 99999999999999999", 36, "campaign[press].parameter[passes].high", "must be at most 9007199254740992"),
    (41, 'choices = ["brass"]', 41, "campaign[press].parameter[tool].choices", "must have at least 2 entries, not 1"),
    (41, 'choices = ["brass",\n"brass"]', 42, "campaign[press].parameter[tool].choices[#2]", "is in the list twice"),
    (41, "choices = [1, 2]", 41, "campaign[press].parameter[tool].choices[#1]", "must be a text in quotes, not 1"),
    (42, 'start = "bras"', 42, "campaign[press].parameter[tool].start", 'must be one of "steel", "brass", not "bras"'),
    (42, 'start = "brass"\nlow = 3', 43, "campaign[press].parameter[tool].low", "not a known key"),
    (
        None,
        SECOND.format(name="press", machine="m"),
        50,
        "campaign[press].name",
        'another campaign has the name "press" too',
    ),
    (
        None,
        SECOND.format(name="b", machine="line-3"),
        51,
        "campaign[b].machine",
        'another campaign has the machine "line-3"',
    ),
    (None, "[[campaign]]\nparameter = []", 50, "campaign[#2].parameter", "must have at least 1 entry, not 0"),
    (None, "[[campaign]]\nparameter = [3]", 50, "campaign[#2].parameter[#1]", "must be a table, not 3"),
    (22, "high = 60.0.0", 22, "syntax", "column 12"),
    (22, "high = 60 °C", 22, "syntax", "a number stands alone, its unit has the key `unit`"),
    (22, "high == 60", 22, "syntax", "Invalid value"),
    (22, 'high = "60', 22, "syntax", "see https://toml.io"),
    (22, "low = 2", 22, "syntax", "Cannot overwrite a value"),
    (None, '"""', 49, "syntax", "see https://toml.io"),
    (None, 'x = """', 49, "syntax", "Unterminated string"),
    (None, "y = " + "[" * 5000 + "]" * 5000, 49, "file", "is nested too deep"),
    (22, "high = " + "9" * 5000, 22, "file", "has too large a number"),
    (4, "[[campaigns]]\n[[campaign]]", 4, "campaigns", 'not a known key; did you mean "campaign"?'),
    (None, "[[campaign]]\n[[campaign.parameters]]", 50, "campaign[#2].parameters", "not a known key"),
    (None, ".".join(["deep"] * 300) + " = 1", 49, "campaign[press].parameter[heat].deep", "not a known key"),
]


@pytest.mark.parametrize(("line", "text", "expected_line", "key", "reason"), BROKEN)
def test_a_broken_file_gives_the_line_the_key_and_the_reason(tmp_path, line, text, expected_line, key, reason):
    lines = GOOD.splitlines()
    if line is None:
        lines.append(text)
    else:
        lines[line - 1] = text
    shown = check(tmp_path, "\n".join(lines) + "\n")
    assert shown.exit_code == 78
    assert "Traceback" not in shown.output
    wanted = f"{tmp_path / 'broken.toml'}:{expected_line}: {key}: "
    found = [message for message in shown.stderr.splitlines() if message.startswith(wanted)]
    assert any(reason in message for message in found), shown.stderr


def test_the_file_all_these_are_made_from_is_right(tmp_path):
    shown = check(tmp_path, GOOD)
    assert shown.exit_code == 0, shown.stderr
    assert shown.stdout == f"{tmp_path / 'broken.toml'}: ok: 1 campaign, 5 parameters\n"


@pytest.mark.parametrize(
    ("content", "line", "reason"),
    [
        ("", 1, "file: is empty"),
        ("\n \t\n", 1, "file: is empty"),
        ("# nothing\n[daemon]\n", 1, "campaign: is missing: a configuration needs at least one table [[campaign]]"),
        ("campaign = []\n", 1, "campaign: must have at least 1 entry"),
        (b"a = 1\nb = '\xff'\n", 2, "file: is not UTF-8"),
        (GOOD.encode("utf-16"), 1, "file: is not UTF-8"),
        (b"a = 1\n\x00\n", 2, "syntax: "),
        ("#" * 1_000_001, 1, "file: is larger than 1000000 bytes"),
        ("a\r\nb", 1, "syntax: "),
    ],
)
def test_a_file_that_is_no_configuration_at_all_is_told_so(tmp_path, content, line, reason):
    shown = check(tmp_path, content)
    assert shown.exit_code == 78
    assert shown.stderr.startswith(f"{tmp_path / 'broken.toml'}:{line}: {reason}")


@pytest.mark.parametrize(
    ("name", "reason"), [("missing.toml", "does not exist"), (".", "is a directory"), ("x" * 300, "cannot be read")]
)
def test_a_file_that_cannot_be_read_is_told_so(tmp_path, name, reason):
    shown = CliRunner().invoke(cli, ["check-config", str(tmp_path / name)])
    assert shown.exit_code == 78
    assert f":1: file: {reason}" in shown.stderr


def test_a_file_without_permission_is_a_wrong_configuration_and_not_wrong_usage(tmp_path, monkeypatch):
    file = tmp_path / "locked.toml"
    file.write_text(GOOD, encoding="utf-8")

    def locked(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("os.access", lambda *_, **__: False)  # the super-user may read all: chmod is not enough
    monkeypatch.setattr("pathlib.Path.open", locked)
    shown = CliRunner().invoke(cli, ["check-config", str(file)])
    assert shown.exit_code == 78
    assert shown.stderr == f"{file}:1: file: cannot be read: Permission denied\n"


def test_all_errors_of_a_file_are_told_at_once_in_the_order_of_its_lines(tmp_path):
    text = GOOD
    for right, wrong in [
        ('state_directory = "state"', "state_directory = 1"),
        ('["2*speed + pressure <= 140"]', '["2*sped <= 140", "speed <"]'),
        ("trials = 30", "trials = -30"),
        ('name = "simulated"', 'name = "nothing"'),
        ("high = 60.0", "high = 0.5\ncolour = 1"),
        ("step = 2.5", "step = 3"),
        ('start = "brass"', 'start = "wood"'),
    ]:
        assert right in text
        text = text.replace(right, wrong)
    messages = check(tmp_path, text).stderr.splitlines()
    keys = [message.split(": ")[1].removeprefix("campaign[press].") for message in messages]
    assert keys == [
        "daemon.state_directory",
        "constraints[#1]",
        "constraints[#2]",
        "budget.trials",
        "adapter.name",
        "parameter[speed].high",
        "parameter[speed].colour",
        "parameter[pressure].step",
        "parameter[tool].start",
    ]


def test_an_error_elsewhere_does_not_hide_what_the_adapter_says_to_the_parameters(tmp_path):
    shown = check(tmp_path, GOOD.replace("trials = 30", "trials = 0").replace("rosenbrock5", "forrester"))
    assert ":9: campaign[press].budget.trials: must be at least 1" in shown.stderr
    assert "the problem forrester has 1 variable, the campaign 5 parameters" in shown.stderr


def test_an_error_in_one_parameter_does_not_hide_a_missing_one_behind_it(tmp_path):
    shown = check(tmp_path, GOOD.replace("high = 60.0", "high = '60'").replace("2*speed", "2*sped"))
    assert "parameter[speed].high: must be a number" in shown.stderr
    assert 'did you mean "speed"' in shown.stderr


@pytest.mark.thorough
def test_no_message_speaks_pydantic(tmp_path):
    for line, text, *_ in BROKEN:
        lines = GOOD.splitlines()
        lines[(line or len(lines)) - 1] = text
        assert "Input should" not in check(tmp_path, "\n".join(lines)).stderr


LARGE = 250_000
MONSTERS = {
    "a dotted key": "a." * (LARGE // 2) + "a = 1",
    "40 kB of a dotted key": "a." * 20_000 + "a = 1",
    "a dotted key in quotes": "'a'." * (LARGE // 4) + "a = 1",
    "a dotted header": "[" + "a." * (LARGE // 2) + "a]",
    "a dotted key in a table": "a = {" + "a." * (LARGE // 2) + "a = 1}",
    "lists in lists": "a = " + "[" * LARGE,
    "closed lists in lists": "a = " + "[" * (LARGE // 2) + "]" * (LARGE // 2),
    "tables in tables": "a = " + "{a = " * (LARGE // 5),
    "a long list": "a = [" + "1," * (LARGE // 2) + "]",
    "many deep keys": "".join(f"b{number}." + "a." * 15 + "a = 1\n" for number in range(6000)),
    "megabytes": "a = 1\n" * 1_000_000,
}


@pytest.mark.parametrize("name", MONSTERS)
def test_a_monster_is_refused_before_it_is_parsed(monkeypatch, name):
    def parse(text):
        raise AssertionError("the parser needs the square of a key's length")

    monkeypatch.setattr("tuner.config.load.tomllib.loads", parse)
    with pytest.raises(ConfigError, match=r"^config:\d+: file: (is nested too deep|is larger than|has more than)"):
        parse_config(MONSTERS[name], "config")


@pytest.mark.parametrize("text", ["a.b", "[x] y = {z}, # comment", "....", "]]]]", "'", '\\"'])
def test_what_stands_in_texts_and_comments_is_no_structure(text):
    inside = (text * 2000)[:12_000].replace("\n", "")
    quoted = [f'"{inside}"', f'"""\n{inside}\n"""'] + (
        [f"'{inside}'", f"'''\n{inside}\n'''"] if "'" not in text else []
    )
    for value in quoted:
        assert too_much(f"# {inside}\nkey = {value}\n" * 5) is None


def test_of_very_many_errors_the_first_are_told():
    with pytest.raises(ConfigError) as caught:
        parse_config("[[campaign]]\n" * 3000, "config")
    lines = str(caught.value).splitlines()
    assert len(lines) <= 501
    assert sum("more than are told here; correct these first" in line for line in lines) == 1
