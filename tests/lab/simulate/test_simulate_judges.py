import sys

import pytest

from tuner.lab.judges.by_name import AskedDuel, JudgeError, make_judge


def part(number, cost=None, **setting):
    measured = {} if cost is None else {"objective": cost}
    return {"number": number, "tag": f"P{number}", "setting": setting, "measurements": measured}


def answers(spec, seed=0, count=200):
    """An easy pair, asked again and again; the right answer is left."""
    judge = make_judge(spec, seed)
    return [judge(AskedDuel(duel, part(2, 1.0), part(1, 5.0))) for duel in range(1, count + 1)]


def test_an_oracle_prefers_the_lower_cost_on_either_side_and_keeps_the_older_of_equals():
    judge = make_judge("oracle", 0)
    assert judge(AskedDuel(1, part(2, 1.0), part(1, 5.0))).side == "left"
    assert judge(AskedDuel(2, part(1, 5.0), part(2, 1.0))).side == "right"
    assert judge(AskedDuel(3, part(2, 3.0), part(1, 3.0))).side == "right"


def test_a_noisy_judge_errs_as_often_as_it_says_and_the_same_way_for_the_same_seed():
    wrong = [answer.side for answer in answers("noisy:0.1")].count("right")
    assert 8 <= wrong <= 35
    assert answers("noisy:0.1") == answers("noisy:0.1")
    assert answers("noisy:0.1") != answers("noisy:0.1", seed=1)


def test_a_probit_judge_errs_where_the_difference_is_small_beside_its_noise():
    assert {answer.side for answer in answers("probit:0.1")} == {"left"}
    assert 60 <= [answer.side for answer in answers("probit:100")].count("right") <= 140


def test_an_answer_depends_on_the_duel_and_not_on_what_was_asked_before():
    fresh, used = make_judge("noisy:0.5", 3), make_judge("noisy:0.5", 3)
    asked = [used(AskedDuel(duel, part(2, 1.0), part(1, 5.0))).side for duel in range(1, 20)]
    assert fresh(AskedDuel(19, part(2, 1.0), part(1, 5.0))).side == asked[-1]


def test_two_operators_answer_under_their_own_names():
    assert {answer.operator for answer in answers("two-operators")} == {"careful", "careless"}


def test_a_tiring_judge_grows_careless():
    sides = [answer.side for answer in answers("tiring:0,0.5,10")]
    assert sides[:5].count("right") <= 2 < sides[100:].count("right")


def test_a_graded_judge_calls_clear_what_is_much_of_the_spread_once_it_has_seen_some_parts():
    judge = make_judge("graded:0.5", 0)
    costs = {1: 0.0, 2: 10.0, 3: 4.0, 4: 3.0, 5: 8.0}
    said = [judge(AskedDuel(new, part(1, costs[1]), part(new, costs[new]))).side for new in (2, 3, 4, 5, 3)]
    assert said == ["left", "left", "left", "clearly left", "left"]
    assert judge(AskedDuel(9, part(2, 10.0), part(1, 0.0))).side == "clearly right"


def test_a_function_of_a_file_is_given_settings_and_measurements(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "def hotter(left, right):\n"
        "    if left['setting']['heat'] == right['setting']['heat']:\n"
        "        return 'tie'\n"
        "    return 'left' if left['setting']['heat'] > right['setting']['heat'] else 'right'\n"
        "def chance(left, right, rng):\n"
        "    return 'left' if rng.random() < 0.5 else 'right'\n"
    )
    judge = make_judge(f"{file}:hotter", 0)
    assert judge(AskedDuel(1, part(1, heat=5), part(2, heat=4))).side == "left"
    assert judge(AskedDuel(2, part(1, heat=3), part(2, heat=4))).side == "right"
    assert judge(AskedDuel(3, part(1, heat=4), part(2, heat=4))).side == "tie"
    assert {answer.side for answer in answers(f"{file}:chance")} == {"left", "right"}
    assert answers(f"{file}:chance") == answers(f"{file}:chance")


def test_a_program_reads_json_and_prints_its_answer(tmp_path):
    file = tmp_path / "judge program.py"
    file.write_text(
        "import json, sys\n"
        "asked = json.load(sys.stdin)\n"
        "cost = {side: asked[side]['measurements']['objective'] for side in ('left', 'right')}\n"
        "assert asked['duel'] == 7 and asked['seed'] == 4\n"
        "print(min(cost, key=cost.get))\n"
    )
    judge = make_judge(f"{sys.executable} '{file}'", 4)
    assert judge(AskedDuel(7, part(2, 1.0), part(1, 5.0))).side == "left"


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("orakle", 'did you mean "oracle"?'),
        ("", "there is no judge"),
        ("noisy:2", "between 0 and 1"),
        ("noisy:often", "this is no number"),
        ("noisy", "noisy has other numbers than these"),
        ("oracle:1", "oracle has other numbers than these"),
        ("two-operators:0.5,2", "two-operators has other numbers than these"),
        ("probit:-1", "standard deviation"),
        ("missing.py:judge", "there is no file missing.py"),
        ("'half a word", "cannot be: No closing quotation"),
    ],
)
def test_a_judge_that_cannot_be_is_refused_with_the_reason(spec, said):
    with pytest.raises(JudgeError) as error:
        make_judge(spec, 0)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def judge(left, right): return 'up'", 'said "up"; allowed: left, right, tie'),
        ("def judge(left, right): return None", "said None"),
        ("def judge(left, right): return 1/0", "failed: ZeroDivisionError"),
        ("def judge(left): return 'left'", "failed: TypeError"),
        ("def judge(left, right): raise SystemExit(0)", "failed: SystemExit: 0"),
        ("import numpy\ndef judge(left, right): return numpy.zeros(2)", "said array([0., 0.]); allowed"),
    ],
)
def test_a_function_that_gives_no_answer_is_named_with_the_reason(tmp_path, text, said):
    file = tmp_path / "broken.py"
    file.write_text(text)
    judge = make_judge(f"{file}:judge", 0)
    with pytest.raises(JudgeError) as error:
        judge(AskedDuel(1, part(1, 1.0), part(2, 2.0)))
    assert said in str(error.value)
    assert "broken.py:judge" in str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def judge(left, right", "cannot be imported: SyntaxError"),
        ("import no_such_module", "cannot be imported: ModuleNotFoundError"),
        ("raise SystemExit(0)", "cannot be imported: SystemExit"),
        ("judge = 3", "has no function judge"),
        ("def jugde(left, right): return 'left'", 'did you mean "jugde"?'),
    ],
)
def test_a_file_without_a_usable_function_is_refused_before_anything_runs(tmp_path, text, said):
    file = tmp_path / "broken.py"
    file.write_text(text)
    with pytest.raises(JudgeError) as error:
        make_judge(f"{file}:judge", 0)
    assert said in str(error.value)


@pytest.mark.parametrize(("name", "hint"), [("judge.py", "FILE.py:FUNCTION"), ("judge.sh", "chmod +x")])
def test_a_file_that_is_no_program_is_told_from_one_that_is_not_there(tmp_path, name, hint):
    file = tmp_path / name
    file.write_text("")
    with pytest.raises(JudgeError, match="is not executable") as error:
        make_judge(str(file), 0)
    assert hint in str(error.value)


def test_a_function_may_do_to_its_parts_what_it_likes(tmp_path):
    file = tmp_path / "rough.py"
    file.write_text(
        "def judge(left, right):\n    left['setting'].clear()\n    right['measurements'].clear()\n    return 'left'\n"
    )
    left, right = part(1, 1.0, heat=3.0), part(2, 2.0, heat=4.0)
    assert make_judge(f"{file}:judge", 0)(AskedDuel(1, left, right)).side == "left"
    assert (left, right) == (part(1, 1.0, heat=3.0), part(2, 2.0, heat=4.0))


def test_a_function_that_does_not_come_back_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr("tuner.lab.judges.by_name.ANSWER_S", 0.05)
    file = tmp_path / "asleep.py"
    file.write_text("import threading\ndef judge(left, right):\n    threading.Event().wait()\n")
    judge = make_judge(f"{file}:judge", 0)
    with pytest.raises(JudgeError, match=r"gave no answer within 0\.05 s"):
        judge(AskedDuel(1, part(1, 1.0), part(2, 2.0)))


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("print('both')", 'said "both"; allowed: left, right, tie'),
        ("raise SystemExit('no light')", "ended with 1: no light"),
        ("import sys; sys.stdout.buffer.write(b'\\xff\\xfe')", "cannot be asked"),
    ],
)
def test_a_program_that_gives_no_answer_is_named_with_the_reason(script, said):
    judge = make_judge(f'{sys.executable} -c "{script}"', 0)
    with pytest.raises(JudgeError) as error:
        judge(AskedDuel(1, part(1, 1.0), part(2, 2.0)))
    assert said in str(error.value)


def test_a_judge_by_cost_says_which_measurement_it_misses():
    judge = make_judge("oracle", 0)
    with pytest.raises(JudgeError, match="part P1 has no measurement 'objective'"):
        judge(AskedDuel(1, part(1), part(2, 2.0)))
