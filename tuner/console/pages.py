"""The screens behind the keys t c p m ?: history, champion, parameters, alarms, and why this setting."""

from tuner.console.page import Page
from tuner.console.page_champion import ChampionPage
from tuner.console.page_history import HistoryPage
from tuner.console.page_news import AlarmsPage, WhyPage
from tuner.console.page_parameters import ParametersPage

PAGES: dict[str, type[Page]] = {
    "history": HistoryPage,
    "champion": ChampionPage,
    "parameters": ParametersPage,
    "alarms": AlarmsPage,
    "why": WhyPage,
}
