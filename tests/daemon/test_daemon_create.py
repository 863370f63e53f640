"""Where campaigns come from, and that no two of them move one machine, whatever they call it."""

import signal
import subprocess
import sys

import pytest

from tests.daemon.running import CREATE, campaign_text, daemon, reached_at, until
from tests.patience import PATIENT_S
from tests.wire.counterpart import free_endpoints
from tuner.campaign.terms import AdapterTerms
from tuner.journal.security import FILE_NAME, read
from tuner.wire.client import Client
from tuner.wire.errors import RefusedReply
from tuner.wire.key_ring import KeyRing


def with_adapter(name: str, settings: str, campaign: str = "new") -> str:
    text = campaign_text(campaign, autostart=False).replace('name = "simulated"', f'name = "{name}"')
    return text.replace('problem = "sasena"', settings)


def test_nobody_creates_a_campaign_over_the_wire_unless_the_configuration_says_so():
    with daemon(campaign_text(autostart=False)) as running:
        running.start()
        with running.client() as client:
            assert client.hello().role == "engineer"
            assert "campaign.create" not in client.hello().ops
            with pytest.raises(RefusedReply, match="configuration files") as caught:
                client.create(campaign_text("new", autostart=False))
            assert caught.value.code == "not_allowed"
            assert [one.name for one in client.status().campaigns] == ["press"]


@pytest.fixture(scope="module")
def open_to_engineers():
    adapters = '["simulated", "mqtt", "line", "serial", "opcua", "modbus"]'
    with daemon(CREATE.replace('["simulated"]', adapters) + campaign_text(autostart=False)) as running:
        yield running.start()


MQTT = 'set = "a"\nactual = "b"\nstatus = "e"\ntrigger = "c"\nresult = "d"\n'


@pytest.mark.parametrize(
    ("adapter", "settings", "sentence"),
    [
        ("command", 'argv = ["touch", "{directory}/touched"]', "configuration files only"),
        ("mqtt", MQTT + 'user = "u"\npassword_file = "{directory}/state/keys/server.secret"', "password_file"),
        ("mqtt", MQTT + 'user = "u"\npassword_variable = "HOME"', "password_variable"),
        ("mqtt", MQTT + '[campaign.adapter.settings.tls]\nca_file = "/etc/shadow"', "tls.ca_file"),
        ("line", 'mode = "listen"\naddress = "ipc://{directory}/state/journal.sqlite"', "address"),
        ("simulated", 'problem = "sasena"\nmemory = "{directory}/state/journal.sqlite"', "memory"),
        ("serial", 'port = "/dev/ttyS0"\nset = "SET {{name}} {{value}}"', "port"),
    ],
)
def test_a_campaign_over_the_wire_starts_no_program_and_names_nothing_of_the_host(
    open_to_engineers, adapter, settings, sentence
):
    running = open_to_engineers
    with running.client() as client:
        with pytest.raises(RefusedReply, match=sentence) as caught:
            client.create(with_adapter(adapter, settings.format(directory=running.directory)))
        assert caught.value.code == "not_allowed"
        assert [one.name for one in client.status().campaigns] == ["press"]
    assert not (running.directory / "touched").exists()


def test_an_adapter_that_starts_programs_cannot_be_allowed_over_the_wire():
    with daemon(CREATE.replace("simulated", "command") + campaign_text()) as running:
        command = [sys.executable, "-m", "tuner", "check-config", str(running.config)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENT_S, check=False)
    assert done.returncode == 78
    assert "daemon.create_adapters[#1]" in done.stderr
    assert "starts programs" in done.stderr


def test_one_machine_under_two_names_is_moved_by_one_campaign_at_a_time(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "machine.json")
    one = campaign_text("one", machine=f'memory = "{tmp_path}/machine.json"')
    two = campaign_text("two", machine=f'memory = "{tmp_path}/link"', autostart=False)
    with daemon(one + two) as running:
        check = [sys.executable, "-m", "tuner", "check-config", str(running.config)]
        shown = subprocess.run(check, capture_output=True, text=True, timeout=PATIENT_S, check=True)
        assert "warning: the campaigns one and two both reach" in shown.stderr
        running.start()
        running.wait_for_log("only one of them can run at a time")
        with running.client() as client:
            until(client, "one", lambda view: view.champion is not None)
            for order in (client.start, client.go_home):
                with pytest.raises(RefusedReply, match=r"machine.json is in use .*calls it one-machine") as caught:
                    order("two")
                assert caught.value.code == "machine_busy"
            client.stop("one", "the other's turn")
            until(client, "one", lambda view: view.machine.home)
            client.start("two")


def test_terms_from_before_addresses_were_told_are_read_and_completed_by_the_next_start(tmp_path):
    old = '{"name":"simulated","settings":{},"deadlines":{}}'
    assert AdapterTerms.model_validate_json(old).occupies == ()
    with daemon(campaign_text("one", autostart=False)) as running:
        running.start()
        running.config.write_text(campaign_text("one", autostart=False, machine=f'memory = "{tmp_path}/m"'))
        running.process.send_signal(signal.SIGHUP)
        with running.client() as client:
            until(client, "one", lambda view: client.config("one").terms["adapter"]["occupies"])


def test_who_created_a_campaign_or_stopped_the_daemon_over_the_wire_is_a_security_event_with_the_key():
    requests, events = free_endpoints(2)
    head = CREATE.replace("[daemon]\n", reached_at((requests, events)))
    with daemon(head + campaign_text(autostart=False)) as running:
        key = KeyRing.open(running.state).new("lab", "engineer")
        running.start()
        with Client.connect(requests, key=key, actor="anna") as client:
            client.create(campaign_text("new", autostart=False))
            client.stop_daemon()
        assert running.process.wait(PATIENT_S) == 0
        written = [(e.category, e.result, e.source, e.text) for e in read(running.state / FILE_NAME)]
    made = [one for one in written if one[1] == "campaign created"]
    assert made == [("configuration", "campaign created", "new", "by anna via lab")], "not those of the files"
    assert written[-1] == ("daemon", "stopped", "daemon", "anna via lab asked for it")


def test_a_monster_over_the_wire_is_refused_and_everybody_else_is_answered(open_to_engineers):
    with open_to_engineers.client() as client, open_to_engineers.client() as other:
        for text in ("a." * 20_000 + "a = 1", "a = " + "[" * 100_000):
            with pytest.raises(RefusedReply, match="nested too deep") as caught:
                client.create(text)
            assert caught.value.code == "config"
        other.ping()
