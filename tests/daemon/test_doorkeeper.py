"""Connections without end: files stay free for the daemon, and whoever comes from this host is served."""

import os
import shutil
import socket
import stat
import time

import pytest

from tests.daemon.running import campaign_text, daemon, reached_at
from tests.patience import PATIENT_S
from tests.wire.counterpart import free_endpoints
from tuner.daemon import doorkeeper
from tuner.daemon.doorkeeper import Doorkeeper
from tuner.journal.security import FILE_NAME, read

FILES = 400


def test_strangers_who_open_connections_without_end_do_not_end_the_daemon_and_local_clients_are_served():
    requests, events = free_endpoints(2)
    head = reached_at((requests, events))
    with daemon(head + campaign_text(autostart=False)) as running:
        limited = [shutil.which("prlimit"), f"--nofile={FILES}:{FILES}"]
        running.start(wrap=lambda command: [*limited, *command])
        strangers, end = [], time.monotonic() + PATIENT_S
        try:
            while "nobody new is let in" not in running.log() or len(strangers) < 2 * FILES:
                assert time.monotonic() < end
                for _ in range(50):
                    strangers.append(socket.socket())
                    strangers[-1].setblocking(False)
                    strangers[-1].connect_ex(("127.0.0.1", int(requests.rpartition(":")[2])))
                with running.client() as client:
                    client.ping()
            with running.client() as client:
                (alarm,) = client.status().alarms
                assert f"of {FILES} files are open" in alarm
        finally:
            for one in strangers:
                one.close()
        assert running.stop() == 0
        assert ("daemon", "crowded") in [(e.category, e.result) for e in read(running.state / FILE_NAME)]


@pytest.fixture
def door(tmp_path):
    """A socket of the network, a file of a local one, and what was told; files are as many as the test says."""
    file = tmp_path / "requests.sock"
    file.touch(0o660)
    file.chmod(0o660)
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server, file


def knocks(server):
    """Whether somebody new comes in."""
    with socket.socket() as one:
        one.settimeout(0.3)
        try:
            one.connect(server.getsockname())
        except TimeoutError:
            return False
        server.accept()[0].close()
        return True


def test_doors_are_closed_while_files_are_short_and_open_again_and_it_is_told_once(door, monkeypatch):
    server, file = door
    used, told, now_s = [10], [], [1000.0]
    monkeypatch.setattr(doorkeeper, "files_open", lambda: used[0])
    monkeypatch.setattr(doorkeeper.resource, "getrlimit", lambda _: (8192, 8192))
    monkeypatch.setattr(doorkeeper.time, "monotonic", lambda: now_s[0])
    keeper = Doorkeeper({file: 0o660}, lambda *what: told.append(what))
    with socket.create_connection(server.getsockname()) as before, server.accept()[0] as ours:
        for _ in range(3):
            used[0] = 7000
            keeper._look()
            assert not knocks(server)
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
            before.sendall(b"x")
            assert ours.recv(1) == b"x", "who is connected notices nothing"
            used[0] = 5000
            keeper._look()
            assert knocks(server)
            assert stat.S_IMODE(file.stat().st_mode) == 0o660
    assert told == [(7000, 8192)]
    now_s[0] += doorkeeper.CALM_S + 1.0
    keeper._look()
    assert told == [(7000, 8192), (0, 0)]


def test_open_files_are_counted():
    before = doorkeeper.files_open()
    descriptors = [os.dup(0) for _ in range(50)]
    assert doorkeeper.files_open() - before == pytest.approx(50, abs=5)
    for one in descriptors:
        os.close(one)
