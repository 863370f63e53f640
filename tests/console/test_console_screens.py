"""The screens behind the keys, against a real daemon, and what waiting shows."""

import asyncio

import pytest

from tests.console.helpers import LARGE, SMALL, console
from tests.daemon.running import campaign_text, daemon, tune, until

SIZES = [pytest.param(LARGE, id="160x50"), pytest.param(SMALL, id="80x24", marks=pytest.mark.slow)]
pytestmark = [pytest.mark.asyncio, pytest.mark.parametrize("size", SIZES)]

BROKEN = "read_back_error = 0.5"


@pytest.fixture(scope="module")
def running():
    text = campaign_text("press", trials=500, policy="questions = {per_hour = 400}")
    text += campaign_text("mill", trials=50, machine=BROKEN)
    text += campaign_text("kiln", trials=50, machine="seconds_per_trial = 3600")
    with daemon(text) as one:
        one.start()
        with one.client() as client:
            tune(client, "press", lambda view: len(view.judgments) >= 3 and view.duel is not None)
            until(client, "mill", lambda view: view.fault is not None)
        yield one


async def test_the_history_shows_trials_and_judgments_and_excludes_with_a_reason(running, size):
    async with console(running, "press", size) as hands:
        await hands.question()
        await hands.press("t")
        await hands.until(lambda: getattr(hands.app.screen, "page", None), "the history")
        screen, page = hands.app.screen, hands.app.screen.page
        await hands.until(lambda: page.trials)
        screen.put()
        widths = [column.width for column in screen.query_one("#table").ordered_columns]  # now, not when it is idle
        rows = [page.row(screen.words, screen.view, trial) for trial in page.trials]
        assert all(width >= cell.cell_len for row in rows for width, cell in zip(widths, row, strict=True))
        await hands.until(lambda: "anna" in hands.text())
        number = next(i for i, trial in enumerate(page.trials) if trial.valid is False and not trial.excluded)
        await hands.press(*["down"] * number)
        await hands.until(lambda: screen.query_one("#table").cursor_row == number)
        trial = page.trials[number]
        await hands.press("e")
        await hands.dialog(f"Why is {trial.tag} to be left out")
        await hands.type("wrong material")
        await hands.said(f"{trial.tag} is left out")
        await hands.until(lambda: any(t.number == trial.number and t.excluded for t in page.trials))
        await hands.until(lambda: "excluded: wrong" in hands.text())
        await hands.press("escape")
        await hands.until(lambda: hands.app.screen is hands.app.main)


async def test_the_history_takes_a_judgment_back_with_a_reason(running, size):
    async with console(running, "press", size) as hands:
        await hands.question()
        await hands.press("t")
        await hands.until(lambda: getattr(hands.app.screen, "page", None), "the history")
        screen, page = hands.app.screen, hands.app.screen.page
        await hands.until(lambda: page.trials)
        judgment = next(j for j in page.judgments if j.retracted is None)
        row = next(i for i, trial in enumerate(page.trials) if trial.number in (judgment.left, judgment.right))
        await hands.press(*["down"] * row)
        await hands.until(lambda: screen.query_one("#table").cursor_row == row)
        await hands.press("z")
        await hands.dialog("taken back?")
        await hands.type("mixed up the parts")
        await hands.said("taken back")
        await hands.until(lambda: "mixed up the parts" in hands.text("#detail"))


async def test_the_champions_screen_has_the_setting_to_copy_the_evidence_and_when_to_stop(running, size):
    async with console(running, "press", size) as hands:
        await hands.question()
        champion = hands.view.champion
        await hands.press("c")
        await hands.until(lambda: "Is going on worth it?" in hands.text(), "the outlook")
        text = hands.text()
        assert "Recommended setting for the master recipe" in text
        assert f"Best part so far: {champion.tag}" in text
        assert " won, " in text
        await hands.press("y")
        await hands.said("copied")
        assert hands.app.clipboard.startswith("x1 = ")
        await hands.press("escape")
        await hands.until(lambda: hands.app.screen is hands.app.main)


async def test_the_parameters_screen_plots_each_parameter(running, size):
    async with console(running, "press", size) as hands:
        await hands.question()
        await hands.press("p")
        await hands.until(lambda: "[x1]" in hands.text(), "the first parameter")
        assert "P(valid)" in hands.text()
        assert "o" in hands.text("#plot")
        assert "+" in next(line for line in hands.text().splitlines() if line.strip().startswith("tried"))
        await hands.press("right")
        await hands.until(lambda: "[x2]" in hands.text(), "the second parameter")
        await hands.press("left")
        await hands.until(lambda: "[x1]" in hands.text())


async def test_why_gives_the_models_reasons(running, size):
    async with console(running, "press", size) as hands:
        await hands.question()
        await hands.press("question_mark")
        await hands.until(lambda: "What matters most:" in hands.text(), "the importance")
        assert "Why this setting?" in hands.text("#title")
        await hands.press("l")
        await hands.until(lambda: "Warum diese Einstellung?" in hands.text("#title"))


async def test_a_machine_at_fault_is_an_alarm_in_words_and_its_setting_is_not_called_verified(running, size):
    async with console(running, "mill", size) as hands:
        await hands.until(lambda: hands.view is not None and hands.view.fault)
        assert "! FAULT" in hands.text("#top")
        assert "verified" not in hands.text("#machine").replace("UNVERIFIED", "")
        await hands.press("m")
        await hands.until(lambda: "Fault: " in hands.text())
        assert "NOT at its known-good setting" in hands.text()


async def test_news_that_come_while_a_page_is_taken_away_do_no_harm(running, size):
    async with console(running, "mill", size) as hands:
        await hands.until(lambda: hands.view is not None and hands.view.fault)
        await hands.press("m")
        await hands.until(lambda: "Fault: " in hands.text())
        page = hands.app.screen
        page.action_back()
        while page.children:  # they go one by one
            page.put()
            await asyncio.sleep(0)


async def test_waiting_says_for_what_and_how_long_without_inventing_a_progress(running, size):
    async with console(running, "kiln", size) as hands:
        await hands.until(lambda: hands.view is not None and hands.view.phase == "running")
        await hands.until(lambda: "so far" in hands.text("#waiting"))
        assert "The machine makes part K1." in hands.text("#waiting")
        assert "%" not in hands.text("#waiting")
        assert "end not known yet" in hands.text("#budget")


async def test_the_questions_left_this_hour_are_shown(running, size):
    async with console(running, "press", size) as hands:
        await hands.question()
        left = hands.view.budget.questions_left_this_hour
        assert f"{left} questions left this hour" in hands.text("#budget")
