"""Commands against a real daemon."""

import json
import subprocess
import sys
import threading

import pytest

from tests.daemon.running import CREATE, campaign_text, daemon, until
from tests.wire.counterpart import Counterpart, reply
from tuner.wire import exchange


@pytest.fixture(scope="module")
def running():
    text = campaign_text("press", trials=500) + campaign_text("oven", trials=500, autostart=False)
    with daemon(CREATE + text) as one:
        yield one.start()


@pytest.fixture
def order(tuner, running):
    """Run a command on the daemon."""
    return lambda *arguments: tuner(*arguments, "--state", running.state)


def test_status_shows_every_campaign(order, running):
    done = order("status")
    assert done.exit_code == 0
    assert "press-machine" in done.stdout
    assert "0/500" in done.stdout
    assert "Tuning" in done.stdout  # the console's word
    assert "Answers" in done.stdout
    assert f"process {running.process.pid}" in done.stdout
    assert str(running.state) in done.stdout


def test_status_as_json_is_the_daemons_answer(order, running):
    body = json.loads(order("status", "--json").stdout)
    assert body["pid"] == running.process.pid
    assert [line["name"] for line in body["campaigns"]] == ["oven", "press"]


def test_a_campaign_is_led_through_its_states_by_commands(order, running):
    assert "oven: started (event " in order("campaign", "start", "oven").stdout
    assert "oven: held" in order("campaign", "hold", "oven", "--reason", "lunch").stdout
    with running.client() as client:
        view = client.snapshot("oven")
        assert (view.mode, view.reason) == ("Held", "lunch")
    refused = order("campaign", "start", "oven")
    assert refused.exit_code == 1
    assert "cannot be started" in refused.stderr
    assert "oven: resumed" in order("campaign", "resume", "oven").stdout
    assert "lot L5" in order("campaign", "lot", "oven", "L5").stdout
    assert "oven: stopped" in order("campaign", "stop", "oven").stdout
    with running.client() as client:
        until(client, "oven", lambda view: view.machine.home and view.machine.home_wanted is None)
    assert "known-good" in order("campaign", "home", "oven").stdout
    assert "aborted" in order("campaign", "abort", "oven").stdout


def test_judgments_and_trials_are_corrected_by_commands(order, running):
    with running.client() as client:
        view = until(client, "press", lambda view: view.duel is not None)
    left, right = view.duel.left.number, view.duel.right.number
    assert f"trial {left} is better" in order("campaign", "judge", "press", view.duel.number, left).stdout
    assert "judgment 1 is taken back" in order("campaign", "retract", "press", 1).stdout
    with running.client() as client:
        view = until(client, "press", lambda view: view.duel is not None)
    assert "cannot be told" in order("campaign", "tie", "press", view.duel.number).stdout
    assert "made again" in order("campaign", "repeat", "press", left).stdout
    told = order("campaign", "outcome", "press", right, "non-valid", "--reason", "it fell down")
    assert f"trial {right} is non-valid" in told.stdout
    assert "left out" in order("campaign", "exclude", "press", right, "--reason", "it fell down").stdout


def test_a_campaign_is_created_from_a_file(order, running, tmp_path):
    config = tmp_path / "new.toml"
    config.write_text(campaign_text("lathe", autostart=False, policy="undo_minutes = 5.0"))
    assert "created (event 1)" in order("campaign", "create", config).stdout
    again = order("campaign", "create", config)
    assert again.exit_code == 1
    assert "there is a campaign lathe already" in again.stderr
    config.write_text("[[campaign]]\n")
    wrong = order("campaign", "create", config)
    assert wrong.exit_code == 78
    assert f"{config}:1" in wrong.stderr


def test_approval_of_what_waits_for_none_is_refused(order):
    for verb in (["approve"], ["reject", "--reason", "too hot"]):
        done = order("campaign", verb[0], "press", 1, *verb[1:])
        assert done.exit_code == 1
        assert "waits for no approval" in done.stderr


def test_the_same_id_is_done_once(order, running):
    with running.client() as client:
        before = client.snapshot("press").lot
    first = order("campaign", "lot", "press", f"{before}X", "--id", "asked-again")
    again = order("campaign", "lot", "press", f"{before}X", "--id", "asked-again")
    assert first.stdout == again.stdout
    with running.client() as client:
        changed = [event for event in client.history("press", limit=500).events if event.type == "lot_changed"]
    assert len(changed) == 1


def test_an_unknown_campaign_is_told(order):
    done = order("campaign", "start", "pres")
    assert done.exit_code == 1
    assert 'there is no campaign "pres"; did you mean "press"?' in done.stderr
    assert 'there is no campaign "nothing"; known: "' in order("campaign", "hold", "nothing").stderr


def test_the_journal_knows_who_gave_the_order(order, running):
    order("campaign", "lot", "press", "by-cleo", "--actor", "cleo")
    with running.client() as client:
        event = next(event for event in client.history("press", limit=500).events if event.body.get("lot") == "by-cleo")
    assert event.actor == "cleo"


def test_doctor_finds_a_running_daemon_well_and_does_not_touch_its_machines(order, running):
    done = order("doctor", running.config)
    assert done.exit_code == 0, done.output
    assert "ok    daemon: tuner" in done.output
    assert "ok    journal:" in done.output
    assert "not asked: the daemon speaks with them" in done.output


def test_without_a_daemon_the_exit_code_is_69(tuner, tmp_path, monkeypatch):
    monkeypatch.setattr(exchange, "USUAL_S", 0.3)
    for arguments in (["status"], ["stop"], ["campaign", "start", "press"]):
        done = tuner(*arguments, "--state", tmp_path)
        assert done.exit_code == 69
        assert done.stderr.startswith("no daemon answers at ipc://")


def test_an_order_without_an_answer_names_the_id_to_ask_again(tuner, tmp_path, monkeypatch):
    monkeypatch.setattr(exchange, "USUAL_S", 2.0)
    with Counterpart(f"ipc://{tmp_path}/requests.sock", answer=lambda *_: []) as there:
        done = tuner("campaign", "start", "press", "--state", tmp_path)
    assert done.exit_code == 69
    assert there.got[0]["id"] in done.stderr


def test_what_is_typed_goes_before_the_environment(tuner, tmp_path):
    with Counterpart(f"ipc://{tmp_path}/requests.sock") as there:
        done = tuner("status", "--state", tmp_path, TUNER_CONNECT="tcp://127.0.0.1:1")
        assert done.exit_code == 1  # the counterpart's answer is no status
        assert len(there.got) == 1
        tuner("status", "--connect", f"ipc://{tmp_path}/requests.sock", TUNER_STATE="/elsewhere")
        assert len(there.got) == 2
    both = tuner("status", "--state", tmp_path, "--connect", "tcp://127.0.0.1:1")
    assert both.exit_code == 2
    assert "either --state" in both.stderr


def test_stop_ends_the_daemon_and_waits_until_it_has_gone(tuner):
    with daemon(campaign_text("press", autostart=False)) as one:
        one.start()
        pid = one.process.pid
        # the test is the daemon's parent and must take its end, or its process stays in the list
        ended = threading.Thread(target=one.process.wait)
        ended.start()
        done = tuner("stop", "--state", one.state)
        ended.join()
        assert done.exit_code == 0, done.output
        assert done.stdout.endswith(f"the daemon (process {pid}) has stopped\n")
        assert one.process.returncode == 0


def test_a_daemon_that_has_gone_before_it_could_answer_has_stopped(tuner, tmp_path, monkeypatch):
    monkeypatch.setattr("tuner.cli.stop._ANSWER_S", 1.0)
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    status = {
        "tuner": "0",
        "pid": ended.pid,
        "started_at": "",
        "now": "",
        "seq": 1,
        "state_directory": "",
        "compute": {},
    }
    asked = []

    def answer(request, _):
        asked.append(request["op"])
        return [] if "daemon.stop" in asked else [reply(request, body={**status, "campaigns": [], "compute": {}})]

    with Counterpart(f"ipc://{tmp_path}/requests.sock", answer=answer):
        done = tuner("stop", "--state", tmp_path)
    assert done.exit_code == 0, done.output
    assert "daemon.stop" in asked
    assert done.stdout == f"the daemon (process {ended.pid}) has stopped\n"


def test_who_finds_no_daemon_is_told_what_starts_one_where_it_was_looked_for(tuner, tmp_path, monkeypatch):
    monkeypatch.setattr(exchange, "USUAL_S", 0.3)
    there = tmp_path / "a press"
    assert f"`tuner run CONFIG --state '{there}'`" in tuner("status", "--state", there).stderr
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv("TUNER_STATE", raising=False)
    for command in (["status"], ["recipe", "lid"]):
        assert "--state DIR or TUNER_STATE" in tuner(*command).stderr
    stopped = tuner("stop", "--state", there)
    assert stopped.exit_code == 69
    assert "there is none to stop" in stopped.stderr
    assert "tuner run" not in stopped.stderr


def test_status_tells_that_limits_cannot_change_and_what_may_change_is_taken(tuner):
    with daemon(campaign_text("press", trials=500, autostart=False)) as running:
        running.start()
        before = running.config.read_text()
        running.reload(before.replace("high = 5.0", "high = 4.5", 1).replace("trials = 500", "trials = 60"))
        shown = tuner("status", "--state", running.state).stdout
        assert "0/60" in shown
        assert ".high" in shown
        assert "`tuner import`" in shown
        running.reload(before)
        shown = tuner("status", "--state", running.state).stdout
        assert "0/500" in shown
        assert "`tuner import`" not in shown
