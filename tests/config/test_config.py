from datetime import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tuner.basics.places import places
from tuner.config import Config, Continuous, Integer, Stepped, Window, load_config, parse_config
from tuner.errors import ConfigError

ROOT = Path(__file__).parents[2]
SMALL = """\
[[campaign]]
name = "small"
machine = "m"
budget = { trials = 5 }
adapter = { name = "simulated", settings = { problem = "forrester" } }
[[campaign.parameter]]
kind = "continuous"
name = "x"
low = 0
high = 1
start = 0.5
"""


@pytest.mark.parametrize("file", sorted((ROOT / "configs").glob("*.toml")), ids=lambda file: file.name)
def test_every_shipped_configuration_is_right(file):
    assert load_config(file).campaigns


def test_what_is_left_out_has_a_careful_default():
    config = parse_config(SMALL, "small.toml")
    campaign = config.campaigns[0]
    assert config.daemon.log.level == "info"
    assert campaign.policy.approval
    assert not campaign.policy.dry_run
    assert campaign.budget.scrap is None
    assert campaign.known_good == {"x": 0.5}
    assert campaign.constraints == ()


def test_a_whole_number_is_accepted_where_any_number_is():
    parameter = parse_config(SMALL, "small.toml").campaigns[0].parameters[0]
    assert isinstance(parameter, Continuous)
    assert isinstance(parameter.low, float)


def test_the_adapters_settings_are_the_adapters_own_model():
    settings = parse_config(SMALL, "small.toml").campaigns[0].adapter.settings
    assert type(settings).__name__ == "SimulatedSettings"
    assert settings.model_dump()["problem"] == "forrester"


def test_a_configuration_cannot_be_changed_and_can_be_written_out_again():
    config = parse_config(SMALL.replace("budget", 'constraints = ["x <= 1"]\nbudget'), "small.toml")
    with pytest.raises(ValidationError):
        config.campaigns[0].name = "other"  # type: ignore[misc]
    written = config.model_dump(mode="json", by_alias=True)
    assert written["campaign"][0]["constraints"] == ["x <= 1"]
    assert Config.model_validate_json(config.model_dump_json(by_alias=True)) == config


def test_a_byte_order_mark_and_windows_line_ends_are_accepted_and_counted_right(tmp_path):
    file = tmp_path / "windows.toml"
    file.write_bytes(b"\xef\xbb\xbf" + SMALL.replace("\n", "\r\n").encode())
    assert load_config(file).campaigns[0].name == "small"
    file.write_bytes(b"\xef\xbb\xbf" + SMALL.replace("\n", "\r\n").replace("0.5", "2").encode())
    with pytest.raises(ConfigError, match=r"windows\.toml:11: campaign\[small\]\.parameter\[x\]\.start"):
        load_config(file)


VALUES = ["nan", "-inf", "true", "0", "-1", "1e308", "-1e308", '""', '"x"', '"x <= y"', "[]", "[[]]", "[1, 'a']", "{}"]
VALUES += ["{ name = 'x' }", "1979-05-27", "07:32:00", "9223372036854775807", '"\\u0000"', '"""\n\n"""', "[{}, {}]"]


@given(
    st.lists(st.tuples(st.integers(0, 60), st.sampled_from(VALUES)), min_size=1, max_size=4),
    st.integers(0, 60),
    st.booleans(),
)
def test_whatever_is_written_in_place_of_a_value_the_answer_is_a_configuration_or_its_errors(changes, cut, delete):
    lines = [line for line in (ROOT / "configs" / "sasena.toml").read_text().splitlines() if line[:1] not in ("", "#")]
    for index, value in changes:
        key = lines[index % len(lines)].partition("=")[0]
        lines[index % len(lines)] = f"{key} = {value}" if not key.startswith("[") else key
    if delete:
        del lines[cut % len(lines)]
    try:
        parse_config("\n".join(lines), "f.toml")
    except ConfigError as error:
        for message in str(error).splitlines():
            source, line, rest = message.split(":", 2)
            assert source == "f.toml"
            assert 1 <= int(line) <= len(lines) + 3 * len(changes)
            assert ": " in rest
            assert "Input should" not in rest


@given(st.integers(-1000, 1000), st.integers(1, 200), st.sampled_from([0.1, 0.25, 0.3, 1.0, 2.5, 1e-3]), st.data())
def test_a_grid_written_in_decimals_fits_although_binary_fractions_do_not(low, steps, step, data):
    place = data.draw(st.integers(0, steps))
    parameter = Stepped(
        kind="stepped",
        name="x",
        low=round(low * step, 9),
        high=round((low + steps) * step, 9),
        step=step,
        start=round((low + place) * step, 9),
        step_limit=step,
    )
    assert parameter.intervals == steps


def test_the_value_read_back_may_be_off_by_little_unless_configured():
    base = {"name": "x", "low": 0, "high": 10, "start": 5}
    assert Continuous(kind="continuous", **base).read_back_tolerance == pytest.approx(1e-5)
    assert Continuous(kind="continuous", tolerance=0.5, **base).read_back_tolerance == 0.5
    assert Integer(kind="integer", **base).read_back_tolerance == 0
    assert Stepped(kind="stepped", step=2.5, **base).read_back_tolerance == pytest.approx(2.5e-3)


def test_a_window_may_go_over_midnight():
    night = Window.model_validate("22:00-06:00")
    assert [night.contains(time(hour)) for hour in (21, 22, 23, 0, 5, 6)] == [False, True, True, True, True, False]
    lunch = Window.model_validate("12:00-12:30")
    assert [lunch.contains(time(12, minute)) for minute in (0, 29, 30)] == [True, True, False]


def test_the_daemon_lives_where_the_configuration_says_else_systemd_else_in_the_users_home(tmp_path):
    systemd = {"STATE_DIRECTORY": "/var/lib/tuner", "RUNTIME_DIRECTORY": "/run/tuner"}
    assert places(systemd, tmp_path).requests == "ipc:///run/tuner/requests.sock"
    assert places(systemd, tmp_path).state_directory == Path("/var/lib/tuner")
    assert places({}, tmp_path).state_directory == tmp_path / ".local" / "state" / "tuner"
    assert places({}, tmp_path).events == f"ipc://{tmp_path}/.local/state/tuner/events.sock"
    configured = places(systemd, tmp_path, Path("/data"), "tcp://*:5555", "tcp://*:5556")
    assert configured.state_directory == Path("/data")
    assert configured.events == "tcp://*:5556"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("rate = 5", "5 % is 0.05"),
        ('rate = "5 %"', "5 % is 0.05"),
        ('rate = "2,5%"', "2.5 % is 0.025"),
        ('rate = "0.05"', "write 0.05"),
        ("rate = 0.7", "less than 0.5"),
        ("rate = 0.05\nconfidence = 95", "95 % is 0.95"),
    ],
)
def test_a_share_in_percent_is_answered_with_file_line_and_the_share_that_was_meant(tmp_path, line, said):
    file = tmp_path / "press.toml"
    lines = (ROOT / "configs" / "sasena.toml").read_text().splitlines()
    where = next(place for place, text in enumerate(lines) if text.startswith("# [campaign.scrap]"))
    lines[where : where + 1] = ["[campaign.scrap]", *line.splitlines()]
    file.write_text("\n".join(lines))
    with pytest.raises(ConfigError) as error:
        load_config(file)
    key = line.splitlines()[-1].split()[0]
    row = where + 1 + len(line.splitlines())
    assert str(error.value).startswith(f"{file}:{row}: campaign[sasena].scrap.{key}: must be")
    assert said in str(error.value)
