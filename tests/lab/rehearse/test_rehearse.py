import json
import pickle

import numpy as np
import pytest
from click.testing import CliRunner
from rich.progress import Progress
from scipy.stats import binom, binomtest

from tests.docs.documents import ROOT
from tuner.cli.main import cli
from tuner.cli.rehearse import _Bar, _tasks
from tuner.config import parse_config
from tuner.config.to_space import campaign_space
from tuner.lab.rehearse.expectation import as_text, expectation
from tuner.lab.rehearse.process import BEST_KNOWN, MOST_SCRAP, WORST_KNOWN, draw
from tuner.lab.rehearse.run import Pace, Task, rehearse
from tuner.lab.rehearse.traps import configured, rehearsed

PRESS = """
[[campaign]]
name = "bracket"
machine = "press-3"
constraints = ["2*speed + pressure <= 160"]
[campaign.budget]
trials = 30
[campaign.policy.questions]
quiet_hours = ["22:00-06:00"]
[campaign.adapter]
name = "line"
[campaign.adapter.settings]
mode = "listen"
address = "ipc:///tmp/never-opened.sock"
[[campaign.parameter]]
kind = "continuous"
name = "pressure"
low = 20.0
high = 80.0
start = 45.0
[[campaign.parameter]]
kind = "stepped"
name = "speed"
low = 10.0
high = 60.0
step = 2.5
start = 30.0
[[campaign.parameter]]
kind = "choice"
name = "nozzle"
choices = ["round", "flat", "slot"]
start = "round"
"""


def campaign(**changed):
    text = PRESS
    for old, new in changed.items():
        text = text.replace(f"{old} = ", f"{new}\n{old} = ", 1)
    return parse_config(text, "test").campaigns[0]


def told(key, trials):
    pass


@pytest.fixture(scope="module")
def one():
    """A rehearsal with six trials."""
    return rehearse(Task(campaign(), 3, 6, Pace(part_min=3.0, look_min=2.0, approve_min=10.0)), told)


@pytest.mark.parametrize("seed", range(4))
def test_a_drawn_process_has_scrap_and_a_known_good_setting_that_makes_parts_and_is_not_the_best(seed):
    space, known_good = campaign_space(campaign()), campaign().known_good
    process = draw(space, known_good, seed)
    assert 0.0 < process.scrap <= MOST_SCRAP + 0.02
    assert process.gain(known_good) == 0.0
    rows = space.sample(4000, np.random.default_rng(99))
    valid = rows[process.margin(rows) >= 0.0]
    better = (process.cost(valid) < process.known_good_cost).mean()
    assert BEST_KNOWN / 2 < better < WORST_KNOWN + 0.05
    assert process.best_cost <= process.cost(valid).min() + 0.05
    assert len({process.measured({**known_good, "nozzle": one}) for one in ("round", "flat", "slot")}) == 3


def test_a_rehearsal_counts_what_happened(one):
    assert one.mode == "Complete"
    assert one.trials == 6 == sum(one.tries["nozzle"].values())
    assert one.machine_hours == pytest.approx(6 * 3 / 60, abs=0.01)
    assert one.hours == pytest.approx((6 * (3 + 10) + 2 * one.looks) / 60, abs=0.01)
    assert len(one.gains) == 6


@pytest.mark.thorough
def test_the_same_seed_is_the_same_rehearsal():
    task = Task(campaign(), 5, 4, Pace())
    assert rehearse(task, told) == rehearse(task, told)


def test_nobody_is_asked_in_quiet_hours():
    slow = rehearse(Task(campaign(), 3, 4, Pace(part_min=300.0, look_min=1.0, approve_min=0.0)), told)
    assert slow.hours > 4 * 5 + slow.looks / 60 + 1


def test_ramps_take_their_time():
    limited = campaign(low="rate_limit = 1.0")  # of the pressure: a minute for each bar
    pace = Pace(part_min=0.0, look_min=0.0, approve_min=0.0)
    assert rehearse(Task(limited, 3, 3, pace), told).machine_hours > 0.1


def test_traps_that_the_configuration_shows_are_named():
    assert list(configured(campaign(), 30)) == []
    said = "\n".join(configured(campaign(low="rate_limit = 1.0"), 8))
    assert "8 trials for 3 parameters: plan 20 or more" in said
    assert "nozzle: 3 options in 8 trials: hardly 4 tries for each" in said
    assert "pressure: its rate_limit makes a ramp of up to 60 min for one change" in said
    assert "are refused" in "\n".join(configured(campaign(low="rate_limit = 0.001"), 30))
    text = PRESS.replace('"2*speed + pressure <= 160"', '"pressure <= 45.5", "pressure >= 44.8"')
    assert "the constraints leave 1." in "\n".join(configured(parse_config(text, "test").campaigns[0], 30))


def test_traps_that_rehearsals_show_are_named(one):
    values = {**vars(one), "mode": "Complete", "budget": 30, "gain": -0.5, "tries": {"nozzle": {"round": 5, "slot": 1}}}
    said = "\n".join(rehearsed(campaign(), [type(one)(**values)] * 4))
    assert "4 of 4 rehearsals ended early, by the budget for scrap" in said
    assert "nozzle: 'slot' was tried at most once in 4 of 4 rehearsals" in said
    assert "most rehearsals ended no better than the known-good setting" in said
    held = type(one)(**{**values, "mode": "Held", "reason": "the way is too long"})
    assert "1 of 1 rehearsals were held, such as this one: the way is too long" in "\n".join(
        rehearsed(campaign(), [held])
    )


def test_what_to_expect_is_told_with_what_a_budget_buys(one):
    larger = type(one)(**{**vars(one), "budget": 12, "gain": 0.8})
    found = expectation(("bracket", "press-3", 3), Pace(), [one] * 3, [larger], ["a trap"])
    assert [(b.trials, b.runs) for b in found.bought] == [(3, 3), (6, 3), (12, 1)]
    text = as_text(found)
    assert "parts tried             6        6        6" in text
    last = next(line for line in text.splitlines() if line.startswith("     12 trials"))
    assert "100% (21% to 100%)" in last, "one rehearsal says little"
    assert last.endswith("80% or so   (1 rehearsal)")
    assert "so few rehearsals say little: --minutes or --runs make more of them" in text
    assert "  - a trap" in text


@pytest.mark.parametrize("runs", [6, 10, 17, 20, 50])
def test_how_sure_rehearsals_are_is_told_by_intervals_that_hold_in_95_of_100(one, runs):
    found = [type(one)(**{**vars(one), "gain": (n + 1) / runs}) for n in range(runs)]
    bought = expectation(("bracket", "press-3", 3), Pace(), found, [], []).bought[-1]
    outside = round(bought.gain.low * runs) - 1  # gains below the interval, and as many above it
    assert round((1 + 1 / runs - bought.gain.high) * runs) - 1 == outside
    assert 2 * binom.cdf(outside, runs, 0.5) < 0.051
    hits = round(bought.better.usual * runs)
    assert bought.better.low == pytest.approx(binomtest(hits, runs).proportion_ci(0.95, "wilson").low, abs=1e-3)


def test_when_the_time_is_up_what_is_under_way_is_given_up_once_there_is_one_rehearsal(tmp_path):
    (tmp_path / "press.toml").write_text(PRESS)
    words = ["rehearse", str(tmp_path / "press.toml"), "--minutes", "0", "--trials", "2", "--jobs", "2", "--json"]
    shown = CliRunner().invoke(cli, words)
    assert shown.exit_code == 0, shown.output
    assert [(one["trials"], one["runs"]) for one in json.loads(shown.stdout)["bought"]][:2] == [(1, 1), (2, 1)]
    assert "of 60 rehearsals in " in shown.stderr
    assert "more of them with --minutes" in shown.stderr


def test_the_bar_does_not_say_that_all_is_done_while_a_rehearsal_is_waited_for():
    with Progress(disable=True) as progress:
        bar = _Bar(progress, 60, limit_s=1e-9)
        bar.told(1, 3)
        (task,) = progress.tasks
        assert task.total is None
        assert "waiting for the first rehearsal" in task.description


def test_any_adapter_s_campaign_is_rehearsed_and_a_wrong_file_is_not(tmp_path):
    (tmp_path / "press.toml").write_text(PRESS)
    words = ["rehearse", str(tmp_path / "press.toml"), "--runs", "1", "--trials", "2", "--jobs", "1", "--json"]
    shown = CliRunner().invoke(cli, words)
    assert shown.exit_code == 0, shown.output
    found = json.loads(shown.stdout)
    assert found["counts"]["trials"]["usual"] == 2
    assert [one["trials"] for one in found["bought"]] == [1, 2, 4]
    shown = CliRunner().invoke(cli, [*words, "--campaign", "brackt"])
    assert shown.exit_code == 78
    assert 'did you mean "bracket"?' in shown.stderr
    assert CliRunner().invoke(cli, [*words, "--part-minutes", "nan"]).exit_code == 2


@pytest.mark.parametrize("file", sorted((ROOT / "configs").glob("*.toml")), ids=lambda file: file.stem)
def test_what_is_to_be_rehearsed_reaches_another_process_whatever_the_adapter(file):
    (campaign, *_) = parse_config(file.read_text(), file.name).campaigns
    for task in _tasks(campaign, 10, Pace(), 2):
        assert pickle.loads(pickle.dumps(task)) == task  # noqa: S301 - our own


def test_what_a_person_changes_takes_time_is_counted_and_reaches_the_part():
    manual = parse_config(PRESS + "manual = true\nchange_cost = 2.0\n", "test").campaigns[0]
    quick, slow = (rehearse(Task(manual, 3, 8, Pace(change_min=minutes)), told) for minutes in (0.0, 30.0))
    assert quick.mode == "Complete", quick.reason
    assert quick.changes >= 1  # what is fitted at first is confirmed too
    assert slow.hours - quick.hours >= 0.5 * slow.changes - 1e-6
    assert (quick.gains, quick.change_parts) == (slow.gains, slow.change_parts)
    assert sum(count > 0 for count in quick.tries["nozzle"].values()) > 1
    assert quick.change_parts >= 2.0
    shown = as_text(expectation(("a", "b", 3), Pace(), [slow], [], ()))
    assert "changes by hand" in shown
    assert "cost of changes" in shown


def test_a_change_that_costs_a_quarter_of_the_budget_is_a_trap():
    costly = parse_config(PRESS + "manual = true\nchange_cost = 9.0\n", "test").campaigns[0]
    assert any("a change costs 9 parts of a budget of 30" in trap for trap in configured(costly, 30))
    assert not any("a change costs" in trap for trap in configured(campaign(), 30))
