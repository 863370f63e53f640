"""Receivers outside are told what happens: real programs, a real web server and a real broker, all on loopback."""

import json
import queue
import shutil
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from tests.adapters.mqtt.moulding_machine import Broker
from tests.daemon.running import campaign_text, daemon, tune
from tests.patience import PATIENT_S
from tests.tables.helpers import journal, tell
from tuner.campaign import commands as c
from tuner.config import parse_config
from tuner.config.notify import Notify
from tuner.errors import ConfigError
from tuner.journal.store import FILE_NAME, Store
from tuner.notify.courier import TRIES, Courier
from tuner.notify.ways import NotToldError, signature
from tuner.notify.ways import tell as send

ALL = ("question", "scrap", "complete", "stopped", "lot")


def target(**ways):
    return Notify(name="lead", **{"events": ALL, **ways})


class Receiver:
    """A web server that keeps what it is posted; `codes` are what it answers first."""

    def __init__(self, *codes):
        self.got: queue.Queue[tuple[dict[str, str], bytes]] = queue.Queue()
        waiting = list(codes)
        got = self.got

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                got.put((dict(self.headers), self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(waiting.pop(0) if waiting else 204)
                self.send_header("Location", "/elsewhere")
                self.end_headers()

            def log_message(self, *words):
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()
        self.address = f"http://127.0.0.1:{self.server.server_port}/hook"

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def receiver():
    made = Receiver()
    yield made
    made.close()


def test_a_command_gets_the_message_on_its_stdin_and_may_not_take_for_ever(tmp_path):
    out = tmp_path / "out"
    keep = f"import sys; open({str(out)!r}, 'w').write(sys.stdin.read())"
    send(target(command=(sys.executable, "-c", keep)), b'{"kind": "fault"}')
    assert out.read_text() == '{"kind": "fault"}'
    with pytest.raises(NotToldError, match="ended with 3: no paper"):
        send(target(command=(sys.executable, "-c", "import sys; sys.stderr.write('no paper'); sys.exit(3)")), b"")
    with pytest.raises(NotToldError, match="did not end within"):
        send(target(command=(shutil.which("sleep"), "600"), timeout_s=0.1), b"")


def test_a_webhook_is_signed_with_the_secret_and_follows_no_redirect(tmp_path, receiver):
    (tmp_path / "secret").write_text("hush\n")
    send(target(webhook=receiver.address, secret_file=tmp_path / "secret"), b'{"a": 1}', now=lambda: 1000.9)
    headers, body = receiver.got.get(timeout=PATIENT_S)
    assert body == b'{"a": 1}'
    assert headers["Tuner-Signature"] == signature(b"hush", 1000, b'{"a": 1}')
    assert headers["Tuner-Signature"] != signature(b"other", 1000, b'{"a": 1}')
    moved = Receiver(302)
    try:
        with pytest.raises(NotToldError, match="302"):
            send(target(webhook=moved.address), b"{}")
    finally:
        moved.close()


def test_an_mqtt_topic_gets_the_message(tmp_path):
    import paho.mqtt.client as paho
    from paho.mqtt.enums import CallbackAPIVersion

    broker = Broker(tmp_path)
    got: queue.Queue[bytes] = queue.Queue()
    ready = threading.Event()
    client = paho.Client(CallbackAPIVersion.VERSION2)
    client.on_message = lambda _, __, message: got.put(message.payload)
    client.on_subscribe = lambda *_: ready.set()
    client.on_connect = lambda *_: client.subscribe("plant/tuner", qos=1)
    try:
        client.connect("127.0.0.1", broker.port)
        client.loop_start()
        assert ready.wait(PATIENT_S)
        send(target(mqtt=f"mqtt://127.0.0.1:{broker.port}/plant/tuner"), b'{"b": 2}')
        assert got.get(timeout=PATIENT_S) == b'{"b": 2}'
    finally:
        client.disconnect()
        client.loop_stop()
        broker.stop()


class Kept:
    """A way that keeps what it is given, or fails first."""

    def __init__(self, failures=0):
        self.messages = []
        self.failures = failures
        self.calls = 0

    def __call__(self, target, data):
        self.calls += 1
        if self.calls <= self.failures:
            raise NotToldError("not now")
        self.messages.append(json.loads(data))


def courier(directory, kept, head=0, **options):
    made = Courier(target(command=("true",), **options), directory, send=kept, clock=lambda: 0.0)
    made._place.parent.mkdir(exist_ok=True)
    if made._told() is None:
        made._remember(head)
    return made


def test_a_receiver_goes_on_where_it_was_after_a_restart(tmp_path):
    journal(tmp_path)
    kept = Kept()
    courier(tmp_path, kept, per_hour=100).catch_up()
    kinds = [one["kind"] for one in kept.messages]
    assert kinds.count("question") == 3
    assert kinds.count("scrap") == 8
    assert kept.messages[0]["text"].startswith("press: ")
    with Store.open(tmp_path / FILE_NAME) as store:
        tell(store, "press", c.ChangeLot(lot="B7"))
    later = Kept()
    courier(tmp_path, later).catch_up()
    assert [one["text"] for one in later.messages] == ["press: the lot is B7 from now on"]


def test_a_new_receiver_begins_with_what_happens_from_now_on(tmp_path):
    journal(tmp_path)
    with Store.open_reading(tmp_path / FILE_NAME) as store:
        head = store.head[0]
    kept = Kept()
    courier(tmp_path, kept, head).catch_up()
    assert kept.messages == []


def test_too_many_for_the_hour_are_left_out_and_the_next_message_says_how_many(tmp_path):
    journal(tmp_path)
    kept = Kept()
    now = [0.0]
    made = courier(tmp_path, kept, per_hour=2)
    made._clock = lambda: now[0]
    made.catch_up()
    assert len(kept.messages) == 2
    now[0] = 3601.0
    with Store.open(tmp_path / FILE_NAME) as store:
        tell(store, "press", c.ChangeLot(lot="B7"))
    made.catch_up()
    assert kept.messages[-1]["left_out"] == 9


def test_nobody_hides_a_fault_behind_many_other_messages(tmp_path):
    journal(tmp_path)
    with Store.open(tmp_path / FILE_NAME) as store:
        for number in range(5):
            tell(store, "press", c.ChangeLot(lot=f"B{number}"))
        tell(store, "press", c.Abort(reason="smoke"))
    kept = Kept()
    courier(tmp_path, kept, events=(*ALL, "aborted"), per_hour=2).catch_up()
    assert [one["kind"] for one in kept.messages[2:]] == ["aborted"]
    assert kept.messages[2]["left_out"] > 5


def test_a_message_is_tried_again_and_given_up_in_the_end(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr("tuner.notify.courier.FIRST_PAUSE_S", 0.0)
    journal(tmp_path, trials=1)
    with Store.open_reading(tmp_path / FILE_NAME) as store:
        head = store.head[0]
    with Store.open(tmp_path / FILE_NAME) as store:
        tell(store, "press", c.ChangeLot(lot="B7"), c.ChangeLot(lot="B8"))
    kept = Kept(failures=TRIES + 1)
    courier(tmp_path, kept, head).catch_up()
    assert [one["text"] for one in kept.messages] == ["press: the lot is B8 from now on"]
    assert "lead was not told of event" in caplog.text


def test_only_the_campaigns_that_are_named_are_told_of(tmp_path):
    journal(tmp_path)
    kept = Kept()
    courier(tmp_path, kept, campaigns=("other",)).catch_up()
    assert kept.messages == []


def test_a_daemon_tells_its_receivers_and_one_that_never_answers_blocks_nothing(receiver, tmp_path):
    stuck = f'[[notify]]\nname = "stuck"\nevents = ["question"]\ncommand = ["{shutil.which("sleep")}", "30"]\n'
    hook = f'[[notify]]\nname = "hook"\nevents = ["complete"]\nwebhook = "{receiver.address}"\n'
    with daemon(campaign_text(trials=3) + stuck + hook) as running:
        running.start()
        with running.client() as client:
            tune(client, "press")
        _, body = receiver.got.get(timeout=PATIENT_S)
        assert json.loads(body)["text"] == "press: tuning is complete: the budget of 3 trials is used up"
        running.stop()


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ('name = "a"', "give one of command, webhook and mqtt"),
        ('name = "a"\ncommand = ["x"]\nwebhook = "http://h/"', "give one of command, webhook and mqtt"),
        ('name = "a"\nwebhook = "ftp://h/"', "is not an address such as 'https://host'"),
        ('name = "a"\nmqtt = "mqtt://h"', "is not an address such as 'mqtt://host/path'"),
        ('name = "a"\nwebhook = "https://u:p@h/"', "has a password in it"),
        ('name = "a"\nmqtt = "mqtt://h/t"\nsecret_file = "x"', "signs the messages of a webhook only"),
        ('name = "a"\ncommand = ["x"]\nevents = ["fire"]', 'must be "question", '),
        ('name = "a"\ncommand = ["x"]\n[[notify]]\nname = "a"\ncommand = ["x"]', 'another receiver has the name "a"'),
    ],
)
def test_a_wrong_receiver_is_an_error_of_the_configuration(lines, sentence):
    with pytest.raises(ConfigError) as caught:
        parse_config(campaign_text() + "[[notify]]\n" + lines + "\n", "test")
    assert sentence in str(caught.value)
