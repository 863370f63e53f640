"""The library can be discovered: names, signatures, words and types are where an editor and `help` look for them."""

import inspect
import os
import pydoc
import subprocess
import sys
from pathlib import Path

import pytest

import tuner
import tuner.core
from tuner.wire import calls
from tuner.wire.asks import Asks
from tuner.wire.calls import Call
from tuner.wire.client import AsyncClient, Client
from tuner.wire.ops import OPS

ROOT = Path(__file__).parents[1]
FUNCTIONS = {
    name: function
    for name, function in vars(calls).items()
    if inspect.isfunction(function) and function.__module__ == calls.__name__ and not name.startswith("_")
}
VALUES = {"campaign": "press", "config": "text", "setting": None, "valid": True, "reason": "why", "lot": "L1"}


def called(function) -> Call:
    """The request that a function makes of plausible arguments."""
    needed = {name: VALUES.get(name, 1) for name in inspect.signature(function).parameters}
    return function(**needed)


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


def test_every_operation_of_the_wire_is_one_function_and_one_method_of_both_clients():
    made = {name: called(function) for name, function in FUNCTIONS.items()}
    assert sorted(call.op for call in made.values()) == sorted(OPS)
    assert [name for name in vars(Asks) if not name.startswith("_")] == list(FUNCTIONS)
    assert all(call.answer is OPS[call.op].answer for call in made.values())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_operation_has_the_arguments_of_its_body_and_a_word_for_each(name):
    function = FUNCTIONS[name]
    op = OPS[called(function).op]
    parameters = dict(inspect.signature(function).parameters)
    assert ("campaign" in parameters) == op.campaign
    parameters.pop("campaign", None)
    fields = {} if name == "hello" else op.body.model_fields  # the client's own version is what it says
    assert list(parameters) == list(fields)
    for one, field in fields.items():
        assert (parameters[one].default is inspect.Parameter.empty) == field.is_required(), one
        assert field.is_required() or parameters[one].default == field.default, one
        assert f"        {one}: " in function.__doc__


@pytest.mark.parametrize("client", [Client, AsyncClient])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_method_shows_the_arguments_and_the_words_of_its_operation(client, name):
    method, function = getattr(client, name), FUNCTIONS[name]
    shown, meant = inspect.signature(method), inspect.signature(function)
    assert list(shown.parameters.values())[1:] == list(meant.parameters.values())
    assert shown.return_annotation is called(function).answer
    assert inspect.getdoc(method) == inspect.getdoc(function)
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
