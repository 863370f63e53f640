"""The page in real Chromium against a real daemon: a person answers, takes back, holds and corrects, at every width."""

from pathlib import Path

import axe_playwright_python
import pytest

from tests.daemon.running import campaign_text, daemon, until
from tests.web.helpers import PATIENT_MS, WIDTHS, chromium, served

AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js").read_text("utf-8")
# all at one moment: the page may look again between two questions
BOXES = "() => [...document.querySelectorAll('.answers button')].map(one => one.getBoundingClientRect().toJSON())"
FITS = """width => document.documentElement.scrollWidth <= width &&
    document.querySelector("main").getBoundingClientRect().width >= 0.9 * width"""
PAGES = ("/", "/engineer", "/history", "/alarms", "/board", "/sign-in")
HEAVIEST_BYTES = 300_000


@pytest.fixture(scope="module")
def running():
    texts = [campaign_text("press", trials=500, policy="graded = true"), campaign_text("oven", autostart=False)]
    with daemon("".join(texts)) as one:
        yield one.start()


@pytest.fixture(scope="module")
def address(running):
    with served(running.state, "--language", "en", "--campaign", "press") as found:
        yield found


@pytest.fixture(scope="module")
def browser():
    with chromium() as one:
        yield one


@pytest.fixture
def page(browser, address):
    """A page where wanda is signed in; nothing may fail in its script, and nothing may be refused by its policy."""
    context = browser.new_context(viewport={"width": 1024, "height": 768})
    one = context.new_page()
    one.set_default_timeout(PATIENT_MS)
    errors = []
    one.on("console", lambda message: errors.append(message.text) if message.type in ("error", "warning") else None)
    one.on("pageerror", lambda error: errors.append(str(error)))
    one.goto(f"{address}/sign-in")
    one.fill("#name", "wanda")
    one.click("form.sign button")
    one.locator("#said", has_text="signed in: wanda").wait_for()
    one.locator("html.script").wait_for()  # before the script runs, a key does nothing
    yield one
    assert errors == []
    context.close()


def question(page):
    """Wait for an open question, old enough to be answered; gives its number."""
    page.locator(".thumbs:not(.fresh)").wait_for()
    return int(page.locator("h1 .quiet").inner_text().split()[1].strip(":"))


def said(page, text):
    page.locator("#said", has_text=text).wait_for()


def newest(running):
    with running.client() as client:
        return client.snapshot("press").judgments[0]


def judgment_of(running, duel):
    """The judgment about a duel: the newest need not be it, nor the first of the history."""
    with running.client() as client:
        (one,) = [one for one in client.trials("press", limit=500).judgments if one.duel == duel]
        return one


def test_a_key_pressed_twice_answers_once_and_the_page_says_that_it_was_taken(running, page):
    number = question(page)
    page.route("**/press", lambda route: (page.keyboard.press("1"), route.continue_()))  # the answer is still under way
    page.keyboard.press("1")
    said(page, "is better: taken")
    page.unroute("**/press")
    assert judgment_of(running, number).retracted is None
    assert "closed" not in page.locator("#said").inner_text()


def test_a_person_answers_by_hand_and_by_key_takes_back_and_calls_scrap_without_a_reload(running, page):
    page.evaluate("() => { window.never_reloaded = true }")
    number = question(page)
    page.get_by_role("button", name="left better").click()
    said(page, "is better: taken")
    given = newest(running)
    assert (given.duel, given.operator, given.winner) == (number, "wanda", given.left)
    assert 0.5 <= given.took_s < 600

    page.keyboard.press("u")
    said(page, f"judgment {given.number} taken back")
    assert newest(running).retracted is not None

    number = question(page)
    page.keyboard.press("4")
    said(page, "is clearly better: taken")
    given = newest(running)
    assert (given.duel, given.winner, given.clearly) == (number, given.right, True)

    question(page)
    page.keyboard.press("0")
    said(page, "can't tell: taken")

    question(page)
    page.keyboard.press("x")
    page.locator(".asked", has_text="Which part is scrap?").wait_for()
    tag = page.locator(".asked .choices button").first.inner_text().split()[0]
    page.keyboard.press("1")
    said(page, f"{tag} is scrap: taken")
    page.keyboard.press("u")
    said(page, f"{tag} counts as valid again")
    assert page.evaluate("() => window.never_reloaded")


def test_a_name_that_is_typed_while_the_page_looks_again_is_not_lost(browser, address):
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(PATIENT_MS)
    held = []
    page.route(
        "**/sign-in", lambda route: held.append(route) if route.request.resource_type == "fetch" else route.continue_()
    )
    with page.expect_request(lambda request: request.resource_type == "fetch"):
        page.goto(f"{address}/sign-in")
    page.fill("#name", "wanda")
    page.locator("#name").blur()
    with page.expect_event("requestfinished", lambda request: request.resource_type == "fetch"):
        held[0].continue_()
    page.evaluate("() => new Promise((seen) => setTimeout(seen))")  # the script has taken the answer
    assert page.input_value("#name") == "wanda"
    context.close()


def test_what_another_client_does_is_seen_at_once(running, page):
    number = question(page)
    with running.client("ben") as client:
        view = until(client, "press", lambda view: view.duel is not None)
        assert view.duel.number == number
        client.tie("press", number)
    page.locator("h1", has_not_text=f"Question {number}:").wait_for()


def test_holding_goes_on_after_a_question_and_a_question_can_be_dropped(running, page):
    page.keyboard.press("h")
    said(page, "held: nothing more is sent")
    page.keyboard.press("h")
    page.locator(".asked", has_text="Go on tuning?").wait_for()
    page.keyboard.press("Escape")
    page.locator(".asked").wait_for(state="detached")
    page.keyboard.press("h")
    page.locator(".asked").wait_for()
    page.keyboard.press("h")
    said(page, "tuning goes on")
    with running.client() as client:
        assert client.snapshot("press").mode == "Execute"


@pytest.mark.slow
def test_an_engineer_sees_what_the_model_believes_and_the_history_is_corrected_with_a_reason(running, page, address):
    number = question(page)
    page.keyboard.press("1")
    said(page, "taken")
    page.goto(f"{address}/engineer")
    page.get_by_role("img", name="How many settings are believed better").wait_for()
    page.get_by_role("img", name="along x1").wait_for()
    page.get_by_role("heading", name="What matters most").wait_for()

    judgment = judgment_of(running, number).number
    page.goto(f"{address}/history")
    page.get_by_role("button", name=f"take back judgment {judgment}", exact=True).first.click()
    page.locator(".asked input[name=given]").fill("slipped")
    page.keyboard.press("Enter")
    said(page, "taken back")
    given = judgment_of(running, number)
    assert (given.number, given.retracted) == (judgment, "slipped")
    page.get_by_label("non-valid").check()
    rows = page.locator("tr[data-kind]:visible")
    assert all(row.get_attribute("data-kind") == "scrap" for row in rows.all())


@pytest.mark.slow
def test_the_language_changes_at_once_and_the_board_leads_to_another_campaign(page, address):
    page.locator("#language").select_option("de")
    page.locator("nav", has_text="Verlauf").wait_for()
    assert page.evaluate("() => document.documentElement.lang") == "de"
    page.goto(f"{address}/board")
    page.get_by_role("button", name="oven").click()
    page.locator(".where", has_text="oven-machine").wait_for()


@pytest.mark.parametrize("width", [390, *(pytest.param(width, marks=pytest.mark.slow) for width in (768, 1024, 1920))])
def test_every_page_fits_and_an_answer_can_be_given_at_every_width(running, page, address, width):
    page.set_viewport_size({"width": width, "height": WIDTHS[width]})
    number = question(page)
    for box in page.evaluate(BOXES):
        assert box["width"] >= 88
        assert box["height"] >= 48  # a finger in a glove
        assert box["y"] + box["height"] <= WIDTHS[width], "the buttons are where the thumbs are, without scrolling"
    page.get_by_role("button", name="right better", exact=False).first.click()
    said(page, "is better: taken")
    assert newest(running).duel == number
    for path in PAGES:
        page.goto(address + path)
        page.wait_for_function(FITS, arg=width)


@pytest.mark.parametrize("scheme", [pytest.param("light", marks=pytest.mark.slow), "dark"])
def test_every_page_is_for_everybody(page, address, scheme):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": 390 if scheme == "dark" else 1024, "height": 844})
    for path in PAGES:
        page.goto(address + path)
        page.locator("main h1").wait_for()
        if path == "/engineer":
            page.get_by_role("img", name="Chance to win against the champion").first.wait_for()
        page.evaluate(AXE)
        found = page.evaluate("() => axe.run()")
        serious = [
            (one["id"], [node["html"][:200] for node in one["nodes"]])
            for one in found["violations"]
            if one["impact"] in ("serious", "critical")
        ]
        assert serious == [], path


def test_a_page_is_light_and_nothing_is_asked_of_another_machine(browser, address):
    context = browser.new_context()
    page = context.new_page()
    bodies = []
    page.on("response", lambda answer: bodies.append(answer) if "/events" not in answer.url else None)
    page.goto(address, wait_until="load")
    assert sum(len(answer.body()) for answer in bodies) < HEAVIEST_BYTES
    assert {answer.url.removeprefix(address).split("/")[1] for answer in bodies} <= {"", "static"}
    context.close()
