"""Machines with a Siemens S7 controller: settings, parts, maps, and what stands in the way of a first contact."""

import json
import struct
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from adapters.s7 import S7Adapter
from adapters.s7.block_map import S7Connection, S7Settings, Spot
from tests.adapters.helpers import GOOD, PARAMETERS, PressConformance
from tests.adapters.s7.moulding_machine import made_from, table
from tests.patience import PATIENT_S
from tuner.adapter import LinkError, RefusedError
from tuner.config import load_config
from tuner.config.plugins import AdapterNotFoundError, load_adapter
from tuner.handshake import tag_number


class TestConformance(PressConformance):
    adapter = S7Adapter
    parameters = PARAMETERS

    @pytest.fixture
    def settings(self, press):
        return S7Settings.model_validate_json(json.dumps({**table(), "port": press.port, "timeout_s": 0.5}))


def test_it_is_found_by_its_entry_point():
    assert load_adapter("s7") is S7Adapter


def test_without_its_library_it_says_which_extra_to_install(monkeypatch):
    for module in ("adapters.s7", "adapters.s7.adapter", "adapters.s7.link"):
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "snap7.client", None)
    with pytest.raises(AdapterNotFoundError, match=r'needs python-snap7: pip install "process-tuner\[s7\]"'):
        load_adapter("s7")


def test_the_sample_configuration_is_right():
    config = load_config(Path(__file__).parents[3] / "configs" / "s7.toml")
    assert config.campaigns[0].adapter.settings.parameters["melt_temperature"].scale == 0.1


def test_a_setting_is_written_in_the_types_of_the_block_and_parts_are_made_once(adapters, press):
    adapter = adapters()
    adapter.apply(GOOD, PATIENT_S)
    assert struct.unpack(">h2xfH2xB", press.db[:13]) == (2305, 81.25, 400, 2)
    assert adapter.read_back(PATIENT_S) == GOOD
    for tag in ("A1", "A2", "A2"):
        outcome = adapter.run_trial(tag, PATIENT_S)
        assert (outcome.valid, outcome.measurements) == (True, {"weight_g": 42.5})
    adapter.apply({**GOOD, "temperature": 260.0}, PATIENT_S)
    assert adapter.run_trial("A3", PATIENT_S).reason == "short shot"
    assert press.parts == ["A1", "A2", "A3"]


@pytest.mark.parametrize("way", ["single", "rewrite"])
def test_a_bit_is_written_without_its_neighbours(adapters, press, way):
    press.db[20] = 0b1010_0000
    assert adapters(bit_writes=way).run_trial("A1", PATIENT_S).valid
    assert press.db[20] == 0b1010_0001


def test_a_tag_is_a_number_where_its_place_is_one(adapters, press):
    adapter = adapters(trial__tag={"address": "DB5.DBD70", "type": "DINT"})
    assert adapter.run_trial("abcdef-P1", PATIENT_S).valid
    assert struct.unpack(">i", press.db[70:74])[0] == tag_number("abcdef-P1", 32)


def test_every_place_is_looked_at_and_what_is_wrong_is_told_with_the_next_step(adapters):
    assert [row for row in adapters().inspect(PATIENT_S) if not row.ok] == []
    bad = adapters(trial__busy={"address": "DB6.DBX0.0"}, trial__made={"address": "DB5.DBW300"}).inspect(PATIENT_S)
    texts = {row.name: row.text for row in bad if not row.ok}
    assert list(texts) == ["trial.busy", "trial.made"]
    assert "optimized block access: switch that off" in texts["trial.busy"]
    assert "beyond the end of the block" in texts["trial.made"]


def test_browsing_lists_the_data_blocks(press):
    found = S7Adapter.browse(S7Connection(host="127.0.0.1", port=press.port), PATIENT_S)
    assert [(row.where, row.kind) for row in found] == [("DB5", "data block")]


def test_a_port_where_nobody_listens_is_told():
    with pytest.raises(LinkError, match="nothing listens on its port 1: look whether the port is right"):
        made_from(1).open(5.0)


def test_a_string_that_is_none_is_nonsense(adapters, press):
    press.db[31] = 99
    with pytest.raises(LinkError, match="holds no STRING of up to 16 letters"):
        adapters().run_trial("A1", PATIENT_S)


@pytest.mark.parametrize(
    ("text", "spot"),
    [
        ("DB5.DBX0.3", Spot("DB", 5, 0, 3)),
        ("db12.dbw4", Spot("DB", 12, 4, None)),
        ("MW20", Spot("M", 0, 20, None)),
        ("E0.1", Spot("I", 0, 0, 1)),
    ],
)
def test_addresses_are_written_as_in_the_engineering_software(text, spot):
    assert Spot.parsed(text) == spot


@pytest.mark.parametrize(
    "place",
    [
        {"address": "DB5.DBD4"},
        {"address": "DB5.DBX4"},
        {"address": "DB5.DBW4.1"},
        {"address": "DB5.DBW4", "type": "REAL"},
        {"address": "DB5.DBX4.1", "type": "INT"},
        {"address": "DB5.DBB4", "type": "STRING"},
        {"address": "Speed"},
    ],
)
def test_places_that_make_no_sense_are_not_accepted(place):
    with pytest.raises(ValidationError):
        S7Settings.model_validate_json(json.dumps(table(parameters__speed=place)))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"parameters__cooling__codes": {"water": 1, "oil": 300}}, "parameters.cooling: the code 300 does not fit"),
        ({"parameters__speed": {"address": "DB5.DBW4"}}, "parameters.speed: INT has steps of 1, the tolerance"),
        ({"parameters__pressure__scale": 0.001}, "parameters.pressure: 200 to 700 is 200000 to 700000 in the machine"),
        ({"trial__start": {"address": "I0.1"}}, "trial.start cannot be written: I0.1 is an input"),
        ({"trial__start": {"address": "DB5.DBX5.0"}}, "trial.start and parameters.speed are both written"),
    ],
)
def test_a_map_that_does_not_fit_is_complained_about(changes, sentence):
    settings = S7Settings.model_validate_json(json.dumps(table(**changes)))
    found = S7Adapter.complaints(settings, PARAMETERS)
    assert len(found) == 1
    assert found[0].startswith(sentence)


def test_what_does_not_fit_its_type_is_refused_before_anything_is_written(adapters, press):
    adapter = adapters()
    with pytest.raises(RefusedError, match="does not fit into INT"):
        adapter._write(
            [
                ("pressure", adapter.settings.parameters["pressure"], 1),
                ("t", adapter.settings.parameters["temperature"], 1e9),
            ]
        )
    assert press.db[8:10] == b"\0\0"
