"""What the console says beside the question, the same on the screen and in plain lines; pages by their names."""

from tuner.console.pages.alarms import AlarmsPage
from tuner.console.pages.champion import ChampionPage
from tuner.console.pages.help import HelpPage
from tuner.console.pages.history import HistoryPage
from tuner.console.pages.page import Page
from tuner.console.pages.parameters import ParametersPage
from tuner.console.pages.why import WhyPage

PAGES: dict[str, type[Page]] = {
    "history": HistoryPage,
    "champion": ChampionPage,
    "parameters": ParametersPage,
    "alarms": AlarmsPage,
    "why": WhyPage,
    "help": HelpPage,
}
