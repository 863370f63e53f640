import contextlib
import os
import socket
import time
import uuid

import pytest

from tuner.daemon.service_manager import Notifier, watchdog_s

LONGEST_DATAGRAM = 4096  # bytes that systemd reads


@pytest.fixture(params=["path", "abstract"])
def manager(request, tmp_path):
    """Play the service manager: a socket, and its address as in NOTIFY_SOCKET."""
    address = str(tmp_path / "notify") if request.param == "path" else f"@tuner-{uuid.uuid4()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server:
        server.bind(address.replace("@", "\0"))
        server.setblocking(False)
        yield server, {"NOTIFY_SOCKET": address}


@pytest.fixture
def notifier(manager):
    notifier = Notifier.from_environ(manager[1])
    yield notifier
    notifier.close()


def received(server):
    messages = []
    while True:
        try:
            messages.append(server.recv(2 * LONGEST_DATAGRAM).decode())
        except BlockingIOError:
            return messages


def fill(server, environ):
    """Send until the manager's queue takes no more."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
        client.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                client.sendto(b"X=1", environ["NOTIFY_SOCKET"].replace("@", "\0"))


def test_every_message_arrives_in_the_words_of_systemd(manager):
    server, environ = manager
    notifier = Notifier(environ["NOTIFY_SOCKET"], monotonic_ns=lambda: 12_345_678)
    notifier.ready("serving 2 campaigns")
    notifier.status("trial 7")
    notifier.alive()
    notifier.reloading()
    notifier.extend(1.5)
    notifier.stopping("bringing the machine home")
    notifier.close()
    assert received(server) == [
        "READY=1\nSTATUS=serving 2 campaigns",
        "STATUS=trial 7",
        "WATCHDOG=1",
        "RELOADING=1\nMONOTONIC_USEC=12345",
        "EXTEND_TIMEOUT_USEC=1500000",
        "STOPPING=1\nSTATUS=bringing the machine home",
    ]


def test_reloading_carries_the_clock_that_systemd_compares_with(manager, notifier):
    before_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    notifier.reloading()
    after_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    (message,) = received(manager[0])
    assert before_ns // 1000 <= int(message.rpartition("=")[2]) <= after_ns // 1000


def test_without_a_manager_nothing_happens():
    for environ in ({}, {"NOTIFY_SOCKET": ""}, {"NOTIFY_SOCKET": "vsock:2:1"}):
        notifier = Notifier.from_environ(environ)
        notifier.ready()
        notifier.alive()
        notifier.close()


def test_a_manager_that_went_away_does_no_harm(tmp_path):
    notifier = Notifier(str(tmp_path / "nobody"))
    notifier.ready("hello")
    notifier.alive()
    notifier.close()


def test_a_notifier_may_be_closed_twice_and_is_silent_afterwards(manager, notifier):
    notifier.close()
    notifier.close()
    notifier.ready()
    assert received(manager[0]) == []


def test_a_status_cannot_smuggle_in_another_message(manager, notifier):
    notifier.status("campaign a\nREADY=1")
    assert received(manager[0]) == ["STATUS=campaign a READY=1"]


def test_a_long_status_is_cut_to_what_the_manager_reads(manager, notifier):
    notifier.ready("\U0001f600" * 5000)
    (message,) = received(manager[0])
    assert message.startswith("READY=1\nSTATUS=\U0001f600")
    assert len(message.encode()) < LONGEST_DATAGRAM


def test_a_status_that_is_no_unicode_is_sent_all_the_same(manager, notifier):
    notifier.status("broken \udcff name")
    (message,) = received(manager[0])
    assert message.startswith("STATUS=broken ")


def test_a_busy_manager_gets_what_matters_later_but_no_old_sign_of_life(manager, notifier):
    server, environ = manager
    fill(server, environ)
    notifier.ready()
    notifier.alive()
    notifier.status("first")
    notifier.status("second")
    notifier.stopping()
    received(server)
    notifier.alive()
    assert received(server) == ["READY=1", "STATUS=second", "STOPPING=1", "WATCHDOG=1"]


def test_a_manager_busy_for_long_costs_no_memory(manager, notifier):
    server, environ = manager
    fill(server, environ)
    for number in range(1000):
        notifier.reloading()
        notifier.extend(number)
    assert len(notifier._pending) < 20
    received(server)
    notifier.close()
    assert len(received(server)) > 1


def test_only_the_newest_wish_for_more_time_is_kept(manager, notifier):
    server, environ = manager
    fill(server, environ)
    for timeout_s in (1.0, 2.0, 3.0):
        notifier.extend(timeout_s)
    received(server)
    notifier.status("")
    assert received(server) == ["EXTEND_TIMEOUT_USEC=3000000", "STATUS="]


def test_the_watchdog_is_answered_twice_per_period():
    environ = {"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": str(os.getpid())}
    assert watchdog_s(environ) == 15.0
    assert watchdog_s({"WATCHDOG_USEC": "30000000"}) == 15.0


def test_a_watchdog_meant_for_another_process_is_not_answered():
    environ = {"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "17"}
    assert watchdog_s(environ, pid=18) is None
    assert watchdog_s(environ, pid=17) == 15.0


@pytest.mark.parametrize("period", ["", "0", "-5", "soon", "1e6", "٣", "9" * 40])
def test_a_strange_watchdog_period_means_no_watchdog(period):
    assert watchdog_s({"WATCHDOG_USEC": period}) is None


def test_a_child_process_does_not_inherit_the_socket(manager, notifier):
    assert not os.get_inheritable(notifier._socket.fileno())
