import csv
import json
import math
import os
import signal
import subprocess
import sys
from dataclasses import replace

import pyarrow.parquet
import pytest

from tests.lab.simulate.helpers import MIXED, SASENA, quiet, sasena, tuner
from tests.patience import PATIENT_S
from tuner.errors import ConfigError, TunerError
from tuner.lab.judges.by_name import ANSWER_S, make_judge
from tuner.lab.simulate.in_process import run_in_process
from tuner.lab.simulate.output import OutputError, check_output, write
from tuner.lab.simulate.prepare import chosen_campaign, scripted
from tuner.lab.simulate.seeds import run_pool
from tuner.lab.simulate.wired import run_batches


def by_seed(runs):
    return sorted(runs, key=lambda run: run.seed)


def test_a_run_ends_with_its_budget_and_what_it_says_fits_together():
    run = run_in_process(sasena(seed=2, trials=8), make_judge("oracle", 2), quiet)
    assert run.complete
    assert (run.trials, run.scrap) == (8, run.valid.count(False))
    assert run.settings[0] == {"x1": 3.5, "x2": 1.5}
    assert run.champion in run.settings
    assert run.regret == pytest.approx(run.cost + 1.1742743289)
    assert run.judgments >= 8 - 1 - run.scrap


def test_daemon_and_process_give_the_same_runs_bit_for_bit():
    campaigns = [sasena(seed, trials=4) for seed in (3, 4)]
    alone = [run_in_process(one, make_judge("noisy:0.2", one.seed), quiet) for one in campaigns]
    assert by_seed(run_batches(campaigns, "noisy:0.2", 2, quiet)) == alone
    assert alone[0].settings != alone[1].settings


@pytest.mark.slow
def test_daemon_and_process_agree_on_mixed_parameters_and_two_operators(tmp_path):
    file = tmp_path / "mixed.toml"
    file.write_text(MIXED)
    campaign = scripted(chosen_campaign(file), 1)
    (wired,) = run_batches([campaign], "two-operators", 1, quiet)
    assert wired == run_in_process(campaign, make_judge("two-operators", 1), quiet)
    assert wired.complete


@pytest.mark.slow
def test_through_the_daemon_a_link_that_fails_now_and_then_does_not_end_a_run(tmp_path):
    file = tmp_path / "faulty.toml"
    file.write_text(MIXED.replace("noise = 0.05", "dropout_probability = 0.03"))
    (run,) = run_batches([scripted(chosen_campaign(file), 1, trials=4)], "oracle", 1, quiet)
    assert run.complete
    assert run.trials == 4


@pytest.mark.slow
def test_processes_side_by_side_give_the_numbers_of_one():
    campaigns = [sasena(seed, trials=3) for seed in range(3)]
    alone = [run_in_process(one, make_judge("probit:1", one.seed), quiet) for one in campaigns]
    news = []
    together = by_seed(run_pool(campaigns, "probit:1", 2, lambda seed, trials: news.append((seed, trials))))
    assert together == alone
    assert {seed for seed, trials in news if trials == 3} == {0, 1, 2}


@pytest.mark.parametrize("runs", [run_pool, pytest.param(run_batches, marks=pytest.mark.slow)])
def test_a_judge_that_fails_in_a_run_ends_them_all_with_its_sentence(tmp_path, runs):
    file = tmp_path / "tired.py"
    file.write_text("def judge(left, right):\n    raise RuntimeError('I go home')\n")
    with pytest.raises(TunerError, match="judge failed: RuntimeError: I go home"):
        list(runs([sasena(0), sasena(1)], f"{file}:judge", 1, quiet))


@pytest.mark.slow
def test_a_full_disk_ends_the_runs_instead_of_waiting_for_somebody_to_make_room(tmp_path, monkeypatch):
    monkeypatch.setattr("tuner.lab.local_daemon.LEAST_ROOM_BYTES", 2**62)
    monkeypatch.setattr("tuner.lab.simulate.wired.LOOK_S", 0.1)
    monkeypatch.setattr("tuner.lab.simulate.wired.LEAVE_S", 0.1)
    file = tmp_path / "waits.py"
    file.write_text("import threading\ndef judge(left, right):\n    threading.Event().wait()\n")
    with pytest.raises(TunerError, match="the disk is full"):
        list(run_batches([sasena(0)], f"{file}:judge", 1, quiet))


@pytest.mark.parametrize("fault", ["crash_probability = 0.1", "dropout_probability = 0.1", "open_guard_every = 3"])
def test_faults_of_the_link_need_the_daemon(tmp_path, fault):
    file = tmp_path / "faulty.toml"
    file.write_text(MIXED.replace("noise = 0.05", fault))
    with pytest.raises(ConfigError, match=f"{fault.split()[0]} is for runs through the daemon"):
        run_in_process(scripted(chosen_campaign(file), 0), make_judge("oracle", 0), quiet)


def test_a_machine_that_cannot_go_on_ends_the_run_and_says_so(tmp_path):
    file = tmp_path / "astray.toml"
    file.write_text(MIXED.replace("noise = 0.05", "read_back_error = 0.5"))
    shown = tuner("simulate", file, "--in-process", "--jobs", 1)
    assert shown.exit_code == 1
    assert "seed 0 did not come to its end: Held: setting" in shown.stdout


SLIVER = """
[[campaign]]
name = "sliver"
machine = "simulator"
constraints = [CONSTRAINTS]
[campaign.budget]
trials = 4
[campaign.policy]
approval = false
[campaign.adapter]
name = "simulated"
[campaign.adapter.settings]
problem = "six_hump"
""" + "".join(
    f'[[campaign.parameter]]\nkind = "continuous"\nname = "{name}"\nlow = -1.9\nhigh = 2.0\nstart = {start}\n'
    for name, start in (("x1", 0.37), ("x2", 0.41))
)
# a search finds nothing here, but a walk from the start does; and here nobody does, not even the start, once it is
# encoded and decoded
WALKED = '"exp(-1e8*((x1 - 0.37)**2 + (x2 - 0.41)**2)) >= 0.1"'
NOWHERE = f'"{0.37 * 0.41!r} <= x1*x2 <= {0.37 * 0.41!r}", "abs(sin(1e9*x1) - sin(1e9*0.37)) <= 0"'


WAYS = [
    pytest.param(("--in-process",), id="in process"),
    pytest.param((), id="through the daemon", marks=pytest.mark.slow),
]


def sliver(tmp_path, constraints):
    file = tmp_path / "sliver.toml"
    file.write_text(SLIVER.replace("CONSTRAINTS", constraints))
    return file


@pytest.mark.slow
@pytest.mark.parametrize("options", WAYS)
def test_a_sliver_that_a_search_does_not_find_is_explored_from_the_start(tmp_path, options):
    shown = tuner("simulate", sliver(tmp_path, WALKED), *options, "--jobs", 1)
    assert shown.exit_code == 0, shown.output


@pytest.mark.slow
@pytest.mark.parametrize("options", WAYS)
def test_where_only_the_known_good_setting_is_found_that_one_is_tried_and_nothing_breaks(tmp_path, options):
    """It is on the grid of its resolution, so that it is found again; check-config warns of such constraints."""
    shown = tuner("simulate", sliver(tmp_path, NOWHERE), *options, "--jobs", 1)
    assert shown.exit_code == 0, shown.output
    said = " ".join(shown.output.split())
    assert "defect" not in said
    assert "Error" not in said


@pytest.mark.parametrize(("constraints", "said"), [(NOWHERE, "finds no setting that"), ('"x1*x2 >= 0.1"', "")])
def test_a_sliver_is_told_by_check_config(tmp_path, constraints, said):
    shown = tuner("check-config", sliver(tmp_path, constraints))
    assert ("warning: sliver: a search finds" in shown.output) is bool(said)
    assert said in shown.output


def test_a_missed_goal_is_exit_code_1():
    goals = ("--expect", "trials<=2", "--expect", "median(regret)<=0.0000001")
    shown = tuner("simulate", SASENA, "--trials", 2, "--in-process", "--jobs", 1, *goals)
    assert shown.exit_code == 1, shown.output
    assert "\nmet: trials<=2" in shown.stdout
    assert "\nMISSED: median(regret)<=0.0000001" in shown.stdout
    assert "regret of the champion" in shown.stdout


def test_results_are_written_as_csv_json_and_parquet_with_the_same_numbers(tmp_path):
    files = [tmp_path / f"runs.{suffix}" for suffix in ("csv", "json", "parquet")]
    runs = [run_in_process(sasena(seed, trials=4), make_judge("oracle", seed), quiet) for seed in (0, 7)]
    barren = replace(runs[0], regret=math.inf, recommended_regret=math.inf, cost=None, champion=None, recommended=None)
    for file in files:
        check_output(file)
        write(file, [*runs, barren], {"judge": "oracle"})
    with files[0].open(newline="") as file:
        rows = list(csv.DictReader(file))
    whole = json.loads(files[1].read_text())
    table = pyarrow.parquet.read_table(files[2]).to_pylist()
    assert whole["judge"] == "oracle"
    assert [int(row["seed"]) for row in rows] == [0, 7, 0]
    for run, row, plain, line in zip(runs, rows, whole["runs"], table, strict=False):
        assert run.regret == float(row["regret"]) == plain["regret"] == line["regret"]
        assert run.champion["x1"] == float(row["champion.x1"]) == plain["champion"]["x1"] == line["champion.x1"]
        assert len(plain["settings"]) == int(row["trials"]) == 4
    assert (rows[2]["regret"], rows[2]["champion.x1"]) == ("inf", "")
    assert whole["runs"][2]["regret"] is whole["runs"][2]["champion"] is table[2]["champion.x1"] is None


def test_the_results_of_before_stay_until_there_are_new_ones(tmp_path):
    old, new = tmp_path / "old.csv", tmp_path / "new.csv"
    old.write_text("old")
    for file in (old, new):
        check_output(file)
    assert old.read_text() == "old"
    assert not new.exists()
    link = tmp_path / "link.csv"
    link.symlink_to(old)
    with pytest.raises(OutputError, match="it is a link"):
        check_output(link)
    assert link.is_symlink()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["link.csv", "old.csv"]


@pytest.mark.slow
def test_a_full_disk_costs_the_file_and_not_the_summary(tmp_path):
    # no file may grow beyond some bytes, which is as good as a full disk
    script = "import resource as r; r.setrlimit(r.RLIMIT_FSIZE, (40, 40)); from tuner.cli.main import main; main()"
    out = tmp_path / "runs.csv"
    words = ["simulate", SASENA, "--trials", "2", "--in-process", "--jobs", "1", "--out", str(out)]
    shown = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, timeout=300)
    assert shown.returncode == 1
    assert f"{out} cannot be written: File too large" in shown.stderr
    assert "regret of the champion" in shown.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_run_that_ended_before_its_first_part_costs_the_others_no_column(tmp_path, suffix):
    whole = run_in_process(sasena(0, trials=2), make_judge("oracle", 0), quiet)
    early = replace(whole, mode="Held", champion=None, recommended=None, settings=(), valid=(), winners=())
    file = tmp_path / f"runs.{suffix}"
    write(file, [early, whole], {})
    if suffix == "csv":
        rows = list(csv.DictReader(file.read_text().splitlines()))
    else:
        rows = pyarrow.parquet.read_table(file).to_pylist()
    assert rows[0]["champion.x1"] in ("", None)
    assert float(rows[1]["champion.x1"]) == whole.champion["x1"]


def test_the_daemon_is_the_way_by_default_and_its_journal_can_be_kept(tmp_path):
    state, out = tmp_path / "kept", tmp_path / "runs.json"
    shown = tuner(
        "simulate", SASENA, "--trials", 3, "--seeds", 5, "--state", state, "--out", out, "--expect", "regret<99"
    )
    assert shown.exit_code == 0, shown.output
    assert json.loads(out.read_text())["way"] == "daemon"
    assert (state / "batch0" / "state" / "journal.sqlite").exists()
    again = tuner("simulate", SASENA, "--trials", 3, "--state", state)
    assert again.exit_code == 2
    assert "is not empty" in again.stderr


def test_without_pyarrow_parquet_is_refused_with_the_extra_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    shown = tuner("simulate", SASENA, "--out", tmp_path / "runs.parquet")
    assert shown.exit_code == 2
    assert 'pip install "process-tuner[parquet]"' in shown.stderr


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--expect", "regert<1"), 2, 'did you mean "regret"'),
        (("--judge", "orakel"), 2, "there is no judge"),
        (("--seeds", "9-3"), 2, "not a list of seeds"),
        (("--seeds", "a"), 2, "not a list of seeds"),
        (("--seeds", "0-3000000000"), 2, "not a list of seeds"),
        (("--seeds", "9" * 5000), 2, "not a list of seeds"),
        (("--seeds", "0-60000,70000-130000"), 2, "is more than 100000 seeds"),
        (("--out", "runs.xls"), 2, "written as one of .csv, .json, .parquet"),
        (("--out", "nowhere/runs.csv"), 2, "there is no directory"),
        (("--out", "/proc/runs.csv"), 2, "/proc/runs.csv cannot be written"),
        (("--speed", "0"), 2, "--speed"),
        (("--speed", "nan"), 2, "--speed"),
        (("--speed", "inf"), 2, "--speed"),
        (("--judge", "x" * 300), 2, "there is no judge"),
        (("--speed", "1e-320"), 2, "--speed"),
        (("--campaign", "sesana"), 78, 'did you mean "sasena"'),
        (("--in-process", "--state", "x"), 2, "has none"),
    ],
)
def test_wrong_options_are_one_sentence_and_an_exit_code_before_anything_runs(words, code, said):
    shown = tuner("simulate", SASENA, *words)
    assert shown.exit_code == code
    assert said in shown.stderr
    assert "Traceback" not in shown.output


def ended_while_judged(tmp_path, end, way, then="return 'left'"):
    """Send a signal to `tuner simulate` during a judgment; its exit code, once no child holds its pipes any more."""
    asked = tmp_path / "asked"
    os.mkfifo(asked)
    judge = tmp_path / "patient.py"
    judge.write_text(
        f"import threading\ndef judge(left, right):\n    open({str(asked)!r}, 'w').write('x')\n    {then}\n"
    )
    words = ["simulate", str(SASENA), "--seeds", "0-1", "--trials", "1000", "--judge", f"{judge}:judge", *way]
    started = subprocess.Popen(
        [sys.executable, "-m", "tuner", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    with asked.open() as pipe:
        assert pipe.read(1) == "x"
        started.send_signal(end)
        # where the judge does not come back, the run must not wait for it
        started.communicate(timeout=PATIENT_S if "return" in then else 0.9 * ANSWER_S)
    return started.returncode


@pytest.mark.parametrize(
    "way", [["--in-process"], pytest.param([], marks=pytest.mark.slow)], ids=["in-process", "daemon"]
)
def test_an_interrupt_ends_all_runs_and_leaves_no_process_behind(tmp_path, way):
    assert ended_while_judged(tmp_path, signal.SIGINT, way) == 130


@pytest.mark.slow
def test_an_interrupt_does_not_wait_for_a_judge_that_does_not_come_back(tmp_path):
    assert ended_while_judged(tmp_path, signal.SIGINT, [], then="threading.Event().wait()") == 130


@pytest.mark.slow
@pytest.mark.parametrize("way", [["--in-process"], []], ids=["in-process", "daemon"])
def test_a_kill_leaves_no_process_behind_either(tmp_path, way):
    assert ended_while_judged(tmp_path, signal.SIGKILL, way) == -signal.SIGKILL


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_fifty_seeds_on_two_cores_give_the_numbers_of_one_process(tmp_path):
    found = []
    for jobs in (1, 2):
        out = tmp_path / f"{jobs}.json"
        words = ("--seeds", "0-49", "--trials", 25, "--in-process", "--jobs", jobs, "--judge", "noisy:0.1")
        assert tuner("simulate", SASENA, *words, "--out", out).exit_code == 0
        runs = json.loads(out.read_text())["runs"]
        assert [run.pop("seconds") > 0 for run in runs] == [True] * 50
        found.append(runs)
    assert found[0] == found[1]


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_more_seeds_than_a_daemon_bears_go_through_several_daemons(tmp_path):
    campaigns = [sasena(seed, trials=6) for seed in range(25)]
    alone = by_seed(run_pool(campaigns, "oracle", 2, quiet))
    assert by_seed(run_batches(campaigns, "oracle", 2, quiet, tmp_path / "s")) == alone
    assert sorted(place.name for place in (tmp_path / "s").iterdir()) == ["batch0", "batch1"]
