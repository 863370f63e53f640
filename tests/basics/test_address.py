"""Two names of one place are the same text, and nobody is asked for it."""

import json
import socket

import pytest

from tuner.basics.address import endpoint_address, host_address, same_host, shared
from tuner.config.plugins import load_adapter

HEAT = {"node": "ns=2;s=Press.Heat"}
OPCUA = {"parameters": {"heat": HEAT}, "trial": {"start": {"node": "s=Start"}, "done": {"node": "s=Done"}}}
REGISTERS = {"parameters": {"heat": {"address": 1}}, "trial": {"start": {"address": 2}, "done": {"address": 3}}}


@pytest.mark.parametrize(
    "name",
    ["localhost", "LOCALHOST.", "127.0.0.1", "127.8.9.1", "127.1", "2130706433", "0x7f000001", "::1", "[::1]",
     "0.0.0.0",  # noqa: S104 - a name, nothing is bound
     "*", "::", "::ffff:127.0.0.1", "press.localhost", socket.gethostname()],
)  # fmt: skip
def test_this_host_has_one_name(name):
    assert same_host(name) == "localhost"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Press3.Plant.", "press3.plant"),
        ("10.0.0.7", "::ffff:10.0.0.7"),
        ("10.0.0.7", "10.7"),
        ("FD00::1", "fd00:0::1"),
    ],
)
def test_a_host_is_the_same_however_it_is_written(one, other):
    assert same_host(one) == same_host(other) != "localhost"


def test_an_endpoint_is_its_host_and_port():
    assert endpoint_address("opc.tcp://Press:4840/ua/", 4840) == endpoint_address("opc.tcp://press", 4840)
    assert endpoint_address("tcp://[::1]:5", 0) == host_address("127.0.0.1", 5)


def test_a_whole_place_collides_with_its_parts_and_parts_only_with_what_is_within_them():
    whole, part = host_address("press", 502), host_address("press", 502, 1)
    assert shared([whole], [part]) == whole
    assert shared([part], [whole]) == part
    assert shared([part], [host_address("press", 502, 12)]) is None
    assert shared([host_address("b", 1883, "press/set")], [host_address("b", 1883, "press/set/heat")])
    assert shared([whole], [host_address("press", 5020)]) is None
    assert shared([], []) is None


def occupied(name, **settings):
    kind = load_adapter(name)
    return kind.occupies(kind.Settings.model_validate_json(json.dumps(settings)))


def test_adapters_tell_where_their_machine_is_whatever_it_is_called(tmp_path):
    link, device = tmp_path / "link", tmp_path / "ttyUSB0"
    link.symlink_to(device)
    program = {"argv": ["python3", "machine.py"], "directory": str(tmp_path)}
    same = [
        ("modbus", {**REGISTERS, "host": "localhost"}, {**REGISTERS, "host": "127.0.0.1", "port": 502}),
        ("modbus", {**REGISTERS, "serial": {"port": str(link)}}, {**REGISTERS, "serial": {"port": str(device)}}),
        ("modbus", {**REGISTERS, "host": "a", "unit_id": 0}, {**REGISTERS, "host": "a", "unit_id": 255}),
        ("opcua", {**OPCUA, "endpoint": "opc.tcp://press"}, {**OPCUA, "endpoint": "opc.tcp://PRESS:4840/x"}),
        ("opcua", {**OPCUA, "endpoint": "opc.tcp://press"},
         {**OPCUA, "endpoint": "opc.tcp://press", "parameters": {"x": {"node": "nsu=urn:x;s=Press.Heat"}}}),
        ("serial", {"port": str(link)}, {"port": str(device)}),
        ("serial", {"port": "socket://localhost:7000"}, {"port": "socket://127.0.0.1:7000/"}),
        ("mqtt", {"set": "p/set/{name}", "actual": "p/is/{name}", "trigger": "p/go", "result": "p/done"},
         {"host": "127.0.0.1", "port": 1883, "set": "p/set/heat", "actual": "p/i", "trigger": "q", "result": "r"}),
        ("line", {"mode": "connect", "address": "tcp://localhost:5", "insecure": True},
         {"mode": "listen", "address": "tcp://*:5", "insecure": True}),
        ("line", {"mode": "listen", "address": f"ipc://{link}"}, {"mode": "listen", "address": f"ipc://{device}"}),
        ("command", program, {**program, "stop_s": 2.0}),
        ("simulated", {"memory": str(link)}, {"memory": str(device)}),
    ]  # fmt: skip
    for name, one, other in same:
        assert shared(occupied(name, **one), occupied(name, **other)), name


def test_machines_behind_one_broker_server_gateway_or_script_are_apart():
    apart = [
        ("modbus", {**REGISTERS, "host": "gateway", "unit_id": 1}, {**REGISTERS, "host": "gateway", "unit_id": 2}),
        ("opcua", {**OPCUA, "endpoint": "opc.tcp://line"},
         {"endpoint": "opc.tcp://line", "parameters": {"heat": {"node": "ns=2;s=Oven.Heat"}},
          "trial": {"start": {"node": "s=StartOven"}, "done": {"node": "s=Done"}}}),
        ("mqtt", {"set": "p/set", "actual": "p/is", "trigger": "p/go", "result": "p/done"},
         {"set": "q/set", "actual": "q/is", "trigger": "q/go", "result": "q/done"}),
        ("command", {"argv": ["true", "press1"]}, {"argv": ["true", "press2"]}),
        ("command", {"argv": ["true"]}, {"argv": ["true"], "environment": {"MACHINE": "2"}}),
        ("simulated", {}, {}),
    ]  # fmt: skip
    for name, one, other in apart:
        assert shared(occupied(name, **one), occupied(name, **other)) is None, name


def test_a_line_and_a_device_on_it_collide_across_protocols(tmp_path):
    port = str(tmp_path / "ttyS0")
    assert shared(occupied("serial", port=port), occupied("modbus", **REGISTERS, serial={"port": port}))
