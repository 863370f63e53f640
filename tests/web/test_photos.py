"""Pictures of parts come from allowed folders only, whatever an adapter says and wherever links lead."""

from tuner.web.photos import Photos

PIXEL = b"\x89PNG\r\n\x1a\n"


def shown(photos, photo):
    address = photos.address(photo)
    return None if address is None else photos.find(address.removeprefix("/photo/"))


def test_a_picture_in_the_folder_is_shown_by_a_name_that_tells_nothing(tmp_path):
    (tmp_path / "line 3").mkdir()
    (tmp_path / "line 3" / "P1.PNG").write_bytes(PIXEL)
    photos = Photos((tmp_path,))
    for photo in ("line 3/P1.PNG", str(tmp_path / "line 3" / "P1.PNG")):
        assert shown(photos, photo) == (PIXEL, "image/png")
        assert "P1" not in photos.address(photo)
    assert photos.address("line 3/P1.PNG") != Photos((tmp_path,)).address("line 3/P1.PNG")


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
        assert photos.address(photo) is None, photo
    assert photos.find("../secret.png") is None
    assert Photos(()).address(str(secret)) is None


def test_a_file_that_becomes_a_link_after_it_was_named_is_not_shown(tmp_path):
    folder = tmp_path / "photos"
    folder.mkdir()
    (tmp_path / "secret.png").write_bytes(b"secret")
    (folder / "P1.png").write_bytes(PIXEL)
    photos = Photos((folder,))
    address = photos.address("P1.png")
    (folder / "P1.png").unlink()
    (folder / "P1.png").symlink_to(tmp_path / "secret.png")
    assert photos.find(address.removeprefix("/photo/")) is None


def test_an_address_is_shown_only_from_a_server_that_was_named():
    photos = Photos((), ("https://camera.plant",))
    assert photos.address("https://camera.plant/P1.jpg") == "https://camera.plant/P1.jpg"
    for photo in ("https://camera.plant.evil/P1.jpg", "http://camera.plant/P1.jpg", "javascript:alert(1)", "//x/y.png"):
        assert photos.address(photo) is None, photo
