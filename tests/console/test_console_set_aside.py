"""A console of a daemon that has set a campaign aside: it says so, and shows the others."""

import pytest

from tests.console.helpers import console
from tests.daemon.running import campaign_text, daemon
from tuner.journal import NewRow, Store

pytestmark = pytest.mark.asyncio


async def test_a_campaign_that_was_set_aside_is_told_of_and_the_other_is_shown():
    with daemon(campaign_text("press", trials=500) + campaign_text("bad", autostart=False)) as running:
        running.start()
        assert running.stop() == 0
        with Store.open(running.state / "journal.sqlite") as store:
            store.append([NewRow("bad", "2026-03-02T08:00:00.000000Z", "melted", '{"type":"melted"}', "eve")])
        running.start()
        async with console(running, None) as hands:
            await hands.until(lambda: hands.view is not None and hands.view.name == "press", "the good campaign")
            await hands.until(lambda: hands.app.session.complete, "all that can be followed")
            await hands.press("m")
            await hands.until(lambda: "bad: Set aside, because it cannot be read: event " in hands.text(), "the news")
