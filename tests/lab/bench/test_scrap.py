"""`tuner bench scrap` on a small scale."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from tuner.cli import bench_scrap
from tuner.cli.main import cli
from tuner.lab.bench.scrap.bench import Plan, Results, counted
from tuner.lab.bench.scrap.methods import METHODS
from tuner.lab.bench.scrap.processes import FAMILIES, draw_process
from tuner.lab.bench.scrap.runs import JUDGES, Cell, ScrapRun, Task, run_task


def finished(cell, seed, scrap, made=20, reachable=0.1, free=0.2):
    return ScrapRun(Task(cell, seed, 20), made, scrap, 0.5, False, 0, reachable, free, 1.0)


def test_the_names_on_the_command_line_are_those_of_the_bench():
    assert tuple(FAMILIES) == bench_scrap.FAMILIES
    assert METHODS == bench_scrap.METHODS
    assert tuple(JUDGES) == bench_scrap.JUDGES


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_the_known_good_setting_of_every_process_is_good_and_the_free_optimum_is_no_worse_than_what_is_reached(family):
    process = draw_process(family, 3)
    start = process.instance.space.encode(process.instance.start)[None]
    for over in (0.0, 1.0):
        assert process.chance(start, over)[0] >= 0.96
    assert process.free_cost() <= process.reachable_cost(0.05) <= process.instance.start_cost


@pytest.mark.parametrize("method", METHODS)
def test_a_run_is_a_pure_function_of_its_task_and_comes_back_from_its_file(method):
    run = run_task(Task(Cell("border", 0.2, "exact", method), 1, 2))
    assert (run.made, run.failed) == (2, 0)
    assert ScrapRun.from_json(json.loads(json.dumps(run.to_json()))) == run


def test_a_cell_is_held_by_its_interval_where_the_model_fits_and_by_its_rate_where_not():
    well, wrong = Cell("border", 0.05, "exact", "expected"), Cell("islands", 0.05, "exact", "expected")
    few, many = ([finished(cell, seed, scrap) for seed in range(20)] for cell, scrap in ((well, 0), (wrong, 4)))
    assert counted(well, few).verdict == "held"
    assert counted(well, few).high > 0.0
    assert counted(wrong, many).verdict == "broken"
    assert counted(wrong, [finished(wrong, seed, seed % 2) for seed in range(20)]).verdict == "held"


def test_ours_are_paired_with_rivals_on_the_same_processes():
    ours, rival = (Cell("border", 0.05, "exact", method) for method in ("expected", "floor"))
    plan = Plan(("border",), (0.05,), ("exact",), ("expected", "floor"), tuple(range(8)), 20)
    better = {ours: [finished(ours, s, 0, reachable=0.01) for s in range(8)]}
    found = Results(plan, better | {rival: [finished(rival, s, 1) for s in range(8)]})
    (pair,) = found.pairs
    assert pair.pairs == 8
    assert pair.decades == pytest.approx(-1.0)
    assert pair.scrap == (0.0, 1.0)
    assert len(found.to_json()["cells"]) == 2
    assert np.isfinite(found.cells[0].scrap_rate)


def test_a_rival_is_also_paired_at_the_rate_at_which_it_makes_as_much_scrap_as_ours():
    plan = Plan(("border",), (0.05, 0.2), ("exact",), ("expected", "floor"), tuple(range(8)), 20)
    scrap = {("expected", 0.05): 1, ("expected", 0.2): 4, ("floor", 0.05): 4, ("floor", 0.2): 6}
    free = {("expected", 0.2): 0.002, ("floor", 0.05): 0.02}
    runs = {}
    for (method, rate), bad in scrap.items():
        cell = Cell("border", rate, "exact", method)
        runs[cell] = [finished(cell, seed, bad, free=free.get((method, rate), 0.2)) for seed in range(8)]
    pairs = {(one.rate, one.rival_rate): one for one in Results(plan, runs).pairs}
    assert set(pairs) == {(0.05, 0.05), (0.2, 0.05), (0.2, 0.2)}
    assert pairs[0.2, 0.05].scrap == (4.0, 4.0)
    assert pairs[0.2, 0.05].decades == pytest.approx(-1.0)
    assert pairs[0.2, 0.2].decades == pytest.approx(0.0)


def test_wrong_names_and_rates_are_said_with_what_is_known(tmp_path):
    for wrong, said in ((["--family", "iland"], "islands"), (["--rate", "2"], "below 0.5")):
        shown = CliRunner().invoke(cli, ["bench", "scrap", "--out", str(tmp_path), *wrong])
        assert shown.exit_code == 2
        assert said in shown.output
    shown = CliRunner().invoke(cli, ["bench", "scrap", "--out", str(tmp_path), "--show", "--json"])
    assert json.loads(shown.output)["cells"] == []


def test_a_cell_in_plain_data_has_the_contracts_rate_and_the_measured_one_under_names_of_their_own():
    cell = Cell("border", 0.05, "exact", "expected")
    told = counted(cell, [finished(cell, seed, seed % 2) for seed in range(8)]).to_json()
    assert (told["rate"], told["scrap_rate"]) == (0.05, 0.025)


def test_names_and_rates_are_comma_separated_or_repeated_and_none_is_dropped(tmp_path, monkeypatch):
    plans = []
    monkeypatch.setattr(
        "tuner.lab.bench.scrap.bench.run_bench", lambda plan, *_, **__: plans.append(plan) or Results(plan, {})
    )
    some = ["--family", "model", "--family", "ring,model", "--rate", "0.02", "--rate", "0.1,0.02"]
    some += ["--method", "ei", "--method", "floor", "--judge", "slips", "--judge", "exact"]
    shown = CliRunner().invoke(cli, ["bench", "scrap", "--out", str(tmp_path), "--show", *some])
    assert shown.exit_code == 0, shown.output
    (plan,) = plans
    assert (plan.families, plan.rates) == (("model", "ring"), (0.02, 0.1))
    assert (plan.methods, plan.judges) == (("ei", "floor"), ("slips", "exact"))
