"""Pictures of parts come from allowed folders only, whatever an adapter says and wherever links lead."""

import asyncio
import os
import threading
from pathlib import Path

import pytest

import tuner.web.photos
from tests.patience import PATIENT_S
from tuner.web.photos import PIECE_BYTES, Photos

PIXEL = b"\x89PNG\r\n\x1a\n"


def found(photos, address):
    async def taken():
        picture = await photos.find(address.removeprefix("/photo/"))
        return None if picture is None else (b"".join([piece async for piece in picture.pieces]), picture.media_type)

    return asyncio.run(taken())


def address_of(photos, photo):
    async def looked():
        await photos.look([photo])
        while photos._looks:  # a busy machine may take longer than a page waits
            await asyncio.wait(photos._looks.values())
        return photos.address(photo)

    return asyncio.run(looked())


def shown(photos, photo):
    address = address_of(photos, photo)
    return None if address is None else found(photos, address)


def test_a_picture_in_the_folder_is_shown_by_a_name_that_tells_nothing(tmp_path):
    (tmp_path / "line 3").mkdir()
    (tmp_path / "line 3" / "P1.PNG").write_bytes(PIXEL)
    photos = Photos((tmp_path,))
    for photo in ("line 3/P1.PNG", str(tmp_path / "line 3" / "P1.PNG")):
        assert shown(photos, photo) == (PIXEL, "image/png")
        assert "P1" not in photos.address(photo)
    assert photos.address("line 3/P1.PNG") != address_of(Photos((tmp_path,)), "line 3/P1.PNG")


def test_no_other_file_is_shown(tmp_path):
    folder = tmp_path / "photos"
    folder.mkdir()
    secret = tmp_path / "secret.png"
    secret.write_bytes(PIXEL)
    (folder / "notes.txt").write_text("no picture")
    (folder / "link.png").symlink_to(secret)
    photos = Photos((folder,))
    for photo in (
        None,
        "",
        "../secret.png",
        str(secret),
        "link.png",
        "notes.txt",
        "absent.png",
        "a\0.png",
        "/etc/passwd",
    ):
        assert address_of(photos, photo) is None, photo
    assert found(photos, "../secret.png") is None
    assert address_of(Photos(()), str(secret)) is None


def test_a_file_that_becomes_a_link_after_it_was_named_is_not_shown(tmp_path):
    folder = tmp_path / "photos"
    folder.mkdir()
    (tmp_path / "secret.png").write_bytes(b"secret")
    (folder / "P1.png").write_bytes(PIXEL)
    photos = Photos((folder,))
    address = address_of(photos, "P1.png")
    (folder / "P1.png").unlink()
    (folder / "P1.png").symlink_to(tmp_path / "secret.png")
    assert found(photos, address) is None


def test_a_file_that_becomes_a_pipe_after_it_was_named_keeps_nobody_waiting(tmp_path):
    (tmp_path / "P1.png").write_bytes(PIXEL)
    photos = Photos((tmp_path,))
    address = address_of(photos, "P1.png")
    (tmp_path / "P1.png").unlink()
    os.mkfifo(tmp_path / "P1.png")
    assert found(photos, address) is None


def test_a_share_that_does_not_answer_keeps_no_page_waiting_and_its_picture_comes_when_it_does(tmp_path, monkeypatch):
    (tmp_path / "P1.png").write_bytes(PIXEL)
    answers, begun = threading.Event(), []

    class Share(type(Path())):
        def resolve(self, strict=False):
            begun.append(str(self))
            answers.wait(PATIENT_S)
            return super().resolve(strict)

    async def pages():
        told = asyncio.Event()
        photos = Photos((Share(tmp_path),), (), told.set)
        await photos.look(["P1.png"])
        assert photos.address("P1.png") is None
        assert not told.is_set()
        await photos.look(["P1.png"])  # the next page neither waits nor asks again
        answers.set()
        await told.wait()
        assert begun.count(str(tmp_path)) == 1
        return photos.address("P1.png")

    monkeypatch.setattr(tuner.web.photos, "PATIENCE_S", 0.0)
    assert asyncio.run(pages()).startswith("/photo/")


def test_a_large_picture_is_read_as_it_is_taken_and_breaks_off_where_another_takes_its_place(tmp_path):
    content = os.urandom(3 * PIECE_BYTES + 5)
    (tmp_path / "P1.png").write_bytes(content)
    photos = Photos((tmp_path,))
    address = address_of(photos, "P1.png")
    assert found(photos, address) == (content, "image/png")

    async def exchanged():
        picture = await photos.find(address.removeprefix("/photo/"))
        pieces = [await anext(picture.pieces)]
        (tmp_path / "other.png").write_bytes(os.urandom(len(content)))
        (tmp_path / "other.png").replace(tmp_path / "P1.png")
        return [*pieces, *[piece async for piece in picture.pieces]]

    assert asyncio.run(exchanged()) == [content[:PIECE_BYTES]]


@pytest.mark.parametrize(
    "photo", ["http://[", "https://[::1", "http://a]b", "x" * 5000 + ".png", "\ud800.png", "l.png"]
)
def test_whatever_a_machine_says_of_a_picture_no_page_fails_of_it(tmp_path, photo):
    (tmp_path / "l.png").symlink_to("l.png")
    photos = Photos((tmp_path,), ("https://camera.plant",))
    assert address_of(photos, photo) is None


def test_an_address_is_shown_only_from_a_server_that_was_named():
    photos = Photos((), ("https://camera.plant",))
    assert photos.address("https://camera.plant/P1.jpg") == "https://camera.plant/P1.jpg"
    for photo in ("https://camera.plant.evil/P1.jpg", "http://camera.plant/P1.jpg", "javascript:alert(1)", "//x/y.png"):
        assert photos.address(photo) is None, photo
