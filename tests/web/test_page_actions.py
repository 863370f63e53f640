"""Every action of the page by hand in real Chromium against a real daemon: one width always, all four as slow tests."""

import pytest

from tests.daemon.running import campaign_text, daemon, until
from tests.web.helpers import PATIENT_MS, WIDTHS, chromium, served
from tuner.basics.vocabulary import Role

PIN = "4711"


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    return tmp_path_factory.mktemp("pictures")


@pytest.fixture(scope="module")
def running(pictures):
    press = campaign_text("press", trials=900, policy="graded = true", machine=f'pictures = "{pictures}"')
    oven = campaign_text("oven", trials=900).replace("approval = false", "approval = true")
    with daemon(press + oven) as one:
        one.start()
        with one.client() as client:
            client.add_person("ines", Role.ENGINEER, "en", PIN)
        yield one


@pytest.fixture(scope="module")
def address(running, pictures):
    with served(running.state, "--language", "en", "--campaign", "press", "--photos", pictures) as found:
        yield found


@pytest.fixture(scope="module")
def browser():
    with chromium() as one:
        yield one


@pytest.fixture(params=[390, *(pytest.param(width, marks=pytest.mark.slow) for width in (768, 1024, 1920))])
def page(request, browser, address):
    """A tablet or a desk where an engineer has signed in by PIN; nothing may fail in its script."""
    width = request.param
    context = browser.new_context(viewport={"width": width, "height": WIDTHS[width]}, has_touch=width < 1024)
    one = context.new_page()
    one.set_default_timeout(PATIENT_MS)
    errors = []
    one.on("console", lambda message: errors.append(message.text) if message.type in ("error", "warning") else None)
    one.on("pageerror", lambda error: errors.append(str(error)))
    one.goto(f"{address}/sign-in")
    one.locator("html.script").wait_for()
    one.fill("#name", "ines")
    one.fill("#pin", PIN)
    one.click("form.sign button")
    said(one, "signed in: ines")
    yield one
    assert errors == []
    context.close()


def said(page, text):
    page.locator("#said", has_text=text).wait_for()


def button(page, key):
    """The button of a key, wherever the page has it."""
    return page.locator(f'form[action="/press"] button[data-key="{key}"]').first


def question(page):
    page.locator(".thumbs:not(.fresh)").wait_for()
    return page.locator("h1 .quiet").inner_text()


def answered(page, name, text):
    """Give an answer that the daemon takes; the next question follows."""
    number = question(page)
    page.get_by_role("button", name=name, exact=False).first.click()
    said(page, text)
    page.locator("h1", has_not_text=number).wait_for()


def shows(page, campaign, machine):
    page.locator("#campaign").select_option(campaign)
    page.locator(".where", has_text=machine).wait_for()


def gesture(page, *steps):
    """Fingers that come down, move from place to place and go, as the browser's own touch events."""
    session = page.context.new_cdp_session(page)
    for number, points in enumerate(steps):
        places = [{"x": x, "y": y, "id": finger} for finger, (x, y) in enumerate(points)]
        kind = "touchMove" if number else "touchStart"
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": places})
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


def scales(page):
    """How large each picture is drawn beside its own size."""
    return page.locator("[data-zoom] img").evaluate_all(
        "(all) => all.map((one) => new DOMMatrix(one.style.transform).a)"  # also of one that is hidden
    )


def test_an_operators_day(running, page, address):
    shows(page, "press", "press-machine")
    for name, text in (
        ("left better", "is better: taken"),
        ("right better", "is better: taken"),
        ("can't tell", "can't tell: taken"),
        ("clearly left", "is clearly better: taken"),
        ("clearly right", "is clearly better: taken"),
    ):
        answered(page, name, text)
    button(page, "u").click()
    said(page, "taken back")
    question(page)
    button(page, "x").click()
    page.locator(".asked", has_text="Which part is scrap?").wait_for()
    page.locator(".asked .choices button").first.click()
    said(page, "is scrap: taken")
    question(page)
    button(page, "r").click()
    page.locator(".asked .choices button").first.click()
    page.locator("#said:not(:empty)").wait_for()
    button(page, "h").click()
    said(page, "held: nothing more is sent")
    button(page, "h").click()
    page.locator(".asked .choices button").first.click()
    said(page, "tuning goes on")
    button(page, "g").click()
    page.locator(".asked input[name=given]").fill("PP-2291")
    page.locator(".asked .line button").click()
    page.locator(".where", has_text="PP-2291").wait_for()
    with running.client() as client:
        assert client.snapshot("press").lot == "PP-2291"


def test_pictures_are_zoomed_and_moved_alike_by_buttons_fingers_and_keys(page):
    shows(page, "press", "press-machine")
    question(page)
    first, second = scales(page)
    assert (first, second) == (1, 1)
    page.get_by_role("button", name="closer").click()
    assert scales(page)[0] == scales(page)[1] > 1
    page.keyboard.press("-")
    assert scales(page) == [1, 1]
    page.keyboard.press("i")
    assert page.locator("[data-zoom]:visible").count() == 1
    page.get_by_role("button", name="the other").click()
    assert page.locator(".parts.only-right").count() == 1
    page.keyboard.press("i")
    assert page.locator("[data-zoom]:visible").count() == 2
    if not page.evaluate("() => navigator.maxTouchPoints"):
        return
    box = page.locator("[data-zoom]").first.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    gesture(page, [(x + 60, y)], [(x, y)], [(x - 60, y)])
    assert page.locator(".parts.only-right").count() == 1, "a swipe to the left shows the right part, large"
    box = page.locator("[data-zoom]:visible").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    gesture(page, [(x - 10, y), (x + 10, y)], [(x - 25, y), (x + 25, y)], [(x - 40, y), (x + 40, y)])
    assert scales(page)[0] == scales(page)[1] > 2
    page.get_by_role("button", name="side by side").click()
    assert page.locator("[data-zoom]:visible").count() == 2


def proposed(client, after=0):
    """A part that waits for approval; questions on the way are answered by another client."""
    while True:
        view = until(
            client,
            "oven",
            lambda view: view.duel is not None or (view.phase == "awaiting_approval" and view.trial.number > after),
        )
        if view.duel is None:
            return view.trial
        client.tie("oven", view.duel.number)


@pytest.mark.slow
def test_an_engineers_day(running, page, address):
    shows(page, "oven", "oven-machine")
    with running.client() as client:
        first = proposed(client)
        page.locator("h1", has_text=first.tag).wait_for()
        button(page, "a").click()
        page.locator(".asked .choices button").first.click()
        said(page, "approved")
        second = proposed(client, first.number)
        page.goto(f"{address}/engineer")
        page.locator("h1", has_text=second.tag).wait_for()
        button(page, "n").click()
        page.locator(".asked input[name=given]").fill("not on this shift")
        page.locator(".asked .line button").click()
        said(page, "rejected")
        button(page, "s").click()
        page.locator(".asked .choices button").first.click()
        said(page, "tuning stopped")
        until(client, "oven", lambda view: view.mode == "Stopped")
        page.locator(".mode", has_text="Stopped").wait_for()
        button(page, "s").click()
        page.locator(".asked .choices button").first.click()
        until(client, "oven", lambda view: view.mode == "Execute")
    shows(page, "press", "press-machine")
    for name in ("Progress of the champion", "What matters most:", "Recommended setting for the master recipe"):
        page.get_by_role("heading", name=name).wait_for()
    page.get_by_role("img", name="Chance to win against the champion in x").first.wait_for()
    page.get_by_role("img", name="along x1").wait_for()


@pytest.mark.slow
def test_the_history_is_corrected_and_made_again(running, page, address):
    shows(page, "press", "press-machine")
    answered(page, "left better", "is better: taken")
    page.goto(f"{address}/history")
    page.get_by_role("button", name="take back judgment").first.click()
    page.locator(".asked input[name=given]").fill("slipped")
    page.locator(".asked .line button").click()
    said(page, "taken back")
    page.locator('tr[data-kind="valid"]').get_by_role("button", name="make again").last.click()
    page.locator("#said:not(:empty), .asked").first.wait_for()
    if page.locator(".asked").count():
        page.locator(".asked .choices button").first.click()
        page.locator("#said:not(:empty)").wait_for()
    page.locator('tr[data-kind="valid"]').get_by_role("button", name="exclude").last.click()
    page.locator(".asked input[name=given]").fill("wrong part in the tray")
    page.locator(".asked .line button").click()
    said(page, "is left out of account")
    page.get_by_label("excluded").check()
    page.locator("tr[data-kind]:visible", has_text="wrong part in the tray").first.wait_for()
    page.locator("[data-search]").fill("no such words")
    assert page.locator("tr[data-kind]:visible").count() == 0
    page.locator("#language").select_option("es")
    page.locator("html[lang=es]").wait_for()
    page.get_by_role("button", name="cerrar sesión").click()
    page.locator(".name").wait_for(state="detached")
