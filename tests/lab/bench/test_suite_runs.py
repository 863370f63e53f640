import math
from pathlib import Path

import pytest

from tests.core.helpers import LIGHT
from tests.lab.bench.helpers import finish
from tuner.core.optimizer.optimizer import Optimizer
from tuner.core.optimizer.questions import Question
from tuner.core.optimizer.strategy import Strategy
from tuner.errors import TunerError
from tuner.lab.bench.display import progress
from tuner.lab.bench.suite.instances import draw_instance
from tuner.lab.bench.suite.methods import UnknownMethodError, checked_rival, method_of, run_method
from tuner.lab.bench.suite.overrides import OverrideError, parsed
from tuner.lab.bench.suite.runs import MOST_LOOKS, Campaign, Given, SuiteRun, run_instance
from tuner.lab.bench.suite.suite import Plan, run_suite
from tuner.lab.bench.suite.tasks import Finished, Task, code_checksum, key_of, run_file, run_task

PARTS = 4


def test_a_run_begins_at_the_known_good_setting_and_is_the_same_again():
    instance = draw_instance("shop", 3)
    optimizer = Optimizer(instance.space, seed=3, budget=PARTS + 1, strategy=LIGHT)
    campaign = Campaign(instance, optimizer, 3)
    run = campaign.run(PARTS)
    first = optimizer.ledger.trials[1]
    assert (first.setting, first.kind, first.valid) == (instance.start, "told", True)
    assert len(optimizer.ledger.trials) == PARTS + 1
    assert run.given[-1].parts == PARTS
    assert run.given[-1].looks == len(optimizer.ledger.judgments)
    assert run.given[-1].scrap == sum(not trial.valid for trial in optimizer.ledger.trials.values())
    assert run == run_instance(instance, 3, PARTS, strategy=LIGHT)
    assert len(run.forecasts) == PARTS


def test_what_the_user_is_given_is_the_champion_and_the_recommendation_not_the_best_part():
    instance = draw_instance("slips20", 1)
    optimizer = Optimizer(instance.space, seed=1, budget=9, strategy=LIGHT)
    given = Campaign(instance, optimizer, 1).run(8).given[-1]
    assert given.champion == instance.regret(optimizer.ledger.trials[optimizer.champion].setting)
    assert given.recommended == instance.regret(optimizer.recommend())


def test_a_strategy_of_ones_own_makes_another_run():
    instance = draw_instance("numbers", 3)
    usual, other = (run_instance(instance, 3, PARTS, strategy=one) for one in (None, Strategy(restless=0.0)))
    assert usual != other
    assert other == run_method("tuner restless=0", instance, 3, PARTS)


class Insistent(Optimizer):
    """An optimiser that wants the same duel for ever."""

    def question(self):
        return Question(2, 1) if self.ledger.trials.get(2) and self.ledger.trials[2].usable else super().question()


def test_questions_without_end_end():
    instance = draw_instance("numbers", 1)
    run = Campaign(instance, Insistent(instance.space, seed=1, budget=3), 1).run(2)
    assert run.given[-1].looks == 2 * MOST_LOOKS


@pytest.mark.parametrize("rival", ["hb-ei", "eiig", "ucb"])
def test_a_rival_tunes_the_same_process_and_is_never_asked_again(rival):
    run = run_method(rival, draw_instance("shop", 2), 2, PARTS)
    given = run.given[-1]
    assert given.champion == given.recommended
    assert given.looks + given.scrap == PARTS


def test_a_finished_run_is_the_same_after_it_was_written():
    done = run_task(Task("border", 1, PARTS, "tuner"))
    again = Finished.from_json(done.to_json())
    assert again.task == done.task
    assert again.run.given == done.run.given
    assert [one.valid for one in again.run.forecasts] == [one.valid for one in done.run.forecasts]
    assert done.to_json()["key"] == key_of(done.task, code_checksum())


def test_a_regret_of_a_part_that_is_not_made_survives_json():
    given = {"parts": 4, "champion": 0.5, "recommended": None, "looks": 4, "scrap": 0, "right": 0, "of": 0}
    run = SuiteRun.from_json({"given": [given], "forecasts": [[0.9, 1, None, None]], "seconds": 1.0, "failed": 0})
    assert math.isinf(run.given[0].recommended)
    assert run.to_json()["given"] == [given]


def runs_of(plan: Plan, out: Path):
    return run_suite(plan, out, jobs=1, progress=progress)


def table_of(plan: Plan, out: Path):
    """What came of a plan, but for the seconds."""
    told = runs_of(plan, out).to_json()
    for row in told["rows"]:
        for one in row["methods"].values():
            del one["seconds"]
    return told


def test_a_second_call_goes_on_where_the_first_was_stopped_and_gives_the_same_table(tmp_path, capsys):
    plan = Plan(("numbers", "slips10"), (3,), PARTS)
    finish(plan.tasks, tmp_path / "whole")
    whole = table_of(plan, tmp_path / "whole")
    assert "of" not in capsys.readouterr().err
    lines = run_file(tmp_path / "whole").path.read_bytes().splitlines(keepends=True)
    stopped = run_file(tmp_path / "stopped").path
    stopped.parent.mkdir()
    stopped.write_bytes(lines[0] + lines[1][:20])
    assert table_of(plan, tmp_path / "stopped") == whole
    assert "1 of 1" in capsys.readouterr().err
    assert [row["group"] for row in whole["rows"]] == ["numbers", "slips10", "all"]


def made_up(task: Task, regret: float, process: int = 1) -> Finished:
    return Finished(task, SuiteRun((Given(PARTS, regret, regret, 4, 0),), (), 1.0), process, code_checksum())


def write(directory: Path, *finished: Finished) -> Path:
    with run_file(directory).writing() as writer:
        for one in finished:
            writer.append(one)
    return directory


def test_runs_of_another_directory_are_paired_by_process_and_must_be_there(tmp_path):
    ours, theirs = (Task("numbers", 1, PARTS, method) for method in ("tuner design=0", "tuner"))
    one, two = write(tmp_path / "one", made_up(theirs, 0.1)), write(tmp_path / "two", made_up(ours, 0.01))
    found = runs_of(Plan(("numbers",), (1,), PARTS, ours=ours.method, elsewhere=(one,)), two)
    assert found.paired(str(one), "numbers", PARTS).decades == pytest.approx(-1.0)
    drawn_otherwise = write(tmp_path / "three", made_up(theirs, 0.1, process=2))
    found = runs_of(Plan(("numbers",), (1,), PARTS, ours=ours.method, elsewhere=(drawn_otherwise,)), two)
    assert found.paired(str(drawn_otherwise), "numbers", PARTS) is None
    with pytest.raises(TunerError, match="has no runs of these groups and seeds"):
        runs_of(Plan(("border",), (1,), PARTS, elsewhere=(one,)), two)


def test_the_runs_of_other_code_are_kept_and_not_taken_for_ours(tmp_path):
    task = Task("numbers", 1, PARTS, "tuner")
    older = Finished(task, made_up(task, 0.5).run, 1, "older")
    write(tmp_path, older, made_up(task, 0.1))
    assert runs_of(Plan(("numbers",), (1,), PARTS), tmp_path).summary("tuner", "numbers", PARTS).median == 0.1
    assert len(run_file(tmp_path).load()) == 2


def test_numbers_of_the_strategy_are_given_by_name():
    found = parsed(["islands=0.3", "asking.most_looks=5", "near=10,20", "validity=none", "scrap_budget=3"])
    assert (found.strategy.islands, found.strategy.asking.most_looks, found.strategy.near) == (0.3, 5, (10, 20))
    assert found.options == {"validity": "none", "scrap_budget": 3}
    assert method_of(["islands=0.3", "draws=50"]) == method_of(["draws=50", "islands=0.3"])


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("islands", "not a name and a value"),
        ("island=1", 'did you mean "islands"'),
        ("islands=much", 'a number, not "much"'),
        ("islands=nan", "a number"),
        ("draws=1.5", "a whole number"),
        ("telling=1", "telling.trusted"),
        ("islands.more=1", "is no number"),
        ("near=1", "has 2 numbers"),
        ("acquisition=best", "hb-ei"),
    ],
)
def test_a_number_that_cannot_be_is_refused_with_what_can(word, text):
    with pytest.raises(OverrideError, match=text.replace(".", r"\.")):
        parsed([word])


def test_a_number_is_given_once():
    with pytest.raises(OverrideError, match="islands is given twice"):
        parsed(["islands=0.3", "islands=0.5"])


def test_rivals_are_found_by_name():
    assert checked_rival("default") == "tuner"
    assert checked_rival("hb-ei") == "hb-ei"
    with pytest.raises(UnknownMethodError, match='did you mean "eiig"'):
        checked_rival("eig")


def test_a_plan_says_what_its_seeds_are_for():
    assert Plan(("numbers",), (0, 999), 4).purpose == "for choosing"
    assert Plan(("numbers",), (1000,), 4).purpose == "for reporting"
    assert "some" in Plan(("numbers",), (999, 1000), 4).purpose
