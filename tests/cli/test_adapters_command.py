"""`tuner adapters`: what is installed, what it can be told, what a machine offers, and bad input."""

from importlib.metadata import entry_points

import pytest

from tests.cli.odd import ROOT, SASENA, run
from tuner.adapter import AdapterSettings
from tuner.cli import adapters as adapters_cli
from tuner.config.plugins import GROUP


def test_the_list_has_name_origin_and_purpose_of_every_adapter():
    shown = run("list")
    assert shown.exit_code == 0, shown.output
    rows = {line.split()[0]: line for line in shown.stdout.splitlines()}
    assert {"simulated", "command", "mqtt", "serial"} <= set(rows)
    assert "process-tuner 0." in rows["simulated"]
    assert rows["simulated"].endswith("the i-th parameter is the problem's i-th variable.")


def test_broken_adapters_are_listed_with_the_reason_and_do_not_stop_the_others(odd, tmp_path, monkeypatch):
    (tmp_path / "this_program_ends.py").write_text("import sys; sys.exit('no driver')")
    monkeypatch.syspath_prepend(tmp_path)
    shown = run("list")
    assert shown.exit_code == 0
    rows = {line.split()[0]: line for line in shown.stdout.splitlines()}
    assert rows["odd"].endswith("unknown origin       Does in each call what the test wants.")
    assert "broken: the adapter \"missing\" cannot be imported: No module named 'no_such_module'" in rows["missing"]
    assert 'broken: the adapter "number" is not a subclass' in rows["number"]
    assert "broken: it ends the program when it is imported, with 'no driver'" in rows["quitter"]
    assert "broken: another distribution has an adapter of this name" in rows["twin"]
    assert "broken" not in rows["simulated"]


def test_info_shows_every_setting_with_type_default_and_meaning():
    shown = run("info", "simulated")
    assert shown.exit_code == 0
    text = " ".join(shown.stdout.split())
    assert 'problem name of the test problem (text; default "sasena")' in text
    assert "seconds_per_trial how long a trial takes (number, at least 0, at most 86400; default 0.0)" in text
    assert "(path; default none)" in text


def test_info_shows_tables_within_tables():
    text = " ".join(run("info", "mqtt").stdout.split())
    assert "tls.ca_file certificates to trust" in text
    assert "interlocks.NAME.topic where the machine tells it" in text
    assert 'result_words.valid words for a part (list of text, not empty; default ["1", "true", "OK"])' in text
    assert "qos quality of service of all messages (one of 0, 1, 2; default 1)" in text
    assert "(text; required)" in text


def test_info_of_an_adapter_without_settings_says_so(odd):
    shown = run("info", "odd")
    assert shown.stdout == "odd (unknown origin)\nDoes in each call what the test wants.\n\nIt has no settings.\n"


@pytest.mark.parametrize("name", [point.name for point in entry_points(group=GROUP)])
def test_info_works_for_every_adapter_that_comes_with_tuner(name):
    shown = run("info", name)
    assert shown.exit_code == 0, shown.output
    assert "[campaign.adapter.settings]" in shown.stdout


@pytest.mark.parametrize("command", ["info", "check"])
def test_an_unknown_adapter_is_wrong_usage_and_names_the_nearest(command):
    shown = run(command, "simulate", *(["--config", SASENA] if command == "check" else []))
    assert shown.exit_code == 2
    assert 'no adapter "simulate" is installed; did you mean "simulated"?' in " ".join(shown.stderr.split())


def test_a_broken_adapter_is_a_failure_with_its_reason(odd):
    shown = run("info", "missing")
    assert (shown.exit_code, shown.stdout) == (1, "")
    assert "cannot be imported" in shown.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["check", "simulated", "--config", "missing.toml"], 78, "missing.toml:1: file: does not exist"),
        (["check", "command", "--config", SASENA], 2, 'uses the adapter "command"; used: "simulated"'),
        (["check", "simulated", "--config", SASENA, "--campaign", "x"], 2, 'has no campaign "x"; it has "sasena"'),
        (["check", "simulated", "--config", SASENA, "--deadline-s", "0"], 2, "0<x<=3600"),
        (["new", "Oven"], 2, '"Oven" is not a name for an adapter'),
        (["new", "my-oven"], 2, "is not a name for an adapter"),
        (["new", "oven_"], 2, "is not a name for an adapter"),
        (["new", "../oven"], 2, "is not a name for an adapter"),
        (["new", "x" * 41], 2, "is not a name for an adapter"),
        (["new", "simulated"], 2, 'an adapter "simulated" is already installed'),
        (["new", "oven", str(ROOT)], 2, "exists and is not an empty directory"),
        (["new", "oven", SASENA], 2, "exists and is not an empty directory"),
        (["explode"], 2, "No such command 'explode'"),
    ],
)
def test_bad_input_is_answered_with_a_sentence_and_the_right_exit_code(arguments, code, sentence):
    shown = run(*arguments)
    assert shown.exit_code == code
    assert sentence.replace(" ", "") in "".join(shown.stderr.split())


def test_names_of_adapters_are_completed():
    context = adapters_cli.info.make_context("info", ["simulated"])
    offered = adapters_cli.info.params[0].shell_complete(context, "sim")
    assert [item.value for item in offered] == ["simulated"]


def test_the_base_settings_have_no_keys():
    assert AdapterSettings.model_fields == {}
