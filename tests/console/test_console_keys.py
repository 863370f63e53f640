"""Every key of the console, pressed on a real screen and answered by a real daemon."""

import asyncio

import pytest

from tests.console.helpers import LARGE, SMALL, console, plant
from tests.daemon.running import daemon

SIZES = [pytest.param(SMALL, id="80x24"), pytest.param(LARGE, id="160x50", marks=pytest.mark.slow)]
pytestmark = [pytest.mark.asyncio, pytest.mark.parametrize("size", SIZES)]


@pytest.fixture(scope="module")
def running():
    with daemon(plant()) as one:
        yield one.start()


def newest(running, campaign):
    with running.client() as client:
        return client.snapshot(campaign).judgments[0]


@pytest.mark.parametrize(("key", "side"), [("1", "left"), ("2", "right"), ("0", None)])
async def test_one_key_is_an_answer_with_who_and_how_long(running, size, key, side, capsys):
    async with console(running, "press", size) as hands:
        duel = await hands.question()
        await hands.press(key)
        told = await hands.said("taken")
    judgment = newest(running, "press")
    assert judgment.duel == duel.number
    assert judgment.winner == (getattr(duel, side).number if side else None)
    assert judgment.operator == "anna"
    assert judgment.took_s > 0
    with capsys.disabled():
        print(f" [key to acknowledgement: {told.split(' · ')[1]}]", end="")  # noqa: T201 - a measurement


async def test_u_takes_the_last_answer_back_and_the_question_is_asked_again(running, size):
    async with console(running, "press", size, operator="uma") as hands:
        duel = await hands.question()
        await hands.press("1")
        await hands.said("u takes it back for")
        await hands.press("u")
        await hands.said("taken back")
        with running.client() as client:
            mine = next(j for j in client.snapshot("press").judgments if j.operator == "uma")
        assert mine.duel == duel.number
        assert mine.retracted is not None
        await hands.press("u")
        await hands.said("no answer of the last 10 minutes")


async def test_x_and_a_side_makes_a_part_scrap_and_u_makes_it_valid_again(running, size):
    async with console(running, "press", size, operator="xena") as hands:
        duel = await hands.question()
        await hands.press("x")
        await hands.dialog("Which part is scrap?")
        await hands.press("2")
        await hands.said(f"{duel.right.tag} is scrap: taken")
        with running.client() as client:
            trial = next(t for t in client.trials("press").trials if t.number == duel.right.number)
        assert trial.valid is False
        assert trial.outcome_reason
        await hands.press("u")
        await hands.said("counts as valid again")
        with running.client() as client:
            trial = next(t for t in client.trials("press").trials if t.number == duel.right.number)
        assert trial.valid is True


async def test_r_makes_a_part_again_after_the_choice_which(running, size):
    async with console(running, "press", size) as hands:
        duel = await hands.question()
        await hands.press("r")
        await hands.dialog("made again")
        await hands.press("escape")
        await hands.until(lambda: len(hands.app.screen_stack) == 2)
        assert "made again" not in hands.app.message()[0]
        await hands.press("r")
        await hands.dialog("made again")
        await hands.press("1")
        await hands.said(f"{duel.left.tag} will be made again")
    with running.client() as client:
        wanted = next(e for e in client.history("press").events if e.type == "repeat_wanted")
    assert (wanted.actor, wanted.body["trial"]) == ("anna", duel.left.number)


async def model_proposal(hands):
    """Approve and answer until the model's own proposal waits: the first one is where the machine is already."""

    def waiting():
        trial = hands.view and hands.view.trial
        return trial if trial and trial.stage == "proposed" else None

    while not (waiting() and waiting().source != "start"):
        if waiting():
            number = waiting().number
            await hands.press("a")
            await hands.dialog("Send this setting")
            await hands.press("a")
            await hands.said("approved")
            await hands.until(lambda number=number: not waiting() or waiting().number != number, "the news of it")
        if hands.view and hands.view.duel:
            await hands.press("1")
        await hands.pilot.pause()
        await asyncio.sleep(0.01)
    return waiting()


async def test_a_sends_the_setting_only_after_its_way_was_shown(running, size):
    async with console(running, "oven", size) as hands:
        trial = await model_proposal(hands)
        tag, number = trial.tag, trial.number
        await hands.press("a")
        await hands.dialog("Send this setting to the machine?")
        await hands.dialog("The machine would go this way:")
        await hands.press("q")
        assert len(hands.app.screen_stack) == 3  # a key without a meaning here does nothing
        await hands.press("a")
        await hands.said(f"{tag} approved")
    with running.client() as client:
        trial = next(t for t in client.trials("oven").trials if t.number == number)
    assert trial.stage != "proposed"


async def test_a_while_held_is_dim_and_says_why(running, size):
    async with console(running, "oven", size) as hands:
        await model_proposal(hands)
        await hands.press("h")
        await hands.until(lambda: hands.view.mode == "Held")
        cell = next(cell for cell in hands.app.screen.query("KeyCell") if cell.key.shown == "a")
        assert "dim" in str(cell.content.spans)
        await hands.press("a")
        await hands.said("Not possible now: the campaign is Held.")
        assert len(hands.app.screen_stack) == 2
        await hands.press("h")
        await hands.dialog("Go on tuning?")
        await hands.press("h")
        await hands.until(lambda: hands.view.mode == "Execute")


async def test_f1_lists_every_key_and_why_it_does_nothing_now(running, size):
    async with console(running, "press", size) as hands:
        await hands.question()
        await hands.press("f1")
        await hands.until(lambda: "the left part is better" in hands.text(), "the help")
        assert "(No setting waits for approval.)" in " ".join(hands.text().replace("▃", " ").split())
        await hands.press("escape")
        await hands.until(lambda: hands.app.screen is hands.app.main)


async def test_n_rejects_a_setting_with_a_reason(running, size):
    async with console(running, "oven", size) as hands:
        trial = await model_proposal(hands)
        await hands.press("n")
        await hands.dialog("Why not this setting?")
        await hands.type("nozzle too hot")
        await hands.said(f"{trial.tag} rejected")
    with running.client() as client:
        events = [e for e in client.history("oven").events if e.type == "proposal_rejected"]
    assert events[0].body == {"trial": trial.number, "reason": "nozzle too hot"}
    assert events[0].actor == "anna"


async def test_h_holds_at_once_and_goes_on_after_a_question(running, size):
    async with console(running, "press", size) as hands:
        await hands.question()
        await hands.press("h")
        await hands.said("held")
        await hands.until(lambda: hands.view.mode == "Held")
        assert "Held" in hands.text("#top")
        await hands.press("h")
        await hands.dialog("Go on tuning?")
        await hands.press("h")
        await hands.said("tuning goes on")
        await hands.until(lambda: hands.view.mode == "Execute")


async def test_s_starts_and_stops_tuning_and_the_machine_goes_home(running, size):
    async with console(running, "saw", size) as hands:
        await hands.until(lambda: hands.view is not None and hands.view.mode in ("Idle", "Stopped"))
        await hands.press("s")
        await hands.dialog("Start tuning?")
        await hands.press("s")
        await hands.said("tuning started")
        await hands.question()
        await hands.press("s")
        await hands.dialog("abort")
        await hands.press("escape")
        await hands.until(lambda: len(hands.app.screen_stack) == 2)
        assert hands.view.mode == "Execute"
        await hands.press("s")
        await hands.dialog("Stop tuning?")
        await hands.press("s")
        await hands.said("tuning stopped")
        await hands.until(lambda: hands.view.mode == "Stopped" and hands.view.machine.home, "home")
        assert "verified, known-good" in hands.text("#machine")


async def test_v_tells_that_a_part_made_by_hand_is_valid_and_x_that_it_is_scrap(running, size):
    async with console(running, "lathe", size) as hands:

        def running_trial():
            trial = hands.view and hands.view.trial
            return trial if trial and trial.stage == "running" else None

        first = await hands.until(running_trial, "a part to make by hand")
        assert "Dry run" in hands.text("#waiting")
        await hands.press("v")
        await hands.said(f"{first.tag} is valid: taken")
        while not (running_trial() and running_trial().number > first.number):
            if hands.view.duel:
                await hands.press("0")
            await hands.pilot.pause()
            await asyncio.sleep(0.01)
        second = running_trial()
        await hands.press("x")
        await hands.said(f"{second.tag} is scrap: taken")
    with running.client() as client:
        outcomes = {t.number: t.valid for t in client.trials("lathe").trials}
    assert outcomes[first.number] is True
    assert outcomes[second.number] is False


async def test_g_changes_the_lot_and_o_the_operator(running, size):
    lot = f"L{size[0]}"
    async with console(running, "saw", size, operator=None) as hands:
        await hands.dialog("Who are you?")
        await hands.type("badge 0815")
        await hands.said("signed in: badge 0815")
        await hands.until(lambda: hands.view is not None)
        await hands.press("g")
        await hands.dialog("Which lot")
        await hands.type(lot)
        await hands.said(f"lot {lot} from now on")
        await hands.until(lambda: f"lot {lot}" in hands.text("#top"))
        await hands.press("o")
        await hands.dialog("Who are you?")
        await hands.type("ben")
        await hands.until(lambda: "ben" in hands.text("#top"))
    with running.client() as client:
        event = next(e for e in client.history("saw").events if e.type == "lot_changed")
    assert (event.actor, event.body["lot"]) == ("badge 0815", lot)


async def test_without_a_name_nothing_is_sent(running, size):
    async with console(running, "press", size, operator=None) as hands:
        await hands.dialog("Who are you?")
        await hands.press("escape")
        duel = await hands.question()
        await hands.press("1")
        await hands.dialog("Who are you?")
        assert "Sign in first" in hands.app.message()[0]
    with running.client() as client:
        assert client.snapshot("press").duel.number == duel.number


async def test_l_goes_round_the_languages_and_texts_follow(running, size):
    async with console(running, "press", size) as hands:
        await hands.question()
        seen = []
        for _ in range(4):
            seen.append(hands.text("#waiting"))
            await hands.press("l")
            await hands.pilot.pause()
        assert "Which part is better?" in seen[0]
        assert "Welches Teil ist besser?" in seen[1]
        assert "¿Qué pieza es mejor?" in seen[2]
        assert "哪个零件更好" in seen[3]
        assert hands.app.actions.words.language == "en"


async def test_a_touch_on_a_key_is_a_press_of_it(running, size):
    async with console(running, "press", size, operator="touch") as hands:
        await hands.question()
        cells = {cell.key.shown: cell for cell in hands.app.screen.query("KeyCell")}
        await hands.pilot.click(cells["0"])
        await hands.said("can't tell: taken")
    assert newest(running, "press").operator == "touch"


async def test_a_key_meant_for_the_question_before_is_not_taken(running, size):
    async with console(running, "press", size, guard_s=60.0) as hands:
        duel = await hands.question()
        await hands.press("1")
        await hands.said("Too fast")
    with running.client() as client:
        assert client.snapshot("press").duel.number == duel.number


async def test_of_two_consoles_the_second_answer_is_refused_and_told_whose_was_first(running, size):
    async with console(running, "press", size, operator="ben") as hands:
        duel = await hands.question()
        stale = hands.view
        with running.client("cleo") as client:
            client.judge("press", duel.number, duel.left.number)
        hands.app.main.shown = stale  # as if the news were still on its way
        await hands.press("2")
        text = await hands.said("Somebody was faster")
        assert "cleo" in text
    with running.client() as client:
        answers = [j for j in client.snapshot("press").judgments if j.duel == duel.number]
    assert [j.operator for j in answers] == ["cleo"]


async def test_keys_that_do_nothing_now_say_so_and_send_nothing(running, size):
    async with console(running, "saw", size) as hands:
        await hands.until(lambda: hands.view is not None and hands.view.mode != "Execute")
        before = hands.view.n
        for key, part in (
            ("1", "No question"),
            ("0", "No question"),
            ("a", "No setting waits"),
            ("n", "No setting waits"),
            ("h", "Not possible now"),
            ("v", "dry runs"),
            ("x", "No part"),
        ):
            await hands.press(key)
            await hands.said(part)
    with running.client() as client:
        assert client.snapshot("saw").n == before


async def test_the_name_is_asked_for_first_and_then_the_campaign(running, size):
    async with console(running, None, size, operator=None) as hands:
        await hands.dialog("Who are you?")
        await hands.until(lambda: hands.app.session.complete)
        assert "Which campaign?" not in hands.text()
        await hands.type("3 wise men")  # a badge may begin like a choice
        await hands.dialog("Which campaign?")
        assert hands.app.actions.operator == "3 wise men"
        assert hands.app.actions.campaign is None


async def test_several_campaigns_are_asked_for_and_tab_goes_to_the_next(running, size):
    async with console(running, None, size) as hands:
        await hands.dialog("Which campaign?")
        names = list(hands.app.session.campaigns)
        await hands.press("2")
        await hands.until(lambda: hands.app.actions.campaign == names[1])
        await hands.press("tab")
        await hands.until(lambda: hands.app.actions.campaign == names[2])
        await hands.press("shift+tab")
        await hands.until(lambda: hands.app.actions.campaign == names[1])
        await hands.until(lambda: len(hands.app.screen.query("Tab")) == 4)
        tab = next(tab for tab in hands.app.screen.query("Tab") if tab.campaign == names[3])
        await hands.pilot.click(tab)
        await hands.until(lambda: hands.app.actions.campaign == names[3])
