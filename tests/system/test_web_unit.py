"""The page's unit is understood by systemd, exposes little, and has none of the daemon's files."""

import re

import pytest

from tests.system.seccomp import UNIT, options
from tests.system.test_systemd_unit import MOST_EXPOSURE, run

PAGE = UNIT.with_name("tuner-web.service")


@pytest.fixture
def unit(tmp_path):
    """Copy both units with a command that exists here: the page's names the daemon's."""
    for one in (UNIT, PAGE):
        text, replaced = re.subn(r"(?m)^ExecStart=.*$", "ExecStart=/bin/true", one.read_text())
        assert replaced == 1
        (tmp_path / one.name).write_text(text)
    return tmp_path / PAGE.name


def test_systemd_has_nothing_to_say_about_the_pages_unit_and_its_exposure_is_low(unit):
    done = run("systemd-analyze", "verify", "--man=no", unit)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)
    told = run("systemd-analyze", "security", "--offline=true", "--no-pager", unit).stdout
    assert float(re.search(r"Overall exposure level for \S+: ([\d.]+)", told)[1]) <= MOST_EXPOSURE, told


def test_the_page_runs_as_nobody_of_the_daemon_and_everything_that_the_daemon_is_denied_it_is_denied_too():
    page, daemon = options(PAGE.read_text()), options(UNIT.read_text())
    assert page["ExecStart"] == ["/opt/tuner/bin/tuner web --listen 127.0.0.1:8630"]
    assert (page["DynamicUser"], page["SupplementaryGroups"]) == (["yes"], ["tuner"])
    assert page["RestartPreventExitStatus"] == ["78"]
    assert not any(name.endswith("Directory") for name in page)
    hardening = [
        name for name in daemon if name.startswith(("Protect", "Private", "Restrict", "NoNew", "Lock", "Capab"))
    ]
    assert [name for name in hardening if page.get(name) != daemon[name]] == []
