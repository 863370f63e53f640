"""The console's pure pieces: big tags, plots, and which answer `u` takes back."""

from datetime import UTC, datetime, timedelta

import pytest

from tuner.console import campaign_text, requests
from tuner.console.campaign_text import bar, fit, pad, rows
from tuner.console.language import Words
from tuner.console.pages.champion import ChampionPage, window
from tuner.console.pages.history import judged
from tuner.console.requests import CannotError
from tuner.console.screen import drawing
from tuner.console.screen.large_letters import large_letters
from tuner.console.screen.plot import place, plot
from tuner.wire.messages import (
    CampaignView,
    ChampionBody,
    DuelView,
    EventMessage,
    JudgmentView,
    MachineView,
    ParameterView,
    TrialView,
    WaitingView,
)
from tuner.wire.model_answers import Recommendation, SliceView, WindowView
from tuner.wire.operations import Operations

NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
X = ParameterView(name="x", kind="continuous", unit="mm", start=1.0, low=0.0, high=10.0, step=None, choices=[])


def test_a_tag_is_drawn_in_blocks_and_what_has_no_dots_stays_text():
    assert large_letters("T1", large=False) == ["▀█▀ ▄█", " █   █", " ▀  ▀▀▀"]
    assert large_letters("L", large=True) == ["██", "██", "██", "██", "██████"]
    assert large_letters("零7", large=True) == ["零7"]


def test_texts_are_cut_and_filled_by_the_columns_they_take():
    assert fit("abcdef", 4) == "abc…"
    assert fit("零件零件", 5) == "零件…"
    assert pad("零件", 6) == "零件  "
    assert bar(0.5, 4) == "██░░"


def test_what_differs_is_marked_with_an_arrow_a_sign_and_a_unit():
    kind = ParameterView(
        name="k", kind="choice", unit="", start="a", low=None, high=None, step=None, choices=["a", "b"]
    )
    found = rows(Words("de"), [X, kind], {"x": 3.5, "k": "a"}, {"x": 3.0, "k": "b"})
    assert [(row.value, row.mark, row.difference) for row in found] == [("3,50 mm", "▲", "+0,50"), ("a", "≠", "")]
    assert rows(Words("en"), [X], {"x": 3.0}, {"x": 3.5})[0].mark == "▼"
    assert rows(Words("en"), [X], {"x": 3.0}, {"x": 3.0})[0].mark == ""


def cut(**changes):
    fields = {"name": "x", "kind": "continuous", "unit": "mm", "log": False, "at": 5.0, "values": [0.0, 5.0, 10.0]}
    lists = {"mean": [-1.0, 0.0, 1.0], "low": [-2.0, 0.0, 0.0], "high": [0.0, 0.0, 2.0], "better": [0.1, 0.5, 0.9]}
    return SliceView(**{**fields, **lists, "valid": [0.0, 0.5, 1.0], "feasible": [True] * 3, **changes})


def trial(number, x=1.0, *, valid=True, **changes):
    empty = dict.fromkeys(
        ("champion", "better", "expected_valid", "distance", "started_at", "ended_at", "photo", "excluded")
    )
    fields = {"number": number, "tag": f"P{number}", "setting": {"x": x}, "source": "model", "stage": "done"}
    fields |= {"reason": "", "lot": "", "proposed_at": NOW.isoformat(), "outcome_reason": "", "measurements": {}}
    return TrialView(**{**empty, **fields, "valid": valid, **changes})


def test_the_plot_rises_with_the_mean_and_marks_what_was_tried():
    trials = [trial(1, 0.0), trial(2, 10.0, valid=False), trial(3, 5.0, excluded="wet")]
    lines = plot(Words("en"), cut(), X, trials, 40, 14)
    picture = lines[:-4]
    first = next(i for i, line in enumerate(picture) if line.endswith("o"))
    last = next(i for i, line in enumerate(picture) if "│o" in line)
    assert first < last
    tried = lines[-4].partition("│")[2]
    assert (tried[0], tried[-1], tried.count("+")) == ("+", "x", 1)
    valid = lines[-3].partition("│")[2]
    assert (valid[0], valid[-1]) == (" ", "█")
    assert lines[-1].split() == ["0.00", "10.00", "mm"]
    assert max(len(line) for line in lines) <= 40


def test_a_column_shows_tag_setting_photo_and_first_what_differs_where_there_is_no_room():
    many = [X.model_copy(update={"name": f"p{number}"}) for number in range(12)]
    setting = {parameter.name: 1.0 for parameter in many}
    part = trial(7, photo="/photos/P7.jpg", setting={**setting, "p11": 2.0})
    have = view(parameters=many)
    text = drawing.column(Words("en"), have, "1 LEFT", part, setting, 40, 12).plain
    lines = text.splitlines()
    assert len(lines) <= 12
    assert lines[0].rstrip() == "1 LEFT"
    assert lines[2].split() == ["p11", "▲", "2.00", "mm", "+1.00"]
    assert "photo /photos/P7.jpg" in text
    assert lines[-2] == "+ 4"
    whole = drawing.column(Words("en"), have, "1 LEFT", part, setting, 40, 40).plain
    assert "+ " not in whole
    assert whole.count(" mm") == 12


@pytest.mark.parametrize("height", [14, 30])
def test_a_column_shows_what_was_measured_on_the_part_beside_its_whole_setting(height):
    many = [X.model_copy(update={"name": f"p{number}"}) for number in range(8)]
    setting = {parameter.name: 1.0 for parameter in many}
    part = trial(7, measurements={"weight_g": 12.25, "flatness_mm": 0.04}, setting=setting)
    text = drawing.column(Words("de"), view(parameters=many), "1 LINKS", part, None, 38, height).plain
    assert "gemessen: weight_g 12,25" in text
    assert "flatness_mm 0,04" in text
    assert text.count(" mm") == 8
    assert len(text.splitlines()) <= height


def test_what_the_machine_has_not_taken_comes_first_in_its_line():
    many = [X.model_copy(update={"name": f"p{number}"}) for number in range(12)]
    asked = {parameter.name: 1.0 for parameter in many}
    empty = {"home": False, "home_wanted": None, "home_failed": None}
    machine = MachineView(requested=asked, read_back={**asked, "p9": 4.0}, verified=False, **empty)
    have = view(parameters=many, machine=machine, phase="held", dry_run=False)
    now, *more, wanted = drawing.machine(Words("en"), have, 60).plain.splitlines()
    assert now.startswith("Machine now  p9 4.00 mm  p0 1.00 mm")
    assert now.endswith(" UNVERIFIED ")
    assert "".join((now, *more)).count(" mm") == 12, "nothing is cut"
    assert wanted == "Asked for    p9 1.00 mm", "the others are there already"


def test_five_parameters_of_a_verified_machine_have_room_in_two_lines_of_eighty_columns():
    many = [X.model_copy(update={"name": name}) for name in ("melt", "hold", "cooling", "speed", "backpressure")]
    asked = {parameter.name: 1.0 for parameter in many}
    machine = MachineView(
        requested=asked, read_back=asked, verified=True, home=False, home_wanted=None, home_failed=None
    )
    have = view(parameters=many, machine=machine, phase="running", dry_run=False)
    now, rest = drawing.machine(Words("en"), have, 80).plain.splitlines()
    assert now.split("  ")[:4] == ["Machine now", "melt 1.00 mm", "hold 1.00 mm", "cooling 1.00 mm"]
    assert now.endswith(" verified ")
    assert rest == "             speed 1.00 mm  backpressure 1.00 mm"


def test_a_parameter_is_called_by_its_label_and_has_the_digits_of_its_resolution():
    gap = X.model_copy(update={"label": "gap at the nozzle", "resolution": 0.05})
    have = view(parameters=[gap], dry_run=False)
    assert campaign_text.brief(Words("de"), have, {gap.name: 3.5}) == "gap at the nozzle 3,50 mm"


def waiting_view(**changes):
    waiting = {"awaited": "ready", "text": "guard door open", "since": NOW.isoformat(), "at_most_s": 120.0, **changes}
    return view(waiting=WaitingView(**waiting), phase="sending", dry_run=False)


def test_what_is_waited_for_is_told_in_the_readers_language_with_its_limit():
    class Clock:
        def now(self, name):
            return NOW + timedelta(seconds=7)

    have = waiting_view()
    assert campaign_text.wait_text(Words("en"), have) == "waits for the machine: guard door open"
    assert campaign_text.pace(Words("en"), Clock(), have)[0] == "0:07 of 2:00"
    assert campaign_text.wait_text(Words("de"), have) == "wartet auf die Maschine: guard door open"
    endless = waiting_view(awaited="link", at_most_s=None)
    assert campaign_text.pace(Words("en"), Clock(), endless)[0] == "0:07 so far"
    assert campaign_text.wait_text(Words("en"), waiting_view(awaited="moon")) == "guard door open", "a newer daemon"


def test_values_have_their_place_on_linear_logarithmic_and_choice_axes():
    assert place(cut(), 2.5) == 0.25
    assert place(cut(log=True, values=[1.0, 10.0, 100.0]), 10.0) == pytest.approx(0.5)
    assert place(cut(kind="choice", values=["a", "b", "c"]), "b") == 0.5
    assert place(cut(), 11.0) is None


def view(**changes):
    fields = dict.fromkeys(CampaignView.model_fields)
    fields |= {"name": "press", "mode": "Execute", "undo_minutes": 10.0, "judgments": [], "phase": "asking"}
    return CampaignView.model_construct(**{**fields, **changes})


def duel(left, right):
    return DuelView(number=5, left=trial(left), right=trial(right), asked_at=NOW.isoformat())


def judgment(number, operator, minutes_ago, retracted=None):
    at = (NOW - timedelta(minutes=minutes_ago)).isoformat()
    return JudgmentView(
        number=number, duel=number, left=1, right=2, winner=1, operator=operator, at=at, took_s=1.0, retracted=retracted
    )


def test_undo_takes_back_ones_own_newest_answer_that_still_counts():
    have = view(judgments=[judgment(4, "ben", 1), judgment(3, "anna", 2, ""), judgment(2, "anna", 3)])
    request = requests.undo(have, "anna", None, NOW)
    assert request.call.body.judgment == 2


def test_the_same_two_parts_asked_about_twice_in_a_row_are_said_to_be_the_same():
    def asked(*judgments, left=2, right=1):
        return campaign_text.phase_text(Words("en"), view(duel=duel(left, right), judgments=judgments, dry_run=False))

    again, usual = "The same two once more: which is better?", "Which part is better?"
    assert asked(judgment(3, "anna", 1)) == again, "the sides are drawn anew"
    assert asked(judgment(3, "anna", 1), left=3) == usual
    assert asked(judgment(4, "anna", 1, "slip"), judgment(3, "anna", 2), left=3) == usual
    assert asked(judgment(4, "anna", 1, "slip")) == usual, "taken back, it is asked as if it never was"
    assert asked() == usual


def test_undo_prefers_a_later_scrap_and_nothing_is_undone_after_ten_minutes():
    have = view(judgments=[judgment(2, "anna", 3)])
    later = (trial(7), NOW - timedelta(minutes=1))
    request = requests.undo(have, "anna", later, NOW)
    assert (request.call.op, request.call.body.trial, request.call.body.valid) == ("trial.outcome", 7, True)
    earlier = (trial(7), NOW - timedelta(minutes=5))
    assert requests.undo(have, "anna", earlier, NOW).call.op == "judgment.retract"
    with pytest.raises(CannotError):
        requests.undo(have, "anna", earlier, NOW + timedelta(minutes=8))


@pytest.mark.parametrize(
    ("mode", "phase", "offered"),
    [
        ("Idle", "idle", ["ask.start", "ask.home"]),
        ("Execute", "asking", ["ask.stop", "ask.abort"]),
        ("Held", "held", ["ask.stop", "ask.abort", "ask.home"]),
        ("Stopped", "returning_home", ["ask.start", "ask.home", "ask.abort"]),
    ],
)
def test_what_moves_the_machine_depends_on_the_mode(mode, phase, offered):
    assert list(requests.moves(view(mode=mode, phase=phase))) == offered


def test_whether_a_deed_was_done_is_read_from_the_events():
    def event(actor, **body):
        return EventMessage(n=5, seq=9, campaign="press", at="", actor=actor, type="judgment_given", body=body)

    request = requests.KeyRequest(Operations.judge("press", 3, 7, 1.5))
    assert requests.was_done(request, "anna", [event("anna", duel=3, winner=7, judgment=2)])
    assert not requests.was_done(request, "anna", [event("ben", duel=3, winner=7), event("anna", duel=3, winner=8)])


def test_the_history_says_how_many_looks_at_a_duel_say_the_same():
    words, tags = Words("en"), {1: "P1", 2: "P2"}
    one = judgment(4, "ben", 1)
    assert judged(words, trial(1), one, tags) == "P2 worse (ben in 1.0 s)"
    again = one.model_copy(update={"looks": 3, "agreeing": 2})
    assert judged(words, trial(1), again, tags) == "P2 worse (ben in 1.0 s) 2 of 3 looks"


def test_a_process_window_is_shown_in_units_and_of_a_choice_by_its_options():
    number = WindowView(name="x", low=2.5, high=4.25, below="valid", above="better", options=[])
    assert window(Words("en"), number, X) == "[2.50 to 4.25 mm]"
    choice = WindowView(name="k", low=None, high=None, below="", above="", options=["a", "b"])
    assert window(Words("en"), choice, X) == "[a, b]"


def test_a_process_window_is_shown_also_of_a_parameter_with_a_label():
    page = ChampionPage("press")
    page.body = ChampionBody(champion=trial(1), judgments=[])
    number = WindowView(name="x", low=2.5, high=4.25, below="valid", above="better", options=[])
    page.recommended = Recommendation(
        setting={"x": 3.0}, champion=trial(1), same_as_champion=False, p_better=0.6, p_valid=0.9, window=[number]
    )
    have = view(parameters=[X.model_copy(update={"label": "gap at the nozzle"})])
    lines = [line.plain for line in page.lines(Words("en"), None, have)]
    assert any("gap at the nozzle" in line and "[2.50 to 4.25 mm]" in line for line in lines)


def test_a_plot_has_the_chance_to_be_better_from_0_to_100_percent():
    lines = plot(Words("en"), cut(better=[0.0, 0.5, 1.0]), X, [], 40, 14)
    assert [line.split("│")[0].strip() for line in (lines[0], lines[4], lines[8])] == ["100 %", "50 %", "0 %"]
    assert lines[0].rstrip().endswith("o")
    assert "o" in lines[8]
