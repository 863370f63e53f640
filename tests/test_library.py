"""The library can be discovered: names, signatures, words and types are where an editor and `help` look for them."""

import inspect
import os
import pydoc
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

import tuner
import tuner.core
from tuner.campaign import events, people
from tuner.wire.client import AsyncClient, Client
from tuner.wire.operation import Call
from tuner.wire.operations import OPS, Operations

ROOT = Path(__file__).parents[1]
METHODS = {row.method: row for row in OPS.values()}
VALUES = {
    "campaign": "press",
    "config": "text",
    "setting": None,
    "valid": True,
    "clearly": True,
    "reason": "why",
    "lot": "L1",
    "source": "old.json",
    "trials": [{"setting": {"x": 1.0}, "valid": True}],
    "judgments": [],
    "discount": 0.5,
    "model": None,
    "name": "anna",
    "role": "operator",
    "language": "de",
    "pin": "4711",
    "badge": "0042",
    "disabled": True,
    "parameter": "x1",
    "options": ("a",),
    "until": "14:00",
    "more": False,
    "sessions": ["a token"],
}


def called(row) -> Call:
    """The request that a row makes of plausible arguments."""
    return row(**{name: VALUES.get(name, 1) for name in row.signature.parameters})


@pytest.mark.parametrize("package", [tuner, tuner.core])
def test_every_public_name_is_in_dir_and_can_be_had(package):
    assert set(package.__all__) <= set(dir(package))
    assert all(getattr(package, name) is not None for name in package.__all__)
    lazy = {name for name in package.__all__ if name in package._HOMES}
    assert lazy == package._HOMES.keys()


def test_help_on_the_library_shows_its_classes_with_their_words():
    text = pydoc.render_doc(tuner, renderer=pydoc.plaintext)
    for name in ("Optimizer", "Space", "Continuous", "TunerError"):
        assert f"class {name}(" in text
    assert "ask(self" in text


def test_asking_for_the_names_loads_nothing_heavy():
    code = (
        "import sys, tuner; dir(tuner); tuner.__version__; sys.exit('scipy' in sys.modules or 'numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Optimiser'"):
        _ = tuner.Optimiser


@pytest.mark.parametrize("row", OPS.values(), ids=OPS)
def test_a_row_of_the_table_makes_its_request(row):
    made = called(row)
    assert (made.op, type(made.body), made.answer, made.campaign is not None) == (
        row.name, row.body, row.answer, row.campaign,
    )  # fmt: skip
    assert getattr(Operations, row.method) is row


@pytest.mark.parametrize("row", OPS.values(), ids=OPS)
def test_an_operation_has_the_arguments_of_its_body_and_a_word_for_each(row):
    parameters = dict(row.signature.parameters)
    assert ("campaign" in parameters) == row.campaign
    parameters.pop("campaign", None)
    fields = {} if row.name == "hello" else row.body.model_fields  # the client's own version is what it says
    assert list(parameters) == list(fields)
    for one, field in fields.items():
        assert (parameters[one].default is inspect.Parameter.empty) == field.is_required(), one
        assert field.is_required() or parameters[one].default == field.default, one
        assert re.search(rf"^    {one}: [A-Z].+\.$", row.words, re.MULTILINE)


def test_an_operation_says_in_the_same_words_what_the_campaign_takes_it_for_and_makes_the_events_of_the_journal():
    known = {model.model_fields["type"].default for model in get_args(get_args(events.Event)[0])}
    for row in OPS.values():
        assert set(row.events) <= known, row.name
        if issubclass(row.body, people.CommandBase):
            assert row.about == row.body.__doc__
            assert (row.lane == "urgent") == (row.body in people.URGENT), row.name


@pytest.mark.parametrize("client", [Client, AsyncClient])
@pytest.mark.parametrize("name", METHODS)
def test_a_method_shows_the_arguments_and_the_words_of_its_operation(client, name):
    method, row = getattr(client, name), METHODS[name]
    shown = inspect.signature(method)
    assert list(shown.parameters.values())[1:] == list(row.signature.parameters.values())
    assert shown.return_annotation is row.answer
    assert inspect.getdoc(method) == row.words.strip()
    assert (method.__name__, method.__qualname__) == (name, f"{client.__name__}.{name}")
    assert inspect.iscoroutinefunction(method) == (client is AsyncClient)
    assert f" {name}{shown}" in pydoc.render_doc(client, renderer=pydoc.plaintext)


@pytest.mark.slow
def test_a_type_checker_knows_answers_and_arguments(tmp_path):
    (tmp_path / "use.py").write_text(
        """
import tuner
from tuner.wire.client import AsyncClient, Client

reveal_type(tuner.Optimizer)
reveal_type(tuner.__version__)
def use(client: Client) -> None:
    reveal_type(client.history("press", limit=3))
    client.judge("press", 1)
async def use_awaited(client: AsyncClient) -> None:
    reveal_type(await client.snapshot("press"))
    await client.hold(3)
"""
    )
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir", str(tmp_path / "cache"), "use.py"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(ROOT)},  # mypy does not look through an editable installation's hooks
    )
    for words in (
        "tuner.core.optimizer.optimizer.Optimizer",
        '"str"',
        '"tuner.wire.messages.HistoryPage"',
        "use.py:9: error: Too few arguments",
        '"tuner.wire.messages.CampaignView"',
        "use.py:12: error: Argument 1",
    ):
        assert words in checked.stdout, checked.stdout + checked.stderr


def test_a_space_and_an_optimiser_say_what_they_are_in_a_notebook():
    space = tuner.Space([tuner.Continuous("p", 0.0, 1.0), tuner.Choice("c", ["a", "b"])], ["p <= 0.9"])
    names = {name: getattr(tuner, name) for name in ("Space", "Continuous", "Choice")}
    again = eval(repr(space), names)  # noqa: S307 - it is what a reader would paste
    assert (again.parameters, again.constraints) == (space.parameters, space.constraints)
    optimizer = tuner.Optimizer(space)
    assert repr(optimizer) == "<Optimizer of p, c: 0 trials, 0 judgments, no champion yet>"
    for value in (0.2, 0.4):
        optimizer.tell_outcome(optimizer.add({"p": value, "c": "a"}), True)
    optimizer.tell_judgment(2, 1)
    assert repr(optimizer) == "<Optimizer of p, c: 2 trials, 1 judgments, champion 2>"
