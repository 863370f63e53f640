"""What is special about a command of the documents; whatever is not in here is run and must end with 0."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.daemon.running import campaign_text
from tests.docs.documents import ROOT

PRESS = campaign_text("press", trials=500)
SASENA = (ROOT / "configs" / "sasena.toml").read_text()
STARTED = SASENA.replace("autostart = false", "autostart = true").replace(
    "[compute]\n", "[compute]\nworkers = 1\nspeculate = false\n"
)

_MACHINE = "needs a machine; tests/adapters has one for each protocol"
_SYSTEMD = "needs systemd as process 1"
_MINUTES = "measures for minutes or hours; tests/lab/bench runs the same code on a small scale"

# a command of which the pattern is the whole text, and why it is not run; a `tuner` command is still checked against
# the tree of commands, `make` and `pip` against what they name, pytest against the tests it selects
NOT_RUN = {
    r"tuner journal verify --anchor FILE": "needs anchors; tests/journal/test_anchors.py has some",
    r"make lock|make release VERSION=0\.3\.0": "writes into the checkout; tests/system tries what it is made of",
    r"python -m scripts\.sbom": "writes into the checkout; tests/system/test_locks.py compares what it wrote",
    r"make (coverage|demo|quick|lint|hooks|test(-all|-busy|-faults|-foreign|-peers)?)": "makes what runs this",
    r"make install-service.*": "needs root; tests/system installs it under DESTDIR",
    r"git pull && make install-service.*": "needs a remote repository and root",
    r"pip install .*": "needs a package index",
    r"pytest .*": "is part of the tests; that it selects some is checked",
    r"systemctl .* tuner-web": _SYSTEMD,
    r"systemctl (status|edit|daemon-reload|reload|reset-failed|disable).*": _SYSTEMD,
    r"\[Service\]|DeviceAllow=.*": "what is written in the editor that systemctl opens",
    r"journalctl .*": _SYSTEMD,
    r"systemd-analyze .*": "tests/system runs it and looks at what it says",
    r"tuner adapters (check|browse|rehearse) (http|modbus|mqtt|opcua|s7|configs/|press\.toml).*": _MACHINE,
    r"tuner adapters (check|browse|rehearse)( NAME| CONFIG)?": _MACHINE,
    r"usermod .*": "needs root",
    r"tuner (status --watch|metrics( --port 9464)?)": "go on until Ctrl-C; tests/cli/test_metrics.py runs them",
    r"tuner import press-2 .*": "needs two campaigns and an export; tests/tables/test_import.py runs it",
    r"tuner init": "asks a person; tests/setup/test_init.py types the answers",
    r"tuner web --listen .*": "needs people and a certificate; tests/web/test_page_people.py runs it",
    r"tuner people (add|pin|badge|disable|sessions --end) .*": "asks for a PIN; tests/cli runs it",
    r"tuner campaign acknowledge CAMPAIGN ALARM": "needs an alarm; tests/campaign/test_alarms.py has some",
    r"tuner campaign confirm CAMPAIGN CHANGE": "needs a change by hand; tests/campaign/test_by_hand.py has some",
    r"tuner campaign (resume CAMPAIGN|repeat CAMPAIGN 1)": "needs a campaign that its contract holds, see tests/daemon",
    r"tuner bench .*": _MINUTES,
    r"python -m tests\.faults\.fuzz_guided TARGET": "needs atheris; tests/faults/test_fuzz_parsers.py reads its corpus",
    r"python -m tuner": "the command itself, without a command it prints its help",
    r"python -m tests\.journals\.make (VERSION|unreleased)": "writes into the checkout, with the code of a version",
    r"python -m scripts\.screenshots": "needs a browser, and takes minutes",
    r"cc wire\.c -lzmq": "tests/wire/test_client_with_daemon.py compiles and runs it",
    r"python3 examples/line_controller\.py .*": "needs /run/tuner; tests/adapters/line runs it at another place",
}

# these are run in `make test-all` only
SLOW = {
    r"tuner demo( --fast| --human)?": "a minute",
    r"tuner simulate .*": "many seeds",
    r"tuner rehearse .*": "many rehearsals",
}

# what the text promises, where it is not 0
CODES = {
    r"tuner check-config /tmp/broken\.toml": 78,
    r"tuner demo --human": 130,  # nobody is there to judge: it is ended by Ctrl-C
}


@dataclass(frozen=True)
class Place:
    """Where the commands of a page are run.

    Attributes:
        config: Of the daemon that the page's commands find by default.
        words: What stands for something else, and what for, by the page's directory.
    """

    config: str = STARTED
    words: Callable[[Path], dict[str, str]] = lambda _: {}


def _everywhere(there: Path) -> dict[str, str]:
    return {"/tmp/": f"{there}/tmp/", "DIR": str(state(there)), "FILE": str(there / "etc" / "tuner.toml")}  # noqa: S108


def _service(there: Path) -> dict[str, str]:
    return {
        "/var/lib/tuner": str(state(there)),
        "/etc/tuner": str(there / "etc"),
        "/var/log/tuner": str(there / "log"),
    }


PLACES = {
    "docs/configuration.md": Place(words=lambda there: {"KEY": "trials", "ADAPTER": "simulated"}),
    "docs/console.md": Place(PRESS),
    "docs/operations.md": Place(STARTED.replace('# directory = "logs"  ', 'directory = "../log"'), _service),
    "configs/sasena.toml": Place(SASENA),
    "adapters/README.md": Place(words=lambda there: {"NAME": "simulated", "FILE": "configs/sasena.toml"}),
}


def state(there: Path) -> Path:
    """Where a daemon keeps its state by default."""
    return there / "home" / ".local" / "state" / "tuner"


def words(page: str, there: Path) -> dict[str, str]:
    """What stands for something else on a page."""
    return {**_everywhere(there), **PLACES.get(page, Place()).words(there)}


def found(table: dict[str, object], text: str) -> object | None:
    """The entry whose pattern is the whole text."""
    return next((entry for pattern, entry in table.items() if re.fullmatch(pattern, text)), None)
