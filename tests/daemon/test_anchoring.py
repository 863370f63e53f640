"""Anchors that leave the host: a real broker, a real web server, and a journal that is written anew afterwards."""

import asyncio
import json
import os
import queue
import threading

import pytest
from click.testing import CliRunner

from tests.adapters.mqtt.moulding_machine import Broker
from tests.daemon.running import campaign_text, daemon
from tests.journal.test_anchors import rewrite
from tests.notify.test_notify import Receiver
from tests.patience import PATIENT_S
from tuner.cli.main import cli
from tuner.config import parse_config
from tuner.config.notify import Notify
from tuner.daemon import anchoring
from tuner.daemon.anchoring import Anchoring, AnchorPlan, plan_of
from tuner.daemon.troubles import Troubles
from tuner.journal.anchor import Anchor
from tuner.notify.ways import signature

RECEIVERS = """
[daemon]
anchor_minutes = 0.0001
[[notify]]
name = "archive"
events = ["anchor"]
webhook = "{webhook}"
secret_file = "{secret}"
[[notify]]
name = "broker"
events = ["anchor"]
mqtt = "{mqtt}"
"""


def last_of(port, topic):
    """What a broker keeps of a topic, for whoever comes later."""
    import paho.mqtt.client as paho
    from paho.mqtt.enums import CallbackAPIVersion

    got: queue.Queue[bytes] = queue.Queue()
    client = paho.Client(CallbackAPIVersion.VERSION2)
    client.on_message = lambda _, __, message: got.put(message.payload)
    client.on_connect = lambda *_: client.subscribe(topic, qos=1)
    client.connect("127.0.0.1", port)
    client.loop_start()
    try:
        return got.get(timeout=PATIENT_S)
    finally:
        client.disconnect()
        client.loop_stop()


def verify(state, file):
    return CliRunner().invoke(cli, ["journal", "verify", "--state", str(state), "--anchor", str(file)])


@pytest.fixture
def receiver():
    made = Receiver()
    yield made
    made.close()


def test_a_journal_written_anew_is_found_by_what_a_broker_and_a_web_server_kept(tmp_path, receiver):
    broker, secret = Broker(tmp_path), tmp_path / "secret"
    secret.write_text("hush\n")
    mqtt = f"mqtt://127.0.0.1:{broker.port}/plant/anchors"
    text = RECEIVERS.format(webhook=receiver.address, secret=secret, mqtt=mqtt) + campaign_text(autostart=False)
    try:
        with daemon(text) as running:
            running.start()
            with running.client() as client:
                client.request("lot.change", "press", {"lot": "L1"})
            headers, told = receiver.got.get(timeout=PATIENT_S)
            moment, _, _ = headers["Tuner-Signature"].removeprefix("t=").partition(",")
            assert headers["Tuner-Signature"] == signature(b"hush", int(moment), told)
            assert running.stop() == 0
            posted = [told, *(receiver.got.get()[1] for _ in range(receiver.got.qsize()))]
            (tmp_path / "posted").write_bytes(b"".join(line + b"\n" for line in posted))
            (tmp_path / "published").write_bytes(last_of(broker.port, "plant/anchors") + b"\n")
            last = json.loads(posted[-1])["anchor"]
            with running.journal() as store:
                assert (last["seq"], last["head"]) == store.head, "the last anchor is of the end"
            for name in ("posted", "published"):
                done = verify(running.state, tmp_path / name)
                assert done.exit_code == 0, done.output
            rewrite(running.state, actor="somebody else")
            for name in ("posted", "published"):
                done = verify(running.state, tmp_path / name)
                assert done.exit_code == 1
                assert "the journal was written anew" in done.output
    finally:
        broker.stop()


def test_a_receiver_that_does_not_answer_is_an_alarm_until_it_does_and_delays_no_other(tmp_path):
    file = tmp_path / "anchors"
    failed: dict[str, str] = {}
    target = Notify(name="archive", events=("anchor",), webhook="http://127.0.0.1:9/none", timeout_s=1.0)

    async def run():
        async def make():
            return Anchor("2026-03-02T08:00:00Z", 1, "abc")

        plan = AnchorPlan(file, 60.0, "secret", (target,))
        now_s = [0.0]
        one = Anchoring(plan, make, failed.__setitem__, Troubles(), lambda: now_s[0])
        now_s[0] = 61.0
        one.look()
        await asyncio.gather(*(task for task in asyncio.all_tasks() if task.get_name().startswith("anchor for")))
        assert failed["archive"] != ""
        assert failed[str(file)] == ""
        assert len(file.read_text().splitlines()) == 1
        receiver = Receiver()
        object.__setattr__(target, "webhook", receiver.address)
        await one.close()
        receiver.close()
        assert failed["archive"] == ""

    asyncio.run(run())


def test_receivers_of_anchors_need_no_file_and_without_either_there_is_no_plan(tmp_path):
    told = '[[notify]]\nname = "archive"\nevents = ["anchor"]\nwebhook = "http://127.0.0.1/x"\n' + campaign_text()
    config = parse_config(told, "here")
    plan = plan_of(config.daemon, config.notify, tmp_path)
    assert (plan.file, [one.name for one in plan.receivers]) == (None, ["archive"])
    assert plan_of(config.daemon, (), tmp_path) is None


def test_a_place_that_hangs_is_an_alarm_until_it_lets_go_and_the_daemon_ends_without_it(tmp_path, monkeypatch):
    file, let_go, written = tmp_path / "anchors", threading.Event(), []
    monkeypatch.setattr(anchoring, "LIMIT_S", 0.1)
    monkeypatch.setattr(anchoring.anchors, "write", lambda _, anchor: (let_go.wait(PATIENT_S), written.append(anchor)))
    failed: dict[str, str] = {}
    now_s = [0.0]

    def under_way(kind):
        return [task for task in asyncio.all_tasks() if task.get_name().startswith(kind)]

    async def make():
        return Anchor("2026-03-02T08:00:00Z", 1, "abc")

    async def look(one):
        now_s[0] += 100.0
        one.look()
        await asyncio.gather(*under_way("anchor for"))

    async def run():
        plan = AnchorPlan(file, 60.0, "secret")
        one, other = (Anchoring(plan, make, failed.__setitem__, Troubles(), lambda: now_s[0]) for _ in range(2))
        await look(one)
        assert "it may hang" in failed[str(file)]
        await look(one)
        assert len(under_way("sending")) == 1, "another thread would hang as well"
        await one.close()
        await look(other)
        let_go.set()
        await asyncio.gather(*under_way("sending"))
        await look(other)
        assert failed[str(file)] == ""
        await other.close()

    asyncio.run(run())
    assert len(written) >= 3


@pytest.mark.slow
def test_a_daemon_ends_although_its_anchors_place_hangs(tmp_path):
    file = tmp_path / "anchors"
    os.mkfifo(file)  # opening it waits for a reader, as a share waits for its host
    with daemon(f'[daemon]\nanchor_file = "{file}"\n' + campaign_text(autostart=False)) as running:
        running.start()
        assert running.stop() == 0
