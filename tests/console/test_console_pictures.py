"""Pictures of parts in the terminal: half blocks of the pixmap beside the photo, never at the cost of the setting."""

import asyncio

import pytest
from rich.text import Text

from adapters.simulated.picture import pixels, plate, shares
from tests.console.helpers import console
from tests.daemon.running import campaign_text, daemon
from tuner.console.picture import LARGEST_BYTES, Pixmap, half_blocks, picture_of


def colours(text: Text):
    return {(span.style.color.name, span.style.bgcolor.name) for span in text.spans}


def test_two_pixels_are_one_letter_and_the_shape_is_kept():
    red, blue = b"\xff\0\0", b"\0\0\xff"
    picture = Pixmap(4, 4, (red * 4 + blue * 4) * 2)
    drawn = half_blocks(picture, 4, 9)
    assert drawn.plain == "▀▀▀▀\n▀▀▀▀\n"
    assert colours(drawn) == {("#ff0000", "#0000ff")}
    assert half_blocks(picture, 40, 2).plain == "▀▀▀▀\n▀▀▀▀\n", "as wide as its height allows"


def test_a_part_with_flaws_looks_different_from_one_without(tmp_path):
    for name, ugly in (("good", 0.0), ("bad", 0.9)):
        (tmp_path / f"{name}.ppm").write_bytes(pixels(plate(ugly, shares((0.1, 0.9)), 1)))
    good, bad = (half_blocks(picture_of(str(tmp_path / f"{name}.svg")), 40, 14) for name in ("good", "bad"))
    assert good.plain == bad.plain
    assert len(colours(bad) - colours(good)) > 50


def test_what_is_no_pixmap_is_not_drawn(tmp_path):
    cases = {
        "short": b"P6 4 4 255\n" + b"\0" * 47,
        "text": b"hello",
        "huge": b"P6 400 400 255\n" + b"\0" * 3 * 400 * 400,
        "nothing": b"P6 0 4 255\n",
    }
    for name, content in cases.items():
        (tmp_path / f"{name}.ppm").write_bytes(content)
        assert picture_of(str(tmp_path / f"{name}.svg")) is None, name
    assert len(cases["huge"]) > LARGEST_BYTES
    (tmp_path / "folder.ppm").mkdir()
    for photo in (
        None,
        "",
        "https://camera.plant/P1.jpg",
        "a\0",
        "/",
        ".",
        str(tmp_path / "absent.svg"),
        str(tmp_path / "folder"),
    ):
        assert picture_of(photo) is None, photo


@pytest.mark.parametrize("size", [(80, 24), pytest.param((160, 50), marks=pytest.mark.slow)])
def test_the_parts_are_seen_in_the_duel_and_nothing_of_the_setting_is_cut(tmp_path, size):
    async def look(running):
        async with console(running, "press", size) as hands:
            await hands.question()
            for side in ("#left", "#right"):
                room = hands.app.screen.query_one(side)
                await hands.until(lambda side=side, room=room: "▀▀▀" in hands.text(side) and room.size.height > 0)
                lines = hands.text(side).splitlines()
                assert any("x1" in line and "mm" in line for line in lines)
                assert any("x2" in line for line in lines)
                drawn = [line for line in lines if "▀" in line]
                assert len(drawn) >= 5
                assert len(lines) <= room.size.height

    text = campaign_text("press", trials=20, machine=f'pictures = "{tmp_path / "pictures"}"')
    with daemon(text) as running:
        running.start()
        asyncio.run(look(running))


@pytest.mark.slow
def test_parts_are_drawn_anew_when_a_second_column_takes_room_from_the_first(tmp_path):
    with daemon(campaign_text("press", trials=500, machine=f'pictures = "{tmp_path}"')) as running:
        running.start()

        async def look():
            async with console(running, "press", (160, 50)) as hands:
                await hands.question()
                await hands.until(lambda: "▀" in hands.text("#right"), "the pictures")
                main, right = hands.app.main, hands.app.main.query_one("#right")
                narrow = main.query_one("#left").size.width
                right.display = False  # as while nothing is under way; it is seen again by whatever draws next
                await hands.pilot.pause()
                main.put()

                def fits():
                    widest = max(len(line) for line in hands.text("#right").splitlines())
                    return main.query_one("#left").size.width == narrow and widest <= right.content_size.width

                await hands.until(fits, "pictures that fit their columns")

        asyncio.run(look())
