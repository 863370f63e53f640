"""A real console against a real daemon with a simulated machine, driven by keys."""

import asyncio
import time
from contextlib import asynccontextmanager

from tests.daemon.running import campaign_text
from tests.patience import PATIENT_S
from tuner.console.screen.app import ConsoleApp
from tuner.console.ui import Options
from tuner.wire.aio import AsyncClient

SMALL, LARGE = (80, 24), (160, 50)


def plant(*, trials=500) -> str:
    """One campaign for each thing that a console does, so that tests do not disturb each other."""
    return "".join(
        [
            campaign_text("press", trials=trials),
            campaign_text("oven", trials=trials).replace("approval = false", "approval = true"),
            campaign_text("lathe", trials=trials, policy="dry_run = true"),
            campaign_text("saw", trials=trials, autostart=False),
        ]
    )


@asynccontextmanager
async def console(running, campaign, size=SMALL, *, operator="anna", guard_s=0.0, language="en"):
    """The app on a screen of a size, showing a campaign; ends with the block."""
    options = Options(language, operator, campaign, guard_s)
    app = ConsoleApp(lambda: AsyncClient.local(running.state), options)
    async with app.run_test(size=size) as pilot:
        yield Hands(app, pilot)


class Hands:
    """Presses keys and looks at the screen."""

    def __init__(self, app, pilot):
        self.app = app
        self.pilot = pilot

    @property
    def view(self):
        return self.app.main.shown

    def text(self, selector=None) -> str:
        """What is on the top screen, or in one of its widgets, as plain text."""
        if selector is not None:
            return str(self.app.screen.query_one(selector).render())
        return "\n".join(
            "".join(segment.text for segment in strip) for strip in self.app.screen._compositor.render_strips()
        )

    async def press(self, *keys):
        await self.pilot.press(*keys)

    async def type(self, text):
        await self.pilot.press(*["space" if letter == " " else letter for letter in text], "enter")

    async def until(self, ready, what=""):
        """Wait for a condition; fails with what was on the screen."""
        end = time.monotonic() + PATIENT_S
        while True:
            found = ready()
            if found:
                return found
            if time.monotonic() > end:
                raise AssertionError(f"{what or 'it'} did not come; the screen was\n{self.text()}")
            await self.pilot.pause()
            await asyncio.sleep(0.01)  # gives the loop to sockets; the condition decides

    async def question(self):
        """Wait for an open question on the screen."""
        await self.until(lambda: self.view is not None and self.view.duel is not None, "a question")
        return self.view.duel

    async def said(self, part):
        """Wait for a message."""
        await self.until(lambda: part in self.app.message()[0], f"the message {part!r}")
        return self.app.message()[0]

    async def dialog(self, part):
        """Wait for a dialog with these words."""
        await self.until(lambda: len(self.app.screen_stack) > 2 and part in self.text(), f"the dialog {part!r}")
