"""The pieces of panel, alarms and restrictions, without a daemon."""

from datetime import timedelta
from types import SimpleNamespace

import pytest
from rich.cells import cell_len

from tests.console.test_console_pieces import NOW, X, judgment, view
from tuner.basics.sentences import say
from tuner.console.actions import Actions
from tuner.console.campaign_text import folded
from tuner.console.language import LANGUAGES, Words
from tuner.console.map_text import SHADES, map_lines, share_of
from tuner.console.pages.alarms import alarm_lines
from tuner.console.pages.champion import ChampionPage
from tuner.console.pages.overview import reigns
from tuner.console.requests import CannotError
from tuner.console.restricting import asked_restriction, request_for, restricted_text, restriction_lines
from tuner.console.screen import drawing
from tuner.console.ui import Options
from tuner.wire.messages import AlarmView, ChampionBody, MachineView, RestrictionView, TrialView
from tuner.wire.model_answers import MapView, Recommendation, WindowView

GATE = X.model_copy(update={"name": "gate", "kind": "choice", "choices": ["edge", "fan", "tunnel"], "low": None})


def restriction(**changes):
    fields = {"parameter": X.name, "low": 1.0, "high": 2.5, "options": [], "until": None, "reason": "worn"}
    return RestrictionView(**{**fields, "by": "ines", "at": NOW.isoformat(), **changes})


def trial(number, *, valid=True):
    fields = dict.fromkeys(TrialView.model_fields)
    return TrialView.model_construct(**{**fields, "number": number, "tag": f"P{number}", "valid": valid})


@pytest.mark.parametrize(
    ("parameter", "typed", "op", "fields"),
    [
        (X, "2.5", "parameter.freeze", {"value": 2.5}),
        (X, "2,5 mm", "parameter.freeze", {"value": 2.5}),
        (X, "1..2.5", "parameter.narrow", {"low": 1.0, "high": 2.5}),
        (X, "..-2", "parameter.narrow", {"low": None, "high": -2.0}),
        (GATE, "edge", "parameter.freeze", {"value": "edge"}),
        (GATE, "edge, fan", "parameter.narrow", {"options": ("edge", "fan")}),
    ],
)
def test_what_is_typed_becomes_a_request(parameter, typed, op, fields):
    call = request_for("press", parameter, typed, "shift", "worn")
    assert (call.op, call.campaign, call.body.until, call.body.reason) == (op, "press", "shift", "worn")
    assert {name: getattr(call.body, name) for name in fields} == fields


def test_what_is_no_number_is_refused_before_anything_is_sent():
    with pytest.raises(CannotError, match="no_number"):
        request_for("press", X, "hot", None, "worn")


def test_restrictions_are_told_in_a_line_or_counted_where_there_is_no_room():
    kept = say("restriction.kept", value="fan")
    told = say("restriction.is", name="gate", what=kept, end=say("restriction.until_lifted"), by="ines", why="worn")
    have = view(
        parameters=[X, GATE],
        restrictions=[restriction(), restriction(parameter="gate", low=None, high=None, options=["fan"], text=told)],
    )
    assert restriction_lines(Words("en"), have)[1] == "gate is kept at fan until it is lifted (ines: worn)"
    assert restriction_lines(Words("de"), have)[1] == "gate bleibt auf fan bis zur Aufhebung (ines: worn)"
    assert restricted_text(Words("en"), have, 200).startswith("for now: ")
    assert restricted_text(Words("de"), have, 20) == "eingeschränkt: 2 (k)"
    assert restricted_text(Words("en"), view(restrictions=[]), 80) == ""


def a_map(**changes):
    """Nine values of x from -4 to 4 against three options; the chance grows to the right, one corner is forbidden."""
    columns = [float(value) for value in range(-4, 5)]
    better = [[index / 8 for index in range(9)] for _ in range(3)]
    feasible = [[not (line == 2 and index == 0) for index in range(9)] for line in range(3)]
    fields = {"across": X.name, "down": "gate", "columns": columns, "lines": list(GATE.choices), "better": better}
    return MapView(**{**fields, "valid": [[1.0] * 9] * 3, "feasible": feasible, **changes})


def tried(x, gate, *, valid=True, number=1):
    return trial(number, valid=valid).model_copy(update={"setting": {X.name: x, "gate": gate}})


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_map_has_shades_in_percent_the_champion_and_what_was_tried_and_forbidden(language):
    words = Words(language)
    best = tried(4.0, "tunnel", number=3)
    have = view(parameters=[X, GATE], champion=best)
    made = [tried(-4.0, "edge"), tried(0.0, "edge", valid=False, number=2), best]
    lines = map_lines(words, a_map(), have, made, 50, 20)
    picture = [line.partition("│")[2] for line in lines[1:15]]
    assert picture[0][0] == "/"  # the last option is at the top, and not allowed with the lowest value
    assert picture[0][-1] == "★"
    assert picture[-1][0] == "+"
    assert "x" in picture[-1]
    shades = picture[7].strip()
    assert shades == "".join(sorted(shades, key=SHADES.index))
    assert "█ 100 %" in lines[-2]
    assert all(cell_len(line) <= 50 for line in lines)
    assert len(lines) <= 20
    assert map_lines(words, a_map(), have, made, 50, 10) == []
    assert map_lines(words, a_map(across="gone"), have, made, 50, 20) == []


def test_a_value_between_those_of_a_map_is_placed_as_the_model_spaces_them():
    assert share_of([1.0, 10.0, 100.0], 10.0) == 0.5
    assert share_of([1.0, 10.0, 100.0], 55.0) == 0.75
    assert share_of([1.0, 10.0, 100.0], 0.1) == 0.0
    assert share_of([1.0, 10.0, 100.0], 1000.0) == 1.0
    assert share_of(["a", "b", "c"], "c") == 1.0


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("cause", ["refused", "unverified", "failed", "fault", "home", "from a newer daemon"])
def test_an_alarm_says_when_what_became_of_it_and_what_to_do(language, cause):
    words = Words(language)
    open_one = AlarmView(
        number=3, cause=cause, text="pump hot", at=NOW, cleared_at=None, acknowledged_by=None, acknowledged_at=None
    )
    told = "\n".join(line.plain for line in alarm_lines(words, open_one))
    assert words.clock(NOW, seconds=True) in told
    assert "pump hot" in told
    assert words("alarms.next") in told
    later = (NOW + timedelta(minutes=4)).isoformat()
    over = open_one.model_copy(update={"cleared_at": later, "acknowledged_by": "anna", "acknowledged_at": later})
    told = "\n".join(line.plain for line in alarm_lines(words, over))
    assert "anna" in told
    assert words("alarms.next") not in told


def test_the_champions_came_one_after_the_other_and_a_slip_made_none():
    trials = [trial(1), trial(2), trial(3, valid=False), trial(4)]
    said = [
        judgment(1, "anna", 9).model_copy(update={"winner": 2}),
        judgment(2, "anna", 8).model_copy(update={"left": 2, "right": 4, "winner": 4}),
        judgment(3, "anna", 7).model_copy(update={"left": 2, "right": 4, "winner": 2}),
    ]
    assert reigns(trials, said[:2]) == [1, 2, 4]
    assert reigns(trials, said) == [1, 2], "asked again, the answer was another one"


def test_eight_parameters_and_a_long_fault_have_room_at_eighty_columns():
    names = (
        "melt temperature",
        "hold pressure",
        "injection speed",
        "cooling time",
        "back pressure",
        "screw speed",
        "gate",
        "shims",
    )
    many = [X.model_copy(update={"name": name}) for name in names]
    asked = dict.fromkeys(names, 1.0)
    machine = MachineView(
        requested=asked, read_back=asked, verified=True, home=False, home_wanted=None, home_failed=None
    )
    have = view(parameters=many, machine=machine, phase="running", dry_run=False)
    drawn = drawing.machine(Words("en"), have, 80).plain
    assert all(name in drawn for name in names)
    assert "…" not in drawn
    assert len(drawn.splitlines()) <= 4


def test_a_long_sentence_is_folded_between_words():
    text = "the hydraulic pump reports over-temperature in zone 3 and the guard door is not closed"
    lines = folded(text, 40, 4)
    assert " ".join(lines) == text
    assert all(len(line) <= 40 for line in lines)
    assert folded(text, 40, 2)[-1].endswith("…")
    assert folded("请核对机器显示与请求的参数", 10, 9) == ["请核对机器", "显示与请求", "的参数"]


def test_a_window_is_found_by_the_parameters_name_and_not_by_its_label():
    labelled = X.model_copy(update={"label": "gap at the nozzle"})
    part = trial(1).model_copy(update={"setting": {X.name: 1.0}, "lot": "", "source": "model"})
    page = ChampionPage("press")
    page.recommended = Recommendation(
        setting={X.name: 1.0},
        champion=None,
        same_as_champion=True,
        p_better=0.5,
        p_valid=0.9,
        window=[WindowView(name=X.name, low=0.5, high=1.5, below="limit", above="valid", options=[])],
        window_valid=0.9,
        outside=[X.name],
    )
    page.body = ChampionBody(champion=None, judgments=[]).model_copy(update={"champion": part})
    told = "\n".join(line.plain for line in page.lines(Words("en"), None, view(parameters=[labelled])))
    assert "[0.50 to 1.50 mm]" in told
    assert "outside of what is allowed for now: gap at the nozzle" in told


class _Typist:
    """Types one line after the other, and keeps what was asked."""

    def __init__(self, *lines):
        self.lines, self.asked = list(lines), []

    async def ask(self, question, offers=(), longest=0, *, secret=False):
        self.asked.append(question)
        return self.lines.pop(0)

    async def choose(self, question, choices, details="", *, usual=False):
        return "lifted"


@pytest.mark.asyncio
@pytest.mark.parametrize(("kind", "slip", "right", "why"), [
    ({"choices": ["edge", "fan"]}, "egde", "edge", "none of its options"),
    ({"low": 1.0, "high": 5.0}, "3,x", "3,5", "no number"),
    ({"low": 1.0, "high": 5.0}, "2..50", "2..5", "not between its limits"),
])  # fmt: skip
async def test_a_slip_in_a_value_is_told_before_anything_else_is_asked(kind, slip, right, why):
    have = view(parameters=[X], restrictions=[], champion=None)
    parameter = X.model_copy(update={"choices": [], "low": None, "high": None, **kind})
    typist = _Typist(slip, right, "a reason")
    assert await asked_restriction(typist, Words("en"), have, parameter) == (right, None, "a reason")
    assert why in typist.asked[1]
    with pytest.raises(CannotError):  # a page gives the same answer for ever
        await asked_restriction(_Typist(slip, slip), Words("en"), have, parameter)


def test_the_time_of_an_answer_stands_still_while_a_window_is_before_the_question():
    now = [100.0]
    actions = Actions(SimpleNamespace(), SimpleNamespace(clock=lambda: now[0], client=SimpleNamespace()), Options("en"))
    asked = SimpleNamespace(name="press", duel=SimpleNamespace(number=3))
    actions.question_seen(asked)
    now[0] = 104.0
    actions.question_hidden()
    now[0] = 900.0
    actions.question_seen(asked)
    now[0] = 902.0
    assert actions._took_s(asked) == 6.0
