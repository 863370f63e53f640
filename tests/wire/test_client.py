import json
import threading
import time

import pytest

from tests.patience import PATIENT_S
from tests.wire.counterpart import Counterpart, free_endpoints, reply, view
from tuner.basics.vocabulary import Mode
from tuner.errors import DeniedError, TryAgainError, TunerError, UnreachableError
from tuner.wire import exchange
from tuner.wire.client import (
    Client,
    DeniedReply,
    FailedReply,
    InvalidRequestError,
    NoReplyError,
    ProtocolError,
    RefusedReply,
)
from tuner.wire.endpoint import Link
from tuner.wire.key_ring import KeyRing


@pytest.fixture
def place(tmp_path):
    return f"ipc://{tmp_path}/r"


@pytest.fixture
def client(place, monkeypatch):
    monkeypatch.setattr(exchange, "_FIRST_WAIT_S", 0.2)
    with Client.connect(place, actor="anna") as client:
        yield client


def test_a_request_is_one_frame_of_json_and_its_answer_a_model(place, client):
    with Counterpart(place) as there:
        assert client.ping().now == "2026-01-01"
    (request,) = there.got
    assert request == {"v": 1, "id": request["id"], "op": "ping", "actor": "anna", "body": {}}
    assert client.unanswered() == ()


def test_each_request_has_an_id_of_its_own(place, client):
    with Counterpart(place) as there:
        client.ping()
        client.ping()
    assert len({request["id"] for request in there.got}) == 2


def test_a_lost_reply_is_asked_for_again_with_the_same_id(place, client):
    with Counterpart(place, answer=lambda request, times: [reply(request)] if times == 3 else []) as there:
        client.ping()
    assert len(there.got) == 3
    assert there.got[0] == there.got[1] == there.got[2]


@pytest.mark.usefixtures("client")  # for its short waits
def test_what_the_client_itself_comes_late_is_not_taken_from_the_daemons_time(place):
    late_s = 0.0

    def answer(request, times):
        nonlocal late_s
        late_s = 1000.0  # the machine was too busy, or asleep, while the client waited
        return [reply(request)] if times == 2 else []

    with (
        Counterpart(place, answer=answer) as there,
        Client(Link(place), clock=lambda: time.monotonic() + late_s) as late,
    ):
        late.ping()
    assert len(there.got) == 2


def test_a_daemon_that_starts_late_is_found_and_gets_the_request_once(place, client, monkeypatch):
    late: list[Counterpart] = []
    waits: list[float] = []
    usual = exchange.Pacing.wait_s

    def wait_s(pacing: exchange.Pacing, *, sent: bool) -> float:
        waits.append(usual(pacing, sent=sent))
        if len(waits) == 2:  # the first attempt has found nobody
            late.append(Counterpart(place))
        return waits[-1]

    monkeypatch.setattr(exchange.Pacing, "wait_s", wait_s)
    client.ping()
    late[0].close()
    assert len(late[0].got) == 1


def test_a_restarted_daemon_is_found_again_and_nothing_is_sent_twice(place, client):
    with Counterpart(place) as first:
        client.ping()
    with Counterpart(place) as second:
        client.ping()
    assert len(first.got) == len(second.got) == 1


def test_a_request_whose_daemon_dies_is_sent_to_the_next_one_with_the_same_id(place, client, monkeypatch):
    monkeypatch.setattr(exchange, "_FIRST_WAIT_S", 60.0)  # not the waiting but the lost connection shows it
    asked = threading.Event()
    first = Counterpart(place, answer=lambda *_: asked.set() or [])
    second: list[Counterpart] = []

    def restart() -> None:
        asked.wait(PATIENT_S)
        first.close()
        second.append(Counterpart(place))

    thread = threading.Thread(target=restart)
    thread.start()
    client.request("ping", timeout_s=PATIENT_S)
    thread.join()
    second[0].close()
    assert first.got[0]["id"] == second[0].got[0]["id"]


def test_a_reply_that_comes_twice_or_belongs_to_an_older_request_is_left_aside(place, client):
    def answer(request, _):
        stale = {**request, "id": "of-nobody"}
        return [reply(stale, body={"now": "stale"}), reply(request), reply(request, body={"now": "again"})]

    with Counterpart(place, answer=answer):
        assert [client.ping().now for _ in range(3)] == ["2026-01-01"] * 3


@pytest.mark.parametrize(
    "frame",
    [b"nonsense", b"{}", b"[]", b'{"v":1,"id":"x","status":"perhaps"}', b"\xff", b'{"v":1,"id":"x","body":{"a":NaN}}'],
)
def test_a_malformed_reply_is_a_protocol_error_and_not_an_endless_wait(place, client, frame):
    with Counterpart(place, answer=lambda *_: [frame]), pytest.raises(ProtocolError, match="cannot be understood"):
        client.ping()


def test_another_version_of_the_protocol_is_named(place, client):
    with (
        Counterpart(place, answer=lambda request, _: [reply(request, v=2)]),
        pytest.raises(ProtocolError, match="version 2 of the protocol, this client speaks 1"),
    ):
        client.ping()


def test_an_answer_of_the_wrong_shape_is_a_protocol_error(place, client):
    with (
        Counterpart(place, answer=lambda request, _: [reply(request, body={})]),
        pytest.raises(ProtocolError, match="not a Pong: now"),
    ):
        client.ping()


def test_fields_that_a_newer_daemon_adds_are_left_out_of_account(place, client):
    def answer(request, _):
        return [reply(request, body={"now": "n", "mood": "good"}, lamp="green")]

    with Counterpart(place, answer=answer):
        assert client.ping().now == "n"


def test_a_word_that_only_a_newer_daemon_knows_stays_what_it_is_and_a_known_one_is_that_word(place, client):
    def answer(request, _):
        return [reply(request, body={**view(7), "mode": "Held", "phase": "dreaming"})]

    with Counterpart(place, answer=answer):
        seen = client.snapshot("sasena")
    assert seen.mode is Mode.HELD
    assert seen.phase == "dreaming"


def test_without_a_daemon_nothing_is_sent_and_the_error_says_so_with_exit_code_69(place, client):
    with pytest.raises(NoReplyError, match="nothing was sent") as caught:
        client.request("ping", timeout_s=0.3)
    assert isinstance(caught.value, UnreachableError)
    assert caught.value.exit_code == 69
    assert not caught.value.sent
    with Counterpart(place) as there:  # and it is not sent later either
        client.ping()
    assert len(there.got) == 1


def test_who_does_not_want_to_wait_for_a_daemon_does_not_and_still_waits_for_its_answer(place, monkeypatch):
    with Client.connect(place, find_s=0.2) as client:
        with pytest.raises(NoReplyError, match="nothing was sent"):
            client.request("ping", timeout_s=3600)
        monkeypatch.setattr(exchange, "_FIRST_WAIT_S", 0.3)
        with Counterpart(place, answer=lambda request, times: [reply(request)] if times == 2 else []):
            client.ping()


def test_a_command_without_a_reply_may_have_been_done_and_can_be_asked_again_by_its_id(place, client):
    silent = False
    with Counterpart(place, answer=lambda request, _: [] if silent else [reply(request, body={"n": 7})]) as there:
        client.request("ping")  # there is a connection then, however busy the machine is
        silent = True
        with pytest.raises(NoReplyError, match="may or may not have been done") as caught:
            client.request("campaign.start", "sasena", timeout_s=0.3)
        assert caught.value.sent
        (kept,) = client.unanswered()
        assert kept.id == caught.value.request.id
        assert f"Ask again with the same id, {kept.id}" in str(caught.value)
        silent = False
        assert client.ask_again(kept.id).body == {"n": 7}
        assert client.unanswered() == ()
    assert {request["id"] for request in there.got[1:]} == {kept.id}


def test_only_requests_without_an_answer_can_be_asked_again(client):
    with pytest.raises(InvalidRequestError, match="no request 12345678"):
        client.ask_again("12345678")


@pytest.mark.parametrize(
    ("fields", "kind", "base", "code"),
    [
        ({"status": "refused", "code": "illegal_state", "text": "It is Idle."}, RefusedReply, TunerError, 1),
        ({"status": "refused", "code": "denied", "text": "Not you."}, DeniedReply, DeniedError, 77),
        ({"status": "failed", "code": "busy", "text": "Later."}, FailedReply, TryAgainError, 75),
    ],
)
def test_what_was_not_done_is_an_error_with_the_daemons_sentence(place, client, fields, kind, base, code):
    with Counterpart(place, answer=lambda request, _: [reply(request, **fields)]), pytest.raises(kind) as caught:
        client.start("sasena")
    assert isinstance(caught.value, base)
    assert (str(caught.value), caught.value.code, caught.value.exit_code) == (fields["text"], fields["code"], code)


@pytest.mark.parametrize(
    ("op", "campaign", "body", "sentence"),
    [
        ("campaign.strat", "a", {}, 'did you mean "campaign.start"'),
        ("snapshot", None, {}, "needs the name of a campaign"),
        ("judgment.give", "a", {"duel": 0, "winner": 1}, "duel: Input should be greater"),
        ("campaign.create", None, {"config": "ä" * 130_000}, "bytes; the daemon takes 256000"),
    ],
)
def test_a_wrong_request_is_told_at_once_and_not_sent(client, op, campaign, body, sentence):
    with pytest.raises(InvalidRequestError, match=sentence):
        client.request(op, campaign, body)


def test_a_large_reply_arrives(place, client):
    with Counterpart(place, answer=lambda request, _: [reply(request, body={"now": "x" * 5_000_000})]):
        assert len(client.ping().now) == 5_000_000


def test_the_judgment_on_the_wire_is_what_was_said(place, client):
    with Counterpart(place, answer=lambda request, _: [reply(request, body={"n": 3})]) as there:
        assert client.judge("sasena", 4, winner=9, took_s=1.5).n == 3
    (request,) = there.got
    assert (request["op"], request["campaign"]) == ("judgment.give", "sasena")
    assert request["body"] == {"duel": 4, "winner": 9, "took_s": 1.5}
    assert json.dumps(request)


class TestEncrypted:
    @pytest.fixture
    def ring(self, tmp_path):
        return KeyRing.open(tmp_path / "state")

    @pytest.fixture
    def tcp(self):
        return free_endpoints(1)[0]

    def test_a_known_key_gets_its_answer_over_tcp(self, ring, tcp):
        key = ring.new("desk", "viewer", requests=tcp)
        with Counterpart(tcp, keys=ring), Client.connect(key=key) as client:
            assert client.ping().now == "2026-01-01"

    def test_an_unknown_key_is_denied_at_once(self, ring, tcp, tmp_path):
        stranger = KeyRing.open(tmp_path / "other").new("desk", "viewer")
        stranger = stranger.model_copy(update={"server": ring.server.public})
        with (
            Counterpart(tcp, keys=ring) as there,
            Client.connect(tcp, key=stranger) as client,
            pytest.raises(DeniedError, match="does not accept the key desk"),
        ):
            client.request("ping", timeout_s=PATIENT_S)
        assert there.got == []

    def test_a_key_is_denied_after_it_was_revoked(self, ring, tcp):
        key = ring.new("desk", "viewer")
        ring.revoke("desk")
        with (
            Counterpart(tcp, keys=ring),
            Client.connect(tcp, key=key) as client,
            pytest.raises(DeniedError, match="unknown or was revoked"),
        ):
            client.request("ping", timeout_s=PATIENT_S)

    def test_without_a_key_one_is_asked_for(self, ring, tcp):
        with (
            Counterpart(tcp, keys=ring),
            Client.connect(tcp) as client,
            pytest.raises(DeniedError, match="wants a key: give one with --key"),
        ):
            client.request("ping", timeout_s=PATIENT_S)

    def test_the_key_of_another_daemon_is_named_as_the_likely_cause(self, ring, tcp, tmp_path):
        foreign = KeyRing.open(tmp_path / "other").new("desk", "viewer")
        with (
            Counterpart(tcp, keys=ring),
            Client.connect(tcp, key=foreign) as client,
            pytest.raises(NoReplyError, match="another server key"),
        ):
            client.request("ping", timeout_s=0.5)

    def test_a_server_without_encryption_is_not_spoken_to(self, ring, tcp):
        key = ring.new("desk", "viewer")
        with (
            Counterpart(tcp) as there,
            Client.connect(tcp, key=key) as client,
            pytest.raises(ProtocolError, match="does not speak as this client does"),
        ):
            client.request("ping", timeout_s=PATIENT_S)
        assert there.got == []
