"""Who a client is to the daemon: by its socket, its key and the person it names."""

import os
import subprocess
import sys
from datetime import UTC, datetime

import pytest
import zmq

from tests.daemon.running import better, campaign_text, daemon, reached_at, until
from tests.patience import PATIENT_S
from tests.wire.counterpart import free_endpoints
from tuner.basics.vocabulary import Role
from tuner.errors import DeniedError
from tuner.wire.client import Client
from tuner.wire.errors import RefusedReply
from tuner.wire.key_ring import KeyRing


@pytest.fixture(scope="module")
def network():
    return free_endpoints(2)


@pytest.fixture(scope="module")
def running(network):
    head = reached_at(network)
    with daemon(head + campaign_text("press", trials=500)) as one:
        yield one.start()


@pytest.fixture(scope="module")
def keys(running, network):
    ring = KeyRing.open(running.state)
    return {name: ring.new(name, "operator", requests=network[0], events=network[1]) for name in ("op1", "op2", "anna")}


def as_group(running, actor="anna") -> Client:
    """A client as a member of the daemon's group has it: it cannot open the socket of the daemon's own user."""
    return Client.connect(f"ipc://{running.state}/requests.sock", actor=actor)


def test_the_daemons_own_user_is_an_engineer_and_its_group_are_operators(running):
    with running.client() as own, as_group(running) as group:
        assert own.hello().role == "engineer"
        assert group.hello().role == "operator"
        with pytest.raises(DeniedError):
            group.request("daemon.stop")


def test_another_user_cannot_open_the_socket_of_the_daemons_own(running):
    own, group = ((running.state / name).stat() for name in ("requests.own", "requests.sock"))
    assert (own.st_mode & 0o777, group.st_mode & 0o777) == (0o600, 0o660)
    if os.geteuid() != 0:
        return  # only root can be somebody else; the modes say the same
    try_it = (
        "import os, socket, sys\nos.setgroups([]); os.setgid(int(sys.argv[2])); os.setuid(65534)\n"
        "one = socket.socket(socket.AF_UNIX)\n"
        "try: one.connect(sys.argv[1]); print('open')\nexcept PermissionError: print('denied')\n"
    )

    def tried(name, group):
        command = [sys.executable, "-c", try_it, str(running.state / name), str(group)]
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENT_S, check=True).stdout.strip()

    modes = {place: place.stat().st_mode & 0o777 for place in (running.directory, running.state)}
    for place in modes:
        place.chmod(0o755)  # as a directory of systemd's for sockets is
    try:
        assert tried("requests.sock", group.st_gid) == "open"
        assert tried("requests.sock", 65534) == "denied"
        assert tried("requests.own", group.st_gid) == "denied"
    finally:
        for place, mode in modes.items():
            place.chmod(mode)


def give(client: Client) -> int:
    view = until(client, "press", lambda view: view.duel is not None)
    client.judge("press", view.duel.number, better(view))
    return client.snapshot("press").judgments[0].number


def test_a_judgment_is_its_persons_own_by_the_same_key_only(running, keys):
    def by(name, actor):
        return Client.connect(key=keys[name], actor=actor)

    with by("op1", "Anna") as anna:
        number = give(anna)
        assert anna.history("press", limit=1).events[0].actor != "tuner"
    others = [
        by("op2", "Anna"),
        by("op1", "ben"),
        by("anna", None),
        as_group(running, "Anna"),
        as_group(running, "op1"),
    ]
    for other in others:
        with other, pytest.raises(DeniedError, match="is by Anna via op1; an engineer can retract it"):
            other.retract("press", number, "not mine")
    with by("op1", " ANNA ") as again:
        again.retract("press", number, "mine")
    with by("op1", "anna") as anna:
        number = give(anna)
    with running.client("chief") as engineer:
        engineer.retract("press", number, "an engineer may")


@pytest.mark.parametrize("name", ["anna via op1", "Tuner", "Тuner", "an\u202ena", "тυпег"])  # noqa: RUF001 - meant
def test_a_name_that_passes_for_another_is_refused_with_a_sentence(running, keys, name):
    before = None
    for client in (as_group(running, name), Client.connect(key=keys["op2"], actor=name), running.client(name)):
        with client, pytest.raises(RefusedReply) as caught:
            client.request("lot.change", "press", {"lot": "forged"})
        assert caught.value.code == "bad_request"
        assert len(str(caught.value)) > 30
    with running.client() as client:
        before = client.snapshot("press")
    assert before.lot != "forged"


def test_a_session_of_the_owners_socket_is_worth_nothing_at_the_groups(running):
    with running.client("ines") as own, as_group(running) as group:
        own.add_person("carl", Role.ENGINEER, pin="4711")
        own.session = group.session = own.open_session("carl", "4711").session
        assert (own.hello().you, own.hello().role) == ("carl", "engineer")
        assert group.hello().role == "operator"
        for op in ("people.list", "daemon.stop"):
            with pytest.raises(RefusedReply) as caught:
                group.request(op)
            assert caught.value.code == "locked"
        group.close_session()
        group.hold("press")  # it stops a machine all the same
        assert own.hello().you == "carl"
        own.resume("press")


def test_hello_says_who_one_is_as_the_journal_will(running, keys):
    with Client.connect(key=keys["op1"], actor="  Anna\u3000Berg ") as client:
        assert (client.hello().you, client.hello().role) == ("Anna Berg via op1", "operator")
    with Client.connect(key=keys["op1"]) as client, as_group(running, "op1") as local:
        assert (client.hello().you, local.hello().you) == ("op1 via op1", "op1")


@pytest.mark.parametrize("name", ["tuner", "Tuner", "local"])
def test_no_key_is_called_like_the_daemon_or_like_clients_without_one(running, name):
    ring = KeyRing.open(running.state)
    with pytest.raises(Exception, match="take another name"):
        ring.new(name, "viewer")


def test_a_request_may_mean_fewer_rights_than_its_client_has_and_never_more(running):
    with running.client() as own, as_group(running) as group:
        own.role = Role.OPERATOR
        assert (own.hello().role, "people.list" in own.hello().ops) == ("operator", False)
        for op in ("people.list", "daemon.stop"):
            with pytest.raises(DeniedError):
                own.request(op)
        own.role = Role.VIEWER
        with pytest.raises(DeniedError):
            own.hold("press")
        group.role = Role.VIEWER
        assert group.hello().role == "viewer"
        group.role = Role.OPERATOR
        assert group.hello().role == "operator"


@pytest.mark.parametrize("role", ["engineer", "controller", "root", ""])
def test_no_request_takes_a_role_that_others_have_more_rights_than(running, role):
    with zmq.Context() as context, context.socket(zmq.DEALER) as dealer:
        dealer.connect(f"ipc://{running.state}/requests.sock")
        dealer.send_json({"v": 1, "id": "a-role-of-mine", "op": "hello", "role": role})
        assert dealer.poll(PATIENT_S * 1000)
        assert dealer.recv_json()["code"] == "bad_request"


def test_fewer_rights_count_for_a_person_too(running):
    with running.client() as own:
        own.add_person("ines", Role.ENGINEER, pin="4711")
        own.session = own.open_session("ines", "4711").session
        assert own.hello().role == "engineer"
        own.role = Role.OPERATOR
        assert own.hello().role == "operator"
        with pytest.raises(DeniedError):
            own.list_people()


def test_a_client_asks_which_sessions_are_good_without_using_them(running):
    with running.client() as own, as_group(running) as group:
        own.add_person("dora", Role.OPERATOR, pin="6172")
        tokens = [group.open_session("dora", "6172").session for _ in range(2)]
        before = datetime.now(UTC)
        assert group.check_sessions([*tokens, "x"]).good == [True, True, False]
        sessions = [one for one in own.list_sessions().sessions if one.name == "dora"]
        assert all(datetime.fromisoformat(one.used_at) < before for one in sessions)
        own.end_session(min(one.number for one in sessions))
        assert group.check_sessions(tokens).good == [False, True]
        own.disable_person("dora")
        assert group.check_sessions(tokens).good == [False, False]
