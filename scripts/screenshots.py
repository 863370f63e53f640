"""Makes docs/screens/*.png from the real console, a real daemon and a simulated machine: python -m scripts.screenshots.

Needs the Debian packages chromium, fonts-dejavu-core and fonts-wqy-zenhei, and the extra `dev`.
"""

import asyncio
import re
import shutil
import tempfile
from pathlib import Path
from typing import Literal

import numpy as np
from playwright.sync_api import Browser, sync_playwright

from tests.console.helpers import Hands, console
from tests.daemon.running import campaign_text, daemon, tune, until
from tests.web.helpers import WIDTHS, served
from tuner.problems import get_problem
from tuner.wire.client import Client

PLACE = Path(__file__).parents[1] / "docs" / "screens"
Scheme = Literal["light", "dark"]
PAGES: tuple[tuple[str, str, int, Scheme], ...] = (
    ("page-duel-390", "/", 390, "dark"),
    ("page-duel-1024", "/", 1024, "light"),
    ("page-zh-768", "/", 768, "light"),
    ("page-engineer-1920", "/engineer", 1920, "light"),
    ("page-history-768", "/history", 768, "light"),
    ("page-board-1920", "/board", 1920, "dark"),
)
SCALE = 0.72
MOULD = """
[[campaign]]
name = "mould"
machine = "moulding-3"
seed = 4
[campaign.budget]
trials = 60
scrap = 12
[campaign.policy]
autostart = true
approval = false
repeat_after = 0
questions = {per_hour = 40}
[campaign.adapter]
name = "simulated"
[campaign.adapter.settings]
problem = "hartmann6"
seconds_per_trial = 0.05
non_valid_probability = 0.1
"""
PARAMETERS = (
    ("speed", "m/s", 0.4),
    ("pressure", "kbar", 0.5),
    ("dwell", "min", 0.3),
    ("cooling", "l/s", 0.6),
    ("shot", "l", 0.5),
    ("nozzle", "mm", 0.2),
)


def mould() -> str:
    """A moulding machine with six parameters."""
    tables = [
        f'[[campaign.parameter]]\nkind = "continuous"\nname = "{name}"\nlow = 0.0\nhigh = 1.0\n'
        f'start = {start}\nunit = "{unit}"\n'
        for name, unit, start in PARAMETERS
    ]
    return MOULD + "".join(tables)


def plant() -> str:
    """The campaigns of the pictures."""
    return (
        mould()
        + campaign_text("oven", trials=40).replace("approval = false", "approval = true")
        + campaign_text("kiln", trials=40, policy="settling_s = 6.0")
        + campaign_text("mill", trials=40, machine="read_back_error = 0.5")
    )


async def save(hands: Hands, name: str) -> None:
    """Keep what is on the screen."""
    await hands.pilot.pause()
    svg = hands.app.export_screenshot(title=" ")
    (PLACE / f"{name}.svg").write_text(svg, "utf-8")


async def mould_shots(running) -> None:
    """The duel in two sizes and two languages, and the screens behind the keys."""
    for size in ((80, 24), (160, 50)):
        async with console(running, None, size) as hands:
            await hands.dialog("Which campaign?")
            names = list(hands.app.session.campaigns)
            await hands.press(str(names.index("mould") + 1))
            await hands.question()
            await hands.until(lambda: "link ok" in hands.text("#top"))
            if size == (160, 50):  # the panel waits for the model
                await hands.until(lambda: "█ 100 %" in hands.text())
            await save(hands, f"duel-{size[0]}x{size[1]}")
            if size == (80, 24):
                for key, name, ready in (
                    ("t", "history", lambda: "anna" in hands.text()),
                    ("c", "champion", lambda: "Is going on worth it?" in hands.text()),
                    ("p", "parameters", lambda: "[speed]" in hands.text()),
                    ("question_mark", "why", lambda: "What matters most" in hands.text()),
                    ("s", "stop", lambda: "Stop tuning?" in hands.text()),
                ):
                    await hands.press(key)
                    await hands.until(ready)
                    await save(hands, name)
                    await hands.press("escape")
                    await hands.until(lambda: hands.app.screen is hands.app.main)


async def picture_shots(running) -> None:
    """Parts as half blocks."""
    async with console(running, "press", (80, 24)) as hands:
        await hands.question()
        await hands.until(lambda: "▀" in hands.text("#left"))
        await save(hands, "duel-pictures-80x24")


async def other_shots(running) -> None:
    """Approval, waiting, and a machine at fault."""
    async with console(running, "oven", (80, 24)) as hands:
        await hands.until(lambda: hands.view is not None and hands.view.trial)
        await hands.press("a")
        await hands.dialog("Send this setting")
        await save(hands, "approve")
    async with console(running, "kiln", (80, 24), language="de") as hands:
        await hands.question()
        await hands.press("2")
        await hands.until(lambda: hands.view.phase == "settling" and re.search(r"[3-9]\d %", hands.text("#waiting")))
        await save(hands, "waiting-de")
    async with console(running, "mill", (80, 24)) as hands:
        await hands.until(lambda: hands.view is not None and hands.view.fault)
        await hands.until(lambda: "FAULT" in hands.text("#top"))
        await save(hands, "fault")
        await hands.press("m")
        await hands.until(lambda: "Fault: " in hands.text())
        await save(hands, "alarms")


def picture(browser: Browser, svg: Path) -> None:
    """Draw a picture with the fonts of this machine, and nothing from outside."""
    text = re.sub(r"@font-face\s*{.*?}", "", svg.read_text("utf-8"), flags=re.S)
    text = text.replace("Fira Code", "DejaVu Sans Mono")
    sides = re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', text)[0]
    width, height = (round(float(side) * SCALE) for side in sides)
    page = browser.new_page(viewport={"width": width, "height": height})
    page.set_content(f'<body style="margin:0;background:#1c1c1c">{text}</body>')
    page.screenshot(path=svg.with_suffix(".png"))
    page.close()
    svg.unlink()


def page_shots(browser: Browser) -> None:
    """The page as browsers show it, with pictures of parts; one in Chinese, which Textual's SVG draws too narrow."""
    with tempfile.TemporaryDirectory(prefix="tuner-") as pictures:
        text = campaign_text("press", trials=60, policy="graded = true", machine=f'pictures = "{pictures}"')
        text += campaign_text("oven", trials=40).replace("approval = false", "approval = true")
        text += campaign_text("mill", trials=40, machine="read_back_error = 0.5")
        with daemon(text) as running:
            running.start()
            with running.client("anna") as client:
                tune_by_setting(client)
                until(client, "mill", lambda view: view.fault is not None)
            with served(running.state, "--photos", pictures, "--language", "en", "--campaign", "press") as address:
                for name, path, width, scheme in PAGES:
                    page_shot(browser, address, name, path, width, scheme)


def tune_by_setting(client: Client) -> None:
    """Answer some questions as the known costs tell, for the machine shows pictures instead."""
    problem = get_problem("sasena")
    for _ in range(10):
        view = until(client, "press", lambda view: view.duel is not None)
        sides = (view.duel.left, view.duel.right)
        costs = [float(problem.evaluate(np.array([list(side.setting.values())]))[0]) for side in sides]
        client.judge("press", view.duel.number, sides[int(np.argmin(costs))].number, took_s=2.0)
    until(client, "press", lambda view: view.duel is not None)


def page_shot(browser: Browser, address: str, name: str, path: str, width: int, scheme: Scheme) -> None:
    """One page at one width."""
    page = browser.new_page(viewport={"width": width, "height": WIDTHS[width]}, color_scheme=scheme)
    page.goto(f"{address}/sign-in")
    page.fill("#name", "anna")
    page.click("form.sign button")
    page.locator(".thumbs:not(.fresh)").wait_for()
    if "-zh-" in name:
        page.locator("#language").select_option("zh")
        page.locator("html[lang=zh]").wait_for()
    if path != "/":
        page.goto(address + path)
    if path == "/engineer":
        page.get_by_role("img", name="Chance to win against the champion").first.wait_for(timeout=120_000)
    if path == "/history":
        page.locator("tr[data-kind]").first.wait_for()
    page.screenshot(path=PLACE / f"{name}.png", full_page=path == "/engineer")
    page.close()


def main() -> None:
    """Make all pictures."""
    PLACE.mkdir(parents=True, exist_ok=True)
    with daemon(plant()) as running:
        running.start()
        with running.client("anna") as client:
            tune(client, "mould", lambda view: len(view.judgments) >= 8 and view.duel is not None)
            client.change_lot("mould", "PP-2291")
            until(client, "mill", lambda view: view.fault is not None)
        asyncio.run(mould_shots(running))
        asyncio.run(other_shots(running))
        with tempfile.TemporaryDirectory(prefix="tuner-") as pictures:
            shown = campaign_text("press", trials=20, machine=f'pictures = "{pictures}"')
            with daemon(shown) as other:
                other.start()
                asyncio.run(picture_shots(other))
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            for svg in sorted(PLACE.glob("*.svg")):
                picture(browser, svg)
            page_shots(browser)
            browser.close()


if __name__ == "__main__":
    main()
