"""Where a campaign wants it, console and plain lines sign people in with PIN or badge; what is typed is not shown."""

import pytest
from textual.widgets import Input

from tests.console.helpers import console
from tests.console.test_console_lines import Terminal
from tests.daemon.running import campaign_text, daemon
from tuner.basics.vocabulary import Role

PIN, BADGE = "2580", "04A2246F"


@pytest.fixture(scope="module")
def running():
    with daemon(campaign_text("press", trials=500, policy='identify = "pin"')) as one:
        one.start()
        with one.client("ines") as client:
            client.add_person("anna", Role.OPERATOR, pin=PIN, badge=BADGE)
        yield one


def newest(running):
    with running.client() as client:
        return client.snapshot("press").judgments[0]


@pytest.mark.asyncio
async def test_an_answer_without_proof_asks_for_it_and_is_the_persons_afterwards(running):
    async with console(running, "press", operator="somebody") as hands:
        duel = await hands.question()
        await hands.press("0")
        await hands.dialog("Who are you?")
        assert "wants to know who answers" in hands.app.message()[0]
        await hands.type("Anna")
        await hands.dialog("PIN:")
        await hands.press(*"25")
        assert hands.app.screen.query_one(Input).password, "what is typed is not shown"
        await hands.type("80")
        await hands.said("signed in: anna")
        await hands.press("0")
        await hands.said("can't tell: taken")
    given = newest(running)
    assert (given.duel, given.operator) == (duel.number, "anna")


def test_in_plain_lines_a_badge_is_enough_and_a_pin_is_not_echoed(running):
    lines = Terminal(running, "--campaign", "press", "--language", "en")
    try:
        lines.expect("Who are you")
        lines.type("anna")
        lines.expect("PIN:\r\n")
        lines.type("9753")
        lines.expect("Name, PIN or badge is wrong")
        assert "9753" not in lines.text
        lines.expect("Who are you")
        lines.type(BADGE)
        lines.expect("signed in: anna")
    finally:
        lines.close()
