"""What `tuner config explain` prints can be copied: each example is taken by what reads it, of keys and of tables."""

import json
import tomllib

import pytest
from click.testing import CliRunner
from pydantic import ValidationError

from tuner.cli.main import cli
from tuner.setup.keys import SETTINGS, all_keys, all_tables

# what a key cannot be without, by the model that reads it; the model says so in a sentence of its own
COMPANIONS = {
    ("Daemon", "requests"): 'events = "tcp://10.0.0.5:5602"',
    ("Daemon", "events"): 'requests = "tcp://10.0.0.5:5601"',
    ("LineSettings", "secret_key"): 'controller_keys = ["controller.key"]',
    ("LineSettings", "controller_keys"): 'secret_key = "line.key_secret"',
    ("modbus", "length"): 'type = "text"',
    ("s7", "length"): 'type = "STRING"\naddress = "DB5.DBB20"',
    ("Start", "method"): 'object = "ns=2;s=Press"',
    ("Start", "object"): 'method = "ns=2;s=Press.MakePart"',
    ("Start", "pass_tag"): 'method = "ns=2;s=Press.MakePart"\nobject = "ns=2;s=Press"',
}
# models of which one of several keys must be there
ONE_OF = {"Notify": ("webhook", "command", "mqtt"), "Start": ("node", "method"), "TagRegisters": ("type", "length")}


def explain(*words):
    return CliRunner().invoke(cli, ["config", "explain", *words])


def whole(table, key):
    """A table with a key's example, what must be there, and what the key cannot be without."""
    examples = {one.name: tomllib.loads(one.example) for one in table.keys}
    told = {}
    for one in table.keys:
        if one.default is None:
            told |= examples[one.name]
    told |= examples[key.name]
    model = table.model.__name__
    if (model, key.name) != ("TagRegisters", "length"):  # of a tag a length alone says that it is a text
        for names in ((model, key.name), (key.owner, key.name)):
            told |= tomllib.loads(COMPANIONS.get(names, ""))
    if model in ONE_OF and not set(ONE_OF[model]) & set(told):
        told |= examples[ONE_OF[model][0]]
    return told


def complaints(table, told):
    """What the model says, but that tables below are not there."""
    below = {heading.strip("[]").removeprefix(f"{table.path}.").split(".")[0] for heading in table.below} | {"settings"}
    try:
        table.model.model_validate_json(json.dumps(told))
    except ValidationError as error:
        return [one["msg"] for one in error.errors() if not one["loc"] or one["loc"][0] not in below]
    return []


def test_every_example_that_is_printed_is_taken_by_what_reads_it():
    said = [(t.owner, key.example, complaints(t, whole(t, key))) for t in all_tables() for key in t.keys]
    assert [one for one in said if one[2]] == []
    assert len(said) > 250


def test_no_example_is_a_row_of_dots():
    assert [key.path for key in all_keys() if '"..."' in key.example] == []


def test_the_example_of_a_table_is_the_table_with_what_must_be_in_it():
    for table in all_tables():
        if table.heading and table.keys and table.model.__name__ not in ONE_OF:
            inner = tomllib.loads("\n".join(table.example))
            for step in table.path.split("."):
                inner = inner[step][0] if isinstance(inner[step], list) else inner[step]
            assert complaints(table, inner) == [], table


@pytest.mark.parametrize("asked", ["campaign.scrap", "[campaign.scrap]"])
def test_a_table_is_explained_with_its_keys_and_an_example(asked):
    shown = explain(asked)
    assert shown.exit_code == 0, shown.output
    lines = shown.stdout.splitlines()
    assert lines[0] == "campaign.scrap  the table [campaign.scrap]"
    assert lines[-3:] == ["  example:", "    [campaign.scrap]", "    rate = 0.05"]
    assert [line.split(":")[0].strip() for line in lines[4:8]] == ["rate", "budget", "strictness", "confidence"]


def test_every_table_is_explained_by_its_heading():
    for heading, owner in {(table.heading, table.owner) for table in all_tables() if table.heading}:
        shown = explain(f"{owner}.{heading.strip('[]')}" if SETTINGS in heading else heading)
        assert shown.exit_code == 0, (heading, owner, shown.output)
        assert f"the table {heading}" in shown.stdout


def test_a_word_that_is_a_table_and_a_key_is_explained_as_both():
    shown = explain("scrap").stdout
    assert "the table [campaign.scrap]" in shown
    assert "campaign.budget.scrap  in [campaign.budget]" in shown
    assert "1 table and 1 key with this name" in shown


def test_the_list_has_the_tables_too_and_an_adapters_name_alone_is_its_table():
    assert "[campaign.scrap]: How much scrap is agreed" in explain().stdout
    assert "the table [campaign.adapter.settings], modbus" in explain("modbus").stdout
