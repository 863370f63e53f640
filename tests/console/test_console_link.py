"""A console whose daemon goes away: it says so, sends nothing later, comes back and tells what happened meanwhile."""

import os
import signal

import pytest

from tests.console.helpers import console
from tests.daemon.running import better, campaign_text, daemon, until
from tuner.errors import UnreachableError

pytestmark = pytest.mark.asyncio


@pytest.fixture
def running():
    with daemon(campaign_text("press", trials=500)) as one:
        yield one.start()


@pytest.mark.slow
async def test_a_lost_daemon_is_told_of_and_what_happened_meanwhile_is_told_when_it_is_back(running):
    async with console(running, "press") as hands:
        duel = await hands.question()
        running.kill()
        await hands.until(lambda: "! NO LINK since" in hands.text("#top"), "the loss")
        await hands.press("1")
        await hands.said("NO LINK: nothing was sent")
        running.start()
        with running.client("ben") as client:  # none of this awaits, so the console comes back only afterwards
            view = until(client, "press", lambda view: view.duel is not None)
            client.judge("press", view.duel.number, better(view))
        await hands.until(lambda: hands.app.session.linked, "the link")
        await hands.until(lambda: "link ok" in hands.text("#top"))
        await hands.until(lambda: hands.view.judgments and hands.view.judgments[0].operator == "ben")
        assert [j.operator for j in hands.view.judgments if j.duel == duel.number] == ["ben"]
        await hands.said("press: meanwhile: ")
        await hands.press("m")
        await hands.until(lambda: "link is back after" in hands.text())
        assert "link lost" in hands.text()
        assert "press: meanwhile: " in hands.text()
        assert "judgments: 1 (ben)" in hands.text()


@pytest.mark.slow
async def test_an_answer_without_an_acknowledgement_is_looked_after_when_the_link_is_back(running):
    async with console(running, "press") as hands:
        duel = await hands.question()
        os.kill(running.process.pid, signal.SIGSTOP)
        try:
            await hands.press("1")
            await hands.said("it may or may not have been taken")
            assert not hands.app.session.linked
        finally:
            os.kill(running.process.pid, signal.SIGCONT)
        await hands.until(lambda: hands.app.session.linked, "the link")
        await hands.until(lambda: any("taken" in news.key for news in hands.app.session.news), "what became of it")
        told = next(news.key for news in hands.app.session.news if "taken" in news.key)
        await hands.said("press: Taken after all: " if told == "alarms.taken_after_all" else "press: NOT taken: ")
        with running.client() as client:
            answers = [j for j in client.snapshot("press").judgments if j.duel == duel.number]
        assert len(answers) == (1 if told == "alarms.taken_after_all" else 0)


@pytest.mark.slow
async def test_an_answer_in_doubt_is_looked_for_again_where_the_link_is_lost_once_more(running):
    async with console(running, "press") as hands:
        await hands.question()
        session = hands.app.session
        os.kill(running.process.pid, signal.SIGSTOP)
        await hands.press("1")
        await hands.said("it may or may not have been taken")
        running.kill()
        asked = session.client.history

        async def lost_while_looking(*args, **options):
            session.client.history = asked
            raise UnreachableError("gone again")

        session.client.history = lost_while_looking
        running.start()
        await hands.press("o")  # the next shift signs in before it is known
        await hands.dialog("Who are you?")
        await hands.type("ben")
        await hands.until(lambda: any("taken" in news.key for news in session.news), "what became of it")
        told = next(news for news in session.news if "taken" in news.key)
        with running.client() as client:
            mine = [j for j in client.snapshot("press").judgments if j.operator == "anna"]
        assert told.key == ("alarms.taken_after_all" if mine else "alarms.not_taken")


@pytest.mark.slow
async def test_without_a_link_no_page_claims_that_there_is_no_campaign(running):
    running.kill()
    async with console(running, None) as hands:
        await hands.until(lambda: "NO LINK" in hands.text("#top"), "the loss")
        await hands.press("m")
        await hands.said("NO LINK")


@pytest.mark.slow
async def test_a_console_without_a_daemon_says_so_and_finds_it_later(running):
    running.kill()
    async with console(running, None) as hands:
        await hands.until(lambda: "NO LINK" in hands.text("#top"), "the loss")
        assert "no daemon answers" in hands.text("#waiting")
        running.start()
        await hands.question()
        assert "link ok" in hands.text("#top")
