"""Rules for all tests: hypothesis profiles, Ctrl-C as at a terminal, and no skipped test where CI is set."""

import gc
import os
import signal
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tuner.basics.threads import one_blas_thread

# as the processes of ours that tests start, and as `make test` has it: else the same run differs in its last bits
one_blas_thread()
pytest_plugins = ["tests.warm", "tests.leaks"]

# a busy machine is slow, and that is no failure: neither of an example nor of the making of one; `make test` tries the
# same examples everywhere, so that nobody's run fails by luck; `make test-all` looks for new ones
settings.register_profile(
    "steady", max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.register_profile("random", settings.get_profile("steady"), max_examples=100, derandomize=False)
HERE = Path(__file__).parent
IN_CI = bool(os.environ.get("CI"))
settings.load_profile("steady")


# tests that start daemons and browsers wait more than they compute: they begin first, and what only computes fills the
# gaps; the longest files come before all others, for one of them at the end would keep one process busy alone
LONGEST = ("docs/test_commands.py", "lab/paper/test_paper_pages.py", "web/test_page_in_a_browser.py")
WAITING = (
    "web",
    "faults",
    "daemon",
    "console",
    "system",
    "lab/simulate",
    "lab/demo",
    "lab/bench",
    "machine",
    "compute",
    "cli",
    "journals",
    "report",
    "lab",
)


def _rank(item: pytest.Item) -> int:
    place = item.path.relative_to(HERE).as_posix()
    order = (*LONGEST, *(f"{folder}/" for folder in WAITING))
    return next((rank for rank, start in enumerate(order) if place.startswith(start)), len(order))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files whose tests take long come first, so that no process is left alone with one of them at the end."""
    items.sort(key=_rank)


def pytest_collection_finish() -> None:
    """What was imported stays: the collector of garbage need not look at it again and again."""
    gc.collect()
    gc.freeze()


def pytest_configure() -> None:
    """In the background of a shell Ctrl-C is ignored, and programs that tests start would ignore it too."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    """On a user's machine a test may be skipped with its reason; in CI all that it needs must be there."""
    if IN_CI and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"skipped, which is a failure where CI is set: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _refuse_skip(report)
    return report
