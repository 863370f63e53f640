"""What the daemon notices besides its campaigns: refused keys, denied roles, changes, the clock, room, restarts."""

import asyncio
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
import zmq
from zmq.utils.monitor import recv_monitor_message

from tests.daemon.running import campaign_text, daemon, reached_at
from tests.wire.counterpart import free_endpoints
from tuner.basics.sentences import say, tell
from tuner.daemon import guard as guards
from tuner.daemon.anchoring import AnchorPlan
from tuner.daemon.guard import Guard
from tuner.daemon.journal_thread import JournalThread
from tuner.daemon.troubles import Troubles
from tuner.errors import DeniedError
from tuner.journal import anchor as anchors
from tuner.journal.security import FILE_NAME, read
from tuner.wire.client import Client
from tuner.wire.endpoint import prepare
from tuner.wire.key_ring import KeyRing
from tuner.wire.keyfiles import ClientKey
from tuner.wire.operations import Operations


class Time:
    """A clock that can be set, and one that cannot."""

    def __init__(self) -> None:
        self.wall = datetime(2026, 3, 2, 8, tzinfo=UTC)
        self.even_s = 0.0

    def passes(self, seconds: float) -> None:
        self.wall += timedelta(seconds=seconds)
        self.even_s += seconds


def found(directory):
    return [(e.category, e.result) for e in read(directory / FILE_NAME)]


async def watched(directory, time, act, keys=None, plan=None):
    """A guard that looks before and after something was done; the alarms that it has then."""
    archive = await JournalThread.open(directory)
    guard = Guard(directory, archive, lambda: time.wall, Troubles(), keys, plan, lambda: time.even_s)
    guard.begin("0", "abc")
    for one in (lambda: None, act):
        one()
        await guard.look()
        await asyncio.gather(*(task for task in asyncio.all_tasks() if task.get_name().startswith("anchor for")))
    alarms = guard.alarms
    await guard.close("the test is over")
    await archive.close()
    return alarms


@pytest.mark.parametrize(("seconds", "jumps"), [(3600.0, 1), (-8.0, 1), (0.5, 0)])
def test_a_clock_that_is_set_is_an_event_and_time_that_passes_is_none(tmp_path, seconds, jumps):
    time = Time()

    def act():
        time.passes(100.0)
        time.wall += timedelta(seconds=seconds)

    asyncio.run(watched(tmp_path, time, act))
    assert found(tmp_path).count(("clock", "jumped")) == jumps


def test_keys_that_come_change_and_go_are_events(tmp_path):
    ring = KeyRing.open(tmp_path)
    ring.new("desk", "viewer")

    def act():
        other = KeyRing.open(tmp_path)
        other.new("lab", "operator")
        other.revoke("desk")

    asyncio.run(watched(tmp_path, Time(), act, ring))
    assert {("keys", "added"), ("keys", "revoked")} <= set(found(tmp_path))


def test_a_disk_that_is_nearly_full_is_an_alarm_until_there_is_room(tmp_path, monkeypatch):
    free = [5_000_000_000]
    monkeypatch.setattr(guards.shutil, "disk_usage", lambda _: SimpleNamespace(free=free[0]))
    (alarm,) = asyncio.run(watched(tmp_path, Time(), lambda: free.__setitem__(0, 20_000_000)))
    assert "20 MB are left" in alarm
    assert "noch 20 MB frei" in tell(alarm, "de")
    assert ("store", "nearly full") in found(tmp_path)
    free[0] = 20_000_000
    assert asyncio.run(watched(tmp_path, Time(), lambda: free.__setitem__(0, 5_000_000_000))) == []
    assert ("store", "has room again") in found(tmp_path)


def test_security_events_that_cannot_be_written_are_an_alarm_and_stop_nothing(tmp_path):
    (tmp_path / FILE_NAME).write_text("rubbish\n")
    (alarm,) = asyncio.run(watched(tmp_path, Time(), lambda: None))
    assert "is no security event" in alarm
    assert "no es un evento de seguridad" in tell(alarm, "es")
    assert (tmp_path / FILE_NAME).read_text() == "rubbish\n"


@pytest.mark.parametrize("instead", [None, ""], ids=["removed", "replaced"])
def test_a_file_of_security_events_that_was_taken_away_is_an_alarm_although_nothing_happens(tmp_path, instead):
    def act():
        (tmp_path / FILE_NAME).rename(tmp_path / "away")
        if instead is not None:
            (tmp_path / FILE_NAME).write_text(instead)

    (alarm,) = asyncio.run(watched(tmp_path, Time(), act))
    assert "security events" in alarm
    assert ("daemon", "stopped") not in [(e.category, e.result) for e in read(tmp_path / "away")]


def test_anchors_are_written_at_the_start_when_they_are_due_and_at_the_end_and_one_that_cannot_be_is_an_alarm(tmp_path):
    time, state = Time(), tmp_path / "state"
    state.mkdir()
    plan = AnchorPlan(tmp_path / "anchors", 60.0, "secret")
    assert asyncio.run(watched(state, time, lambda: time.passes(61.0), plan=plan)) == []
    assert len(list(anchors.read(plan.file))) == 3
    lost = AnchorPlan(tmp_path / "not" / "there", 60.0, "secret")
    (alarm,) = asyncio.run(watched(state, time, lambda: time.passes(61.0), plan=lost))
    assert "writing the anchor" in alarm
    assert tell(alarm, "zh").endswith("没有此文件或目录")
    assert ("anchor", "failed") in found(state)


def test_keys_that_are_not_used_are_an_alarm_in_the_readers_language(tmp_path):
    ring = KeyRing.open(tmp_path)
    ring.new("desk", "viewer")

    def act():
        (tmp_path / "keys/clients/other.key").write_bytes((tmp_path / "keys/clients/desk.key").read_bytes())
        (tmp_path / "keys/clients/other.key").chmod(0o600)

    (alarm,) = asyncio.run(watched(tmp_path, Time(), act, ring))
    assert "is the key of desk: the names must agree" in alarm
    assert "Die Namen müssen übereinstimmen" in tell(alarm, "de")


def test_what_was_not_read_of_a_configuration_is_named_by_its_place_and_what_was_refused_by_its_sentence(tmp_path):
    mistakes = "press.toml:12: campaign.budget.trials: must be more than 0\npress.toml:14: seed: must be a number"

    async def alarms():
        archive = await JournalThread.open(tmp_path)
        guard = Guard(tmp_path, archive, lambda: datetime(2026, 3, 2, tzinfo=UTC), Troubles())
        guard.configured(mistakes)
        first = guard.alarms
        guard.configured(problems=[say("phase.value", name="press", value=say("machine.in_use"))])
        second = guard.alarms
        guard.configured()
        await archive.close()
        return first, second, guard.alarms

    (first,), (second,), last = asyncio.run(alarms())
    assert "2 Fehler, der erste in press.toml:12: campaign.budget.trials;" in tell(first, "de")
    assert second == "a part of the configuration is not followed: press: the machine is in use"
    assert second not in tell(second, "de")
    assert last == []


def test_a_real_daemon_notes_a_refused_key_a_denied_role_a_restart_and_a_crash():
    requests, events = free_endpoints(2)
    head = reached_at((requests, events))
    with daemon(head + campaign_text("press", autostart=False)) as running:
        ring = KeyRing.open(running.state)
        viewer = ring.new("desk", "viewer")
        running.start()
        with Client.connect(requests, key=viewer) as client:
            with pytest.raises(DeniedError):
                client.request("campaign.start", "press", {})
            assert client.call(Operations.status()).alarms == []
        knock(requests, viewer)
        assert running.stop() == 0
        running.start()
        running.kill()
        running.start()
        assert running.stop() == 0
        written = list(read(running.state / FILE_NAME))
    kinds = [(e.category, e.result) for e in written]
    assert {("role", "denied"), ("key", "refused"), ("configuration", "read"), ("keys", "read")} <= set(kinds)
    assert kinds.count(("daemon", "started")) == 3
    assert kinds[-1] == ("daemon", "stopped")
    starts = [e.text for e in written if (e.category, e.result) == ("daemon", "started")]
    assert ["did not end in good order" in text for text in starts] == [False, False, True]


def knock(endpoint, known: ClientKey) -> None:
    """Try to connect with a key that nobody knows, until the daemon has closed the door."""
    public, secret = (key.decode() for key in zmq.curve_keypair())
    stranger = known.model_copy(update={"public": public, "secret": type(known.secret)(secret)})
    with zmq.Context() as context, context.socket(zmq.DEALER) as socket:
        prepare(socket, endpoint, stranger)
        with socket.get_monitor_socket() as monitor:
            socket.connect(endpoint)
            refused = zmq.EVENT_HANDSHAKE_FAILED_AUTH | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL | zmq.EVENT_DISCONNECTED
            while not recv_monitor_message(monitor)["event"] & refused:
                pass
            socket.disable_monitor()


def test_a_daemon_started_from_a_shell_has_as_many_files_as_its_user_may_have():
    prlimit = shutil.which("prlimit")
    with daemon(campaign_text(autostart=False)) as running:
        running.start(wrap=lambda command: [prlimit, "--nofile=256:3000", *command])
        (line,) = [one for one in limits_of(running.process.pid) if one.startswith("Max open files")]
        assert line.split()[3:5] == ["3000", "3000"]


def limits_of(pid):
    return Path(f"/proc/{pid}/limits").read_text().splitlines()
