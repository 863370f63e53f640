"""What a console may do depends on its key: over an encrypted connection, with an operator's and a viewer's key."""

import socket

import pytest

from tests.console.helpers import Hands
from tests.daemon.running import campaign_text, daemon, reached_at
from tuner.console.screen.app import ConsoleApp
from tuner.console.ui import Options
from tuner.wire.aio import AsyncClient
from tuner.wire.key_ring import KeyRing

pytestmark = [pytest.mark.asyncio, pytest.mark.slow]


def free_ports():
    with socket.socket() as one, socket.socket() as two:
        one.bind(("127.0.0.1", 0))
        two.bind(("127.0.0.1", 0))
        return one.getsockname()[1], two.getsockname()[1]


@pytest.fixture(scope="module")
def place():
    requests, events = (f"tcp://127.0.0.1:{port}" for port in free_ports())
    head = reached_at((requests, events))
    text = head + campaign_text("press", trials=500)
    text += campaign_text("oven", trials=500).replace("approval = false", "approval = true")
    with daemon(text) as running:
        ring = KeyRing.open(running.state)
        keys = {
            role: ring.new(f"{role}-key", role, requests=requests, events=events) for role in ("operator", "viewer")
        }
        running.start()
        yield keys


async def on(key, campaign, steps):
    app = ConsoleApp(lambda: AsyncClient.connect(key=key), Options("en", "anna", campaign, 0.0))
    async with app.run_test(size=(80, 24)) as pilot:
        await steps(Hands(app, pilot))


async def test_an_operator_answers_but_does_not_approve(place):
    async def answer(hands):
        await hands.question()
        await hands.press("1")
        await hands.said("is better: taken")

    async def approve(hands):
        await hands.until(lambda: hands.view is not None and hands.view.phase == "awaiting_approval")
        await hands.press("a")
        await hands.said("Your key may not do this (operator)")
        assert hands.view.phase == "awaiting_approval"

    await on(place["operator"], "press", answer)
    await on(place["operator"], "oven", approve)


async def test_a_viewer_sees_the_question_and_answers_nothing(place):
    async def look(hands):
        duel = await hands.question()
        await hands.press("1")
        await hands.said("Your key may not do this (viewer)")
        assert hands.view.duel.number == duel.number

        for key in ("x", "r", "g", "h", "s"):  # told before any dialog
            hands.app.say("")
            await hands.press(key)
            await hands.said("Your key may not do this (viewer)")
            assert len(hands.app.screen_stack) == 2
        await hands.press("t")
        await hands.until(lambda: getattr(getattr(hands.app.screen, "page", None), "trials", None), "the history")
        await hands.press("e")
        await hands.said("Your key may not do this (viewer)")
        assert len(hands.app.screen_stack) == 3

    await on(place["viewer"], "press", look)
