"""`tuner adapters new`: a package for an adapter of one's own."""

import os
import subprocess
import sys

import pytest

from tests.cli.odd import ROOT, run
from tests.patience import PATIENT_S
from tuner.testing import AdapterConformance


def test_a_new_package_is_not_written_through_a_link(tmp_path):
    for exists in (False, True):
        link, there = tmp_path / f"link{exists}", tmp_path / f"there{exists}"
        link.symlink_to(there)
        if exists:
            there.mkdir()
        shown = run("new", "oven", str(link))
        assert shown.exit_code == 2
        assert "exists and is not an empty directory" in shown.output
        assert not exists or not list(there.iterdir())


@pytest.mark.slow
def test_a_new_adapter_can_be_installed_passes_its_tests_and_answers(tmp_path, monkeypatch):
    """As its author would do it, but without a network and without touching this environment."""
    package, site = tmp_path / "tuner-big_oven", tmp_path / "site"
    shown = run("new", "big_oven", str(package))
    assert shown.exit_code == 0, shown.output
    assert f"wrote {package / 'tuner_big_oven' / 'adapter.py'}" in shown.stdout
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(site), str(ROOT)))}

    def python(*arguments):
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=package,
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENT_S,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    offline = ["--no-build-isolation", "--no-deps", "--no-index", "--disable-pip-version-check", "--quiet"]
    python("-m", "pip", "install", *offline, "--target", str(site), str(package))
    tested = python("-m", "pytest", "-q", "-W", "error", "-p", "no:asyncio", "-p", "no:cacheprovider")
    assert f"{len(conformance_tests())} passed" in tested
    monkeypatch.syspath_prepend(site)
    rows = [" ".join(line.split()) for line in run("list").stdout.splitlines()]
    assert "big_oven tuner-big-oven 0.1.0 Speaks with the machine big_oven." in rows
    assert "where the machine is" in run("info", "big_oven").stdout
    example = str(package / "example.toml")
    assert python("-m", "tuner", "check-config", example) == f"{example}: ok: 1 campaign, 1 parameter\n"
    checked = run("check", "big_oven", "--config", example)
    assert checked.exit_code == 0, checked.output
    assert "ready; nothing was moved" in checked.stdout


def conformance_tests():
    return [name for name in dir(AdapterConformance) if name.startswith("test_")]


def test_a_new_adapter_is_written_as_neatly_as_ours(tmp_path):
    package = tmp_path / "oven"
    assert run("new", "oven", str(package)).exit_code == 0
    rules = ["--isolated", "--no-cache", "--line-length", "120"]  # its own place, not ours: tuner is a third party
    for command in (
        ["check", "--select", "E,F,W,I,UP,B,D,PT,RET,SIM", "--ignore", "D203,D213,D107"],
        ["format", "--check"],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, *rules, "."],
            cwd=package,
            capture_output=True,
            text=True,
            timeout=PATIENT_S,
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_without_a_directory_the_package_is_written_beside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("new", "oven").exit_code == 0
    assert (tmp_path / "tuner-oven" / "pyproject.toml").exists()
    again = run("new", "oven")
    assert again.exit_code == 2
    assert "tuner-oven exists" in again.stderr
