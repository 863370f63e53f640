"""The daemon from outside: a real process, real sockets, a simulated machine in a process of its own."""

import json
import signal
import subprocess
import sys
import threading

import pytest
import zmq

from tests.daemon.running import CREATE, better, campaign_text, daemon, tune, until
from tests.patience import PATIENT_S
from tuner.wire.errors import RefusedReply
from tuner.wire.messages import Request

COMPUTE = "[compute]\n"  # as it is by default: several at a time, and ahead of the answers


@pytest.fixture(scope="module")
def running():
    text = campaign_text("press", trials=5) + campaign_text("oven", trials=500)
    with daemon(CREATE + COMPUTE + text + campaign_text("lathe", autostart=False)) as one:
        yield one.start()


@pytest.fixture
def client(running):
    with running.client() as one:
        yield one


def test_a_campaign_runs_to_its_end_and_leaves_the_machine_at_home(running, client):
    tune(client, "press")
    view = until(client, "press", lambda view: view.machine.home)
    assert view.budget.spent == 5
    assert view.machine.read_back == {"x1": 3.5, "x2": 1.5}
    assert view.champion.valid
    assert view.judgments[0].operator == "anna"
    told = client.recommendation("press")
    assert set(told.setting) == {"x1", "x2"}
    assert {one.name for one in client.slices("press").slices} == {"x1", "x2"}
    assert client.explanation("press").operators == {"anna": 1.0}
    assert client.champion("press").champion == view.champion
    assert len(client.trials("press").trials) == 5
    assert client.config("press").terms["budget"]["trials"] == 5


def test_history_comes_in_pages_numbered_like_the_events(running, client):
    last = client.snapshot("oven").n
    page = client.history("oven", limit=3)
    assert page.more
    assert page.events[0].n >= last
    older = client.history("oven", before=page.events[-1].n, limit=500)
    assert [event.n for event in older.events] == list(range(page.events[-1].n - 1, 0, -1))
    assert older.events[-1].type == "campaign_created"
    assert not older.more


def test_of_two_consoles_one_answer_is_taken_and_the_other_is_told_whose(running):
    with running.client() as client:
        view = until(client, "oven", lambda view: view.duel is not None)
    barrier, results = threading.Barrier(2), {}

    def answer(who):
        with running.client(who) as console:
            console.ping()
            barrier.wait()
            try:
                results[who] = console.judge("oven", view.duel.number, better(view))
            except RefusedReply as refusal:
                results[who] = refusal

    threads = [threading.Thread(target=answer, args=(who,)) for who in ("ben", "cleo")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    refused = {who: result for who, result in results.items() if isinstance(result, RefusedReply)}
    assert len(refused) == 1
    (loser, refusal), winner = next(iter(refused.items())), next(iter(results.keys() - refused.keys()))
    assert refusal.code == "already_answered"
    assert winner in str(refusal)
    assert loser not in str(refusal)


def test_the_same_request_again_gets_the_same_answer_and_is_done_once(running, client):
    before = client.snapshot("lathe").n
    replies = [client.request("lot.change", "lathe", {"lot": "L1"}, request_id="a-request-1") for _ in range(3)]
    assert len({reply.model_dump_json() for reply in replies}) == 1
    assert client.snapshot("lathe").n == before + 1
    with pytest.raises(RefusedReply) as caught:
        client.request("lot.change", "lathe", {"lot": "L2"}, request_id="a-request-1")
    assert caught.value.code == "id_reused"


def test_a_refusal_is_remembered_too(running, client):
    def ask():
        with pytest.raises(RefusedReply) as caught:
            client.request("campaign.resume", "lathe", {}, request_id="a-request-2")
        return caught.value.reply

    first = ask()
    client.start("lathe")
    client.hold("lathe")
    assert ask() == first
    assert client.snapshot("lathe").mode == "Held"


def test_what_cannot_be_done_now_is_refused_with_what_can(running, client):
    with pytest.raises(RefusedReply, match="cannot be resumed; it can be"):
        client.resume("oven")
    with pytest.raises(RefusedReply, match="no campaign"):
        client.snapshot("nowhere")


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        (b"", "bad_request"),
        (b"hello", "bad_request"),
        (b'{"v":1,"id":"12345678","op":"ping","surprise":1}', "bad_request"),
        (b'{"v":1,"id":"12345678","op":"ping","body":{"x":NaN}}', "bad_request"),
        (b'{"v":9,"id":"12345678","op":"ping"}', "version"),
        (b'{"v":1,"id":"12345678","op":"pong"}', "unknown_op"),
        (b'{"v":1,"id":"12345678","op":"snapshot"}', "bad_request"),
        (
            b'{"v":1,"id":"12345678","op":"judgment.give","campaign":"oven","body":{"duel":"1","winner":1}}',
            "bad_request",
        ),
        (b'{"v":1,"id":"12345678","op":"ping","body":' + b'{"a":' * 5000 + b"1" + b"}" * 5000 + b"}", "bad_request"),
    ],
)
def test_nonsense_is_refused_and_the_daemon_lives_on(running, client, frame, code):

    context = zmq.Context()
    socket = context.socket(zmq.DEALER)
    socket.linger = 0
    socket.connect(f"ipc://{running.state / 'requests.sock'}")
    socket.send(frame)
    assert socket.poll(10_000)
    reply = json.loads(socket.recv())
    socket.close()
    context.term()
    assert (reply["status"], reply["code"]) == ("refused", code)
    assert reply["text"]
    client.ping()


def test_hello_tells_the_role_and_what_it_may_do(client):
    welcome = client.hello()
    assert welcome.role == "engineer"
    assert "proposal.approve" in welcome.ops
    with pytest.raises(RefusedReply, match="version 1"):
        client.request("hello", None, {"versions": [7]})


def test_a_campaign_can_be_created_over_the_wire_and_must_have_a_machine_of_its_own(client):
    client.create(campaign_text("saw", autostart=False).replace("saw-machine", "oven-machine"))
    with pytest.raises(RefusedReply) as caught:
        client.start("saw")
    assert caught.value.code == "machine_busy"
    with pytest.raises(RefusedReply, match="already"):
        client.create(campaign_text("saw"))
    with pytest.raises(RefusedReply, match="config:"):
        client.create("[[campaign]]\nname = 3")


def test_the_way_to_a_setting_can_be_seen_before_it_is_approved(client):
    plan = client.plan("oven", {"x1": 1.0, "x2": 1.0})
    assert plan.steps[-1] == {"x1": 1.0, "x2": 1.0}
    with pytest.raises(RefusedReply, match=r"between low \(0.0\) and high \(5.0\), not 9.0"):
        client.plan("oven", {"x1": 9.0, "x2": 1.0})


def test_a_second_daemon_for_the_same_state_is_told_who_has_it(running):
    again = subprocess.run(
        [sys.executable, "-m", "tuner", "run", str(running.config), "--state", str(running.state)],
        capture_output=True,
        text=True,
        timeout=PATIENT_S,
        check=False,
    )
    assert again.returncode == 75
    assert str(running.process.pid) in again.stderr


def test_sighup_reads_the_configuration_again_and_a_wrong_one_changes_nothing(running, client):
    text = running.config.read_text()
    running.config.write_text(text.replace("trials = 500", "trials = 600"))
    running.process.send_signal(signal.SIGHUP)
    view = until(client, "oven", lambda view: view.budget.trials == 600)
    running.wait_for("READY=1")
    running.config.write_text("this is wrong")
    running.process.send_signal(signal.SIGHUP)
    running.wait_for("READY=1")
    assert client.snapshot("oven").budget.trials == view.budget.trials
    running.wait_for_log("syntax")
    running.config.write_text(text)


def test_stop_brings_the_machine_home_and_start_goes_on(client):
    client.stop("oven", "end of shift")
    view = until(client, "oven", lambda view: view.machine.home and view.phase == "stopped")
    assert view.reason == "end of shift"
    client.start("oven")
    tune(client, "oven", lambda later: later.budget.spent > view.budget.spent)


def test_the_sockets_are_not_for_everybody(running):
    for name in ("requests.sock", "events.sock"):
        assert (running.state / name).stat().st_mode & 0o777 == 0o660
    assert (running.state / "requests.own").stat().st_mode & 0o777 == 0o600


def test_sigterm_leaves_machines_at_home_and_the_next_start_goes_on_where_it_was():
    with daemon(COMPUTE + campaign_text(trials=50, machine="seconds_per_trial = 0.05")) as running:
        running.start(watchdog_s=0.5)
        running.wait_for("WATCHDOG=1")
        with running.client() as client:
            tune(client, "press", lambda view: view.budget.spent >= 3)
        assert running.stop() == 0
        running.wait_for("STOPPING=1")
        assert not list(running.state.glob("*.sock")) + list(running.state.glob("*.own"))  # nobody was killed
        with running.journal() as store:
            rows = list(store.rows())
            assert store.verify().ok
        assert [row.type for row in rows if row.type.startswith("home")] == ["home_wanted", "home_answered"]
        assert json.loads(rows[-1].body)["result"] == "applied"
        running.start()
        with running.client() as client:
            view = tune(client, "press", lambda view: view.budget.spent >= 4)
        assert view.trial is None or view.trial.number <= 5
        assert running.stop(signal.SIGINT) == 0
        replayed = subprocess.run(
            [sys.executable, "-m", "tuner", "replay", "--state", str(running.state)],
            capture_output=True,
            text=True,
            timeout=PATIENT_S,
            check=False,
        )
        assert replayed.returncode == 0, replayed.stderr
        assert "every one identical" in replayed.stdout


def test_a_request_on_the_wire_is_what_the_document_says():
    assert Request(id="12345678", op="ping").model_dump() == {
        "v": 1,
        "id": "12345678",
        "op": "ping",
        "campaign": None,
        "actor": None,
        "session": None,
        "role": None,
        "body": {},
    }
