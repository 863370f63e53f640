"""Windows of every size, many campaigns, long messages, Caps Lock: what an operator needs is still there."""

import pytest
from rich.cells import cell_len

from tests.console.helpers import console
from tests.daemon.running import campaign_text, daemon
from tuner.console.language import LANGUAGES
from tuner.console.screen.keybar import KeyCell

pytestmark = [pytest.mark.asyncio, pytest.mark.slow]
NAMES = [f"line{number:02d}" for number in range(12)]


@pytest.fixture(scope="module")
def running():
    first = campaign_text(NAMES[0], trials=500)
    with daemon(first + "".join(campaign_text(name, autostart=False) for name in NAMES[1:])) as one:
        yield one.start()


async def test_in_a_small_window_parts_settings_and_the_acknowledgement_are_seen(running):
    async with console(running, NAMES[0], (40, 10)) as hands:
        duel = await hands.question()
        for part in (duel.left.tag, duel.right.tag, "x1", "x2", "1 left better", "2 right better", "u undo"):
            await hands.until(lambda part=part: part in hands.text(), part)
        await hands.press("0")
        await hands.until(lambda: "can't tell: taken" in hands.text(), "the acknowledgement")
        assert not hands.app.screen.show_vertical_scrollbar


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("size", [(80, 36), (120, 36)], ids=str)
async def test_every_key_shows_its_words_in_every_size(running, language, size):
    async with console(running, NAMES[0], size, language=language) as hands:
        await hands.question()
        await hands.pilot.pause()
        words = hands.app.actions.words
        shown = [cell for cell in hands.app.screen.query(KeyCell) if cell.display]
        assert {"1", "2", "0", "u"} <= {cell.key.shown for cell in shown}
        for cell in shown:
            assert cell.content_size.width >= cell_len(f" {cell.key.shown} {words(cell.key.text)}"), cell.key
            assert cell.region.right <= size[0] + 1  # the last one's gap may be beyond the edge


async def test_a_long_refusal_is_shown_to_its_end_and_the_keys_stay_where_they_are(running):
    async with console(running, NAMES[0]) as hands:
        await hands.question()
        before = [cell.region for cell in hands.app.screen.query(KeyCell)]
        hands.app.say("Refused. " + "the known-good setting cannot be rejected " * 4 + "END", bad=True)
        await hands.until(lambda: "END" in hands.text(), "the end of the message")
        assert [cell.region for cell in hands.app.screen.query(KeyCell)] == before


async def test_of_many_campaigns_each_can_be_chosen_and_its_tab_is_seen(running):
    async with console(running, None) as hands:
        await hands.dialog("Which campaign?")
        assert " c   line11" in hands.text()
        await hands.press("c")
        await hands.until(lambda: "line11" in hands.text().splitlines()[0], "the last tab")
        await hands.press("tab")
        await hands.until(lambda: "line00" in hands.text().splitlines()[0], "the first tab")


async def test_keys_work_with_caps_lock_too(running):
    async with console(running, NAMES[0]) as hands:
        await hands.question()
        await hands.press("H")
        await hands.said("held")
        await hands.until(lambda: hands.view.mode == "Held")
        await hands.press("H")
        await hands.dialog("Go on tuning?")
        await hands.press("H")
        await hands.until(lambda: hands.view.mode == "Execute")


async def test_ctrl_c_says_how_to_leave_in_the_readers_language_and_covers_no_key(running):
    async with console(running, NAMES[0], language="de") as hands:
        await hands.question()
        await hands.press("ctrl+c")
        await hands.said("q verlässt die Konsole")
        assert "Do you want" not in hands.text()
        await hands.press("t")
        await hands.press("ctrl+c")
        await hands.until(lambda: "q verlässt die Konsole" in hands.text(), "the same on another screen")


async def test_signing_in_by_the_daemons_own_name_is_refused_and_the_link_stays(running):
    async with console(running, NAMES[0]) as hands:
        await hands.question()
        await hands.press("o")
        await hands.dialog("Who are you?")
        await hands.type("tuner")
        await hands.said("is not a name for a person")
        assert hands.app.actions.operator == "anna"
        assert hands.app.session.client.actor == "anna"
