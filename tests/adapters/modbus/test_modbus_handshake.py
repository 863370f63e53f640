"""Handshakes of real PLCs over Modbus: control words, recipes, heartbeats, counters, tags as numbers, texts."""

import json

import pytest
from pymodbus.constants import ExcCodes

from adapters.modbus import ModbusAdapter
from adapters.modbus.adapter import connected
from adapters.modbus.ranges import readable
from tests.adapters.helpers import GOOD, PARAMETERS, wait_until
from tests.adapters.modbus.moulding_machine import made_from, table
from tests.patience import PATIENT_S
from tuner.adapter import DeadlineError, LinkError, RefusedError
from tuner.handshake import tag_number

CONTROL, STATUS, ORDER, MADE, COUNT, BEAT, PULSE, TAKEN, REFUSED = 50, 51, 52, 53, 54, 55, 56, 57, 58
OTHERS = 0b1000_0000_0001_0000  # bits of the control word that belong to others


def control_word(press):
    """The press starts on bit 2 of its control word, shows bit 5 of its status word, and counts its parts."""
    press.memory["holding"][CONTROL] = OTHERS

    def program(name, address):
        if (name, address) != ("holding", CONTROL):
            return
        on, status = press.memory["holding"][CONTROL] >> 2 & 1, press.memory["holding"][STATUS]
        if on and not status >> 5 & 1:
            press.parts.append(press.memory["holding"][ORDER])
            press.memory["holding"][MADE] = press.memory["holding"][ORDER]
            press.memory["holding"][COUNT] += 1
            press.memory["discrete"][1] = 1
            press.memory["holding"][STATUS] |= 1 << 5
        if not on:
            press.memory["holding"][STATUS] &= ~(1 << 5)

    press.program = program


WORDS = {
    "trial__start": {"address": CONTROL, "bit": 2},
    "trial__done": {"address": STATUS, "bit": 5},
    "trial__tag": {"address": ORDER, "type": "uint16"},
    "trial__made": {"address": MADE, "type": "uint16"},
}


@pytest.mark.parametrize("way", ["rewrite", "mask"])
def test_a_bit_of_a_control_word_starts_a_part_and_its_neighbours_stay_as_they_are(adapters, press, way):
    control_word(press)
    adapter = adapters(**WORDS, bit_writes=way)
    for tag in ("abcdef-P1", "abcdef-P2", "abcdef-P2"):
        assert adapter.run_trial(tag, PATIENT_S).valid
    assert press.parts == [tag_number("abcdef-P1", 16), tag_number("abcdef-P2", 16)]
    assert press.memory["holding"][CONTROL] == OTHERS | 1 << 2
    assert (22 in press.functions) == (way == "mask")


def test_a_part_counter_tells_that_a_part_is_finished_where_there_is_no_done(adapters, press):
    control_word(press)
    adapter = adapters(
        trial__start=WORDS["trial__start"], trial__done=None, trial__tag=None, trial__count={"address": COUNT}
    )
    press.memory["holding"][COUNT] = 41
    for tag in ("A1", "A2"):
        press.memory["holding"][STATUS] = 0
        assert adapter.run_trial(tag, PATIENT_S).valid
    assert press.memory["holding"][COUNT] == 43


def test_the_recipe_is_said_to_be_valid_after_the_last_value_and_taken_back_when_the_machine_has_it(adapters, press):
    writes = []

    def program(name, address):
        writes.append(address)
        press.memory["holding"][TAKEN] = press.memory["holding"][PULSE]

    press.program = program
    adapter = adapters(recipe={"valid": {"address": PULSE}, "taken": {"address": TAKEN, "on": 1}})
    adapter.apply(GOOD, PATIENT_S)
    assert writes == [PULSE, 100, 102, 104, 106, PULSE, PULSE]
    assert press.memory["holding"][PULSE] == 0


def test_a_machine_that_clears_the_sign_itself_is_waited_for(adapters, press):
    def program(name, address):
        if press.memory["holding"][PULSE] and address == PULSE:
            press.memory["holding"][PULSE] = 0

    press.program = program
    adapters(recipe={"valid": {"address": PULSE}, "clears": True}).apply(GOOD, PATIENT_S)


def test_a_recipe_that_is_not_taken_is_withdrawn_at_the_deadline(hurried, press):
    adapter = hurried(recipe={"valid": {"address": PULSE}, "taken": {"address": TAKEN}})
    with pytest.raises(DeadlineError, match="did not take the setting within 20 s"):
        adapter.apply(GOOD, 20.0)
    assert press.memory["holding"][PULSE] == 0


def test_a_recipe_that_is_refused_is_withdrawn_with_the_machines_reason(adapters, press):
    press.memory["holding"][REFUSED] = 7
    recipe = {"valid": {"address": PULSE}, "taken": {"address": TAKEN}}
    adapter = adapters(recipe={**recipe, "refused": {"address": REFUSED, "codes": {"7": "too hot for this mould"}}})
    with pytest.raises(RefusedError, match="does not take the setting: too hot for this mould"):
        adapter.apply(GOOD, PATIENT_S)
    assert press.memory["holding"][PULSE] == 0


def test_the_heartbeat_goes_on_while_nobody_calls(adapters, press):
    beats = []
    press.program = lambda name, address: beats.append(press.memory["holding"][BEAT]) if address == BEAT else None
    adapter = adapters(heartbeat={"write": {"address": BEAT}, "every_s": 0.01})
    wait_until(lambda: len(beats) >= 4)
    assert beats[:4] == [1, 0, 1, 0]
    adapter.apply(GOOD, PATIENT_S)  # and does not disturb a call
    assert adapter.read_back(PATIENT_S)["pressure"] == 400


def test_a_machine_whose_own_heartbeat_stands_still_has_stopped(adapters, press):
    heartbeat = {"watch": {"address": BEAT}, "every_s": 0.005, "silent_s": 0.05}
    adapter = adapters(heartbeat=heartbeat)

    def stopped():
        try:
            adapter.read_back(PATIENT_S)
        except LinkError as error:
            return "its heartbeat has stood still" in str(error) and "in RUN" in str(error)
        return False

    wait_until(stopped)


def test_a_choice_can_be_a_text_in_registers(adapters, press):
    adapter = adapters(parameters__cooling={"address": 60, "type": "text", "length": 4})
    adapter.apply(GOOD, PATIENT_S)
    assert press.text(60, 4) == "oil"
    assert adapter.read_back(PATIENT_S)["cooling"] == "oil"


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"trial__done": None}, "trial needs done, made or count"),
        ({"recipe": {"valid": {"address": 1}, "taken": {"address": 2}, "clears": True}}, "recipe has taken and clears"),
        ({"heartbeat": {}}, "heartbeat needs write, watch or both"),
        ({"trial__start": {"address": 100, "bit": 0}}, "trial.start and parameters.temperature are both written"),
        ({"heartbeat": {"write": {"address": 104}}}, "heartbeat.write and parameters.pressure are both written"),
        (
            {"parameters__cooling": {"address": 60, "type": "text", "length": 1}},
            "parameters.cooling: its text has room",
        ),
    ],
)
def test_a_handshake_that_cannot_work_is_complained_about(changes, sentence):
    settings = ModbusAdapter.Settings.model_validate_json(json.dumps(table(**changes)))
    found = ModbusAdapter.complaints(settings, PARAMETERS)
    assert len(found) == 1
    assert found[0].startswith(sentence)


@pytest.fixture
def cooled(press):
    """A press that has a setting."""
    press.memory["holding"][106] = 1
    return press


def test_every_register_of_the_handshake_is_looked_at_and_nothing_is_written(adapters, cooled):
    press = cooled
    control_word(press)
    found = adapters(**WORDS).inspect(PATIENT_S)
    assert all(row.ok for row in found), [row for row in found if not row.ok]
    rows = {row.name: row for row in found}
    assert rows["trial.start"].where == f"holding {CONTROL} bit 2"
    assert "written by function 6" in rows["trial.start"].text
    assert set(rows) >= {"parameters.pressure read back", "trial.made", "state.alarm", "interlocks.guard"}
    assert press.functions == []


@pytest.mark.parametrize(
    "key", ["trial__start", "trial__done", "trial__valid", "trial__reason", "trial__busy", "trial__tag", "trial__made"]
)
def test_an_illegal_address_anywhere_in_the_handshake_is_found(adapters, cooled, key):
    place = {"address": 999, "length": 8} if key in ("trial__tag", "trial__made") else {"address": 999}
    bad = [row for row in adapters(**{key: place}).inspect(PATIENT_S) if not row.ok]
    assert key.replace("__", ".") in [row.name for row in bad]
    assert all("illegal address: look into its register list" in row.text or row.name == "trial.tag" for row in bad)


def test_a_tag_that_has_no_room_is_found(adapters, cooled):
    bad = {row.name: row.text for row in adapters().inspect(PATIENT_S) if not row.ok}
    assert bad == {"trial.tag": 'trial.tag has room for 8 characters, not for "abcdef-A1000"'}


@pytest.mark.slow
def test_browsing_finds_the_ranges_that_can_be_read(plant, press):
    press.memory["holding"][104] = 400
    press.refused["input", 0] = ExcCodes.ILLEGAL_ADDRESS
    found = ModbusAdapter.browse(ModbusAdapter.Connection(host="127.0.0.1", port=plant.port), PATIENT_S)
    ranges = {row.where: row for row in found}
    assert ranges["holding 0 to 199"].access == "read, write"
    assert "104=400" in ranges["holding 0 to 199"].value
    assert "input 1 to 199" in ranges
    assert ranges["discrete 0 to 199"].value == "8=1"


class FewLooks:
    """A deadline that is over after some looks at it."""

    def __init__(self, looks):
        self.looks = looks

    def left_s(self):
        self.looks -= 1
        return max(0, self.looks)


def test_browsing_says_which_addresses_it_had_no_time_for(plant):
    client = connected(ModbusAdapter.Connection(host="127.0.0.1", port=plant.port), PATIENT_S)
    try:
        for looks in (1, 2):
            missed = [row.where for row in readable(client, 1, FewLooks(looks)) if not row.looked_at]
            begun = 100 * (looks - 1)
            assert missed == [f"holding {begun} to 1999", "input 0 to 1999", "coil 0 to 1999", "discrete 0 to 1999"]
    finally:
        client.close()


def test_a_port_that_wants_tls_and_one_where_nobody_listens_are_told_apart(plant):
    plant.off()
    with pytest.raises(LinkError, match="nothing listens on its port"):
        made_from(plant.port).open(PATIENT_S)
    plant.on()
