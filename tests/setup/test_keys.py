import json
import tomllib
from itertools import groupby

import pytest
from click.testing import CliRunner
from pydantic import TypeAdapter

from scripts.config_page import PAGE, page
from tests.docs.documents import ROOT
from tuner.cli.main import cli
from tuner.config import Config, parse_config
from tuner.setup.keys import SEE_ALSO, SETTINGS, all_keys, core_keys


def explain(*words):
    return CliRunner().invoke(cli, ["config", "explain", *words])


def test_the_page_on_configuration_is_what_the_models_say():
    assert page() == PAGE.read_text(), "run `python -m scripts.config_page`"


def test_every_key_has_a_type_and_a_meaning_and_an_example_that_is_toml():
    for key in all_keys():
        assert key.kind, key
        assert key.meaning, f"{key.path} of {key.owner} has no description"
        assert key.name in tomllib.loads(key.example)


def used(table, path=""):
    """The dotted keys that a parsed file has."""
    for name, value in table.items():
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, dict):
                yield from used(one, f"{path}{name}.")
            else:
                yield f"{path}{name}"


@pytest.mark.parametrize("file", sorted(ROOT.glob("configs/*.toml")), ids=lambda file: file.name)
def test_every_key_of_a_shipped_configuration_is_explained(file):
    table = tomllib.loads(file.read_text())
    known = {key.path for key in all_keys()}
    unknown = {path for path in used(table) if path not in known and not path.startswith(SETTINGS)}
    assert unknown == set()


def test_the_examples_of_each_table_are_accepted_together():
    groups = {group: list(keys) for group, keys in groupby(core_keys(), lambda key: (key.table, key.owner))}

    def text(table, owner="", *, leave=()):
        rows = [key.example for key in groups[table, owner] if key.name not in leave]
        return "\n".join([table, *rows, ""])

    kinds = [owner for table, owner in groups if table == "[[campaign.parameter]]"]
    assert kinds == ["continuous", "integer", "stepped", "choice"]
    names = {"continuous": "pressure", "integer": "strokes", "stepped": "speed", "choice": "nozzle"}
    parameters = [
        text("[[campaign.parameter]]", kind).replace('name = "pressure"', f'name = "{names[kind]}"') for kind in kinds
    ]
    tables = [
        text("[daemon]").replace("state_directory", "# state_directory"),
        text("[daemon.log]"),
        text("[compute]"),
        text("[[campaign]]"),
        text("[campaign.budget]"),
        text("[campaign.scrap]"),
        text("[campaign.policy]"),
        text("[campaign.policy.questions]"),
        text("[campaign.policy.waiting]"),
        '[campaign.adapter]\nname = "line"\n[campaign.adapter.settings]\nmode = "listen"\naddress = "ipc:///run/tuner/line"\n',
        text("[campaign.adapter.deadlines]"),
        *parameters,
    ]
    config = parse_config("\n".join(tables).replace("<= 140", "<= 1400"), "examples")
    assert len(config.campaigns[0].parameters) == 4


def test_a_key_is_explained_by_its_name_alone_or_with_its_tables():
    for asked in ("champion_reduel_hours", "policy.champion_reduel_hours", "campaign.policy.champion_reduel_hours"):
        shown = explain(asked)
        assert shown.exit_code == 0, shown.output
        assert shown.stdout.splitlines() == [
            "campaign.policy.champion_reduel_hours  in [campaign.policy]",
            "  hours between re-checks of the champion",
            "  type: number, more than 0; unit: h",
            "  default: none",
            "  example: champion_reduel_hours = 8.0",
        ]


def test_an_adapter_s_own_key_is_explained_and_named_with_the_adapter():
    assert "in [campaign.adapter.settings], modbus" in explain("modbus.unit_id").stdout
    assert "in [campaign.adapter.settings.parameters.NAME], opcua" in explain("opcua.node").stdout
    assert "modbus" not in explain("opcua.poll_interval_s").stdout


def test_a_key_that_is_not_there_is_answered_with_the_nearest():
    shown = explain("trails")
    assert shown.exit_code == 2
    assert 'there is no key or table "trails"; did you mean "trials"?' in shown.stderr


def test_the_defaults_that_are_told_are_the_models():
    told = {key.path: key.default for key in core_keys() if key.default not in (None, "none")}
    made = Config.model_construct().model_dump(mode="json", include={"daemon", "compute"}, exclude_none=True)
    flat = dict(_flat(json.loads(TypeAdapter(dict).dump_json(made))))
    assert {path: json.dumps(value) for path, value in flat.items()} == {
        path: default for path, default in told.items() if path.startswith(("daemon", "compute"))
    }


def _flat(table, path=""):
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{path}{name}.")
        else:
            yield f"{path}{name}", value


def test_a_key_names_those_that_mean_nearly_the_same():
    assert "see also: resolution" in explain("step").stdout
    known = {one.name for one in core_keys()}
    assert set(SEE_ALSO) | {name for names in SEE_ALSO.values() for name in names} <= known
