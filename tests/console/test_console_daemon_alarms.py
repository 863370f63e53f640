"""What belongs to no campaign, such as a configuration that was not read again, reaches every screen."""

import pytest

from tests.console.helpers import console
from tests.daemon.running import campaign_text, daemon
from tests.web.helpers import Forms, served
from tuner.console import session as sessions

pytestmark = pytest.mark.asyncio


@pytest.mark.slow
async def test_a_failed_reload_is_an_alarm_on_console_and_page_in_the_readers_language_until_it_is_mended(monkeypatch):
    monkeypatch.setattr(sessions, "LOOK_AGAIN_S", 0.05)
    with daemon(campaign_text("press", trials=500)) as running:
        running.start()
        right = running.config.read_text()
        async with console(running, "press", language="de") as hands:
            await hands.question()
            assert "Alarm" not in hands.text("#top")
            running.reload(right.replace("[campaign.budget]", "[campaign.budget]\nfun = 3"))
            await hands.until(lambda: "1 Alarm" in hands.text("#top") or "Alarme: 1" in hands.text("#top"), "the alarm")
            await hands.press("m")
            told = "Der Dienst: die Konfiguration wurde nicht neu gelesen"
            await hands.until(lambda: told in hands.text(), "what is wrong")
            assert "Wer diesen Rechner betreut" in hands.text()
            with served(running.state, "--language", "zh") as address:
                forms = Forms(address)
                forms.sign_in("nora")
                for path in ("/alarms", "/board"):
                    forms.open_until("服务：未重新读取配置", path, tags=False)  # noqa: RUF001 - Chinese
            running.reload(right)
            await hands.until(lambda: "Kein Alarm" in hands.text(), "that it is over")
