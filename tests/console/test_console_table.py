"""The one table of keys: complete, true to the campaign's rules, and what it is made into is up to date."""

import asyncio
from types import SimpleNamespace

import pytest

from scripts import key_table
from tests.console.test_console_pieces import trial, view
from tuner.basics.vocabulary import Mode
from tuner.campaign.moves import MOVES
from tuner.console.actions import Actions
from tuner.console.keyboard import BACK, BY_SHOWN, CHAMPION, HISTORY, MAIN, obstacle
from tuner.console.lines import COMMANDS
from tuner.console.screen.history import HistoryScreen
from tuner.console.screen.page import ChampionScreen, PageScreen
from tuner.console.ui import Options
from tuner.wire.messages import DuelView, PlanView, Welcome
from tuner.wire.operations import OPS

PROPOSED = trial(3, stage="proposed", valid=None)
DUEL = DuelView(number=1, left=trial(1), right=trial(2), asked_at="")


def rights(role):
    ops = [name for name, op in OPS.items() if role in op.roles]
    return Welcome(version=1, tuner="0", you="anna", role=role, ops=ops, events="")


def test_every_key_has_an_action():
    assert [key.shown for key in MAIN if not hasattr(Actions, key.action)] == []
    pages = {HistoryScreen: HISTORY, ChampionScreen: CHAMPION, PageScreen: (BACK, BY_SHOWN["l"])}
    assert [key for screen, keys in pages.items() for key in keys if not hasattr(screen, f"action_{key.action}")] == []


def test_no_key_stands_for_two_things():
    bound = [name for key in MAIN for name in key.bound.split(",")]
    assert len(bound) == len(set(bound))


@pytest.mark.parametrize("key", [key for key in (*MAIN, *HISTORY) if key.ops], ids=lambda key: key.shown)
def test_a_key_is_offered_in_the_modes_where_the_campaign_takes_its_request(key):
    for mode, op in key.ops.items():
        assert mode in MOVES[OPS[op].body].modes
    for op in set(key.ops.values()) - {"campaign.start", "campaign.stop"}:  # of several, `s` offers the usual one
        assert {mode for mode in key.ops if key.ops[mode] == op} == MOVES[OPS[op].body].modes


@pytest.mark.parametrize(
    ("shown", "have", "role", "reason"),
    [
        ("a", {"trial": PROPOSED}, "engineer", None),
        ("a", {"trial": PROPOSED, "mode": "Held"}, "engineer", "cannot.mode"),
        ("a", {"trial": PROPOSED}, "operator", "cannot.not_allowed"),
        ("a", {}, "engineer", "cannot.no_proposal"),
        ("n", {"trial": PROPOSED, "mode": "Held"}, "engineer", None),
        ("r", {"champion": trial(1), "mode": "Stopped"}, "engineer", "cannot.mode"),
        ("r", {"champion": trial(1)}, "engineer", None),
        ("1", {"duel": DUEL, "mode": "Held"}, "operator", None),
        ("1", {"duel": DUEL}, "viewer", "cannot.not_allowed"),
        ("1", {}, "viewer", "cannot.no_duel"),
        ("3", {"duel": DUEL, "graded": True}, "operator", None),
        ("4", {"duel": DUEL}, "operator", "cannot.not_graded"),
        ("h", {"mode": "Stopped"}, "operator", "cannot.mode"),
        ("h", {"mode": "Held"}, "controller", "cannot.not_allowed"),  # who may hold may not go on
        ("h", {}, "controller", None),
        ("h", {"mode": "Melted"}, "operator", "cannot.mode"),  # of a newer daemon
        ("v", {"dry_run": True, "trial": trial(3, stage="running")}, "operator", None),
        ("v", {"dry_run": False, "trial": trial(3, stage="running")}, "operator", "cannot.no_outcome"),
        ("t", {}, "viewer", None),
    ],
)
def test_what_is_offered_depends_on_the_view_and_the_rights_alone(shown, have, role, reason):
    found = obstacle(BY_SHOWN[shown], view(**have), rights(role))
    assert (found and found.key) == reason


def test_without_a_campaign_only_those_keys_are_offered_that_ask_for_nothing():
    assert all((obstacle(key, None, None) is None) == (not key.ops) for key in MAIN)


def test_plain_lines_take_every_key_of_the_screen():
    assert {key.id for key in COMMANDS.values()} == {key.id for key in MAIN}
    assert COMMANDS["help"] is BY_SHOWN["F1"]


def test_the_table_in_the_documentation_is_up_to_date():
    text = key_table.PAGE.read_text("utf-8")
    assert key_table.BEGIN in text
    assert key_table.updated(text) == text, "run python -m scripts.key_table"


class Ui:
    """Sees one campaign and says no to everything."""

    def __init__(self, seen):
        self.view = seen
        self.asked = []
        self.said = []

    async def choose(self, question, choices, details="", *, usual=False):
        self.asked.append((question, details))

    def say(self, text, *, bad=False):
        self.said.append(text)

    def redraw(self):
        pass


@pytest.fixture
def slow():
    """Actions of a console whose machine is read only when a test lets it."""
    read = asyncio.Event()

    async def plan(_):
        await read.wait()
        return PlanView(texts=["x 1 to 2"], seconds=1.0, steps=[])

    session = SimpleNamespace(client=SimpleNamespace(actor=None, plan=plan), welcome=None, busy=False, linked=True)
    return Actions(Ui(view(trial=PROPOSED, parameters=[])), session, Options(operator="anna")), read


@pytest.mark.asyncio
async def test_a_pressed_twice_asks_once(slow):
    actions, read = slow
    presses = [asyncio.create_task(actions.press(BY_SHOWN["a"])) for _ in range(2)]
    await asyncio.sleep(0)
    read.set()
    await asyncio.gather(*presses)
    assert [question for question, _ in actions.ui.asked] == ["Send this setting to the machine?"]
    assert "x 1 to 2" in actions.ui.asked[0][1]  # its way
    assert "Wait: the last key is still on its way." in actions.ui.said
    await actions.press(BY_SHOWN["a"])
    assert len(actions.ui.asked) == 2


@pytest.mark.asyncio
async def test_what_was_held_while_the_way_was_looked_up_is_not_asked_about(slow):
    actions, read = slow
    press = asyncio.create_task(actions.press(BY_SHOWN["a"]))
    await asyncio.sleep(0)
    actions.ui.view = view(trial=PROPOSED, mode=Mode.HELD, parameters=[])
    read.set()
    await press
    assert actions.ui.asked == []
    assert actions.ui.said[-1] == "Not possible now: the campaign is Held."
