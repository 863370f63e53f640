"""The daemon and its journal: windows, campaigns that cannot be read, damage far back, files that were taken away."""

import contextlib
import shutil
import socket

import pytest
from click.testing import CliRunner

from tests.daemon.running import campaign_text, daemon, reached_at, tune
from tests.daemon.test_daemon_troubles import HOME, remembering, setting_of
from tests.journal.helpers import tampering
from tests.journals.make import expected, restore
from tests.patience import PATIENT_S
from tuner.cli.main import cli
from tuner.journal import NewRow, Store
from tuner.wire.client import Client
from tuner.wire.errors import DeniedReply, FailedReply, NoReplyError, RefusedReply
from tuner.wire.key_ring import KeyRing

pytestmark = pytest.mark.timeout(300)  # several starts of a daemon, on a machine that may be busy

AT = "2026-03-02T08:00:00.000000Z"
QUIET = 'champion_reduel_hours = 12.0\n[campaign.policy.questions]\ntimezone = "Europe/Vienna"\n'
# quiet but for the minute around now would be a matter of luck: a window of one minute shows the same
QUIET += 'quiet_hours = ["02:59-03:00"]\nbreaks = ["23:59-00:00"]\n'


def tuner(running, *arguments: object):
    return CliRunner().invoke(cli, [*map(str, arguments), "--state", str(running.state)])


def test_a_campaign_with_quiet_hours_goes_on_after_a_restart():
    with daemon(campaign_text(policy=QUIET, trials=2)) as running:
        running.start()
        with running.client() as client:
            before = client.config("press").terms
            assert before["policy"]["questions"]["quiet_hours"] == [{"start": "02:59:00", "end": "03:00:00"}]
        assert running.stop() == 0
        running.start()
        with running.client() as client:
            assert client.config("press").terms == before
            assert tune(client, "press").mode == "Complete"
        assert running.stop() == 0
        assert "ok: " in tuner(running, "journal", "verify").stdout
        page = running.directory / "page.html"
        assert tuner(running, "report", "press", "--out", page).exit_code == 0


def test_a_journal_of_0_1_0_with_windows_is_gone_on_with():
    with daemon(campaign_text("other")) as running:
        restore("0.1.0", running.state)
        running.start()
        with running.client() as client:
            known = expected("0.1.0")["campaigns"]["dry"]
            assert client.snapshot("dry").mode == known["mode"]
            assert client.snapshot("mould").champion.number == expected("0.1.0")["campaigns"]["mould"]["champion"]
            client.hold("dry")
            tune(client, "other", lambda view: view.budget.spent >= 2)
        assert running.stop() == 0
        assert tuner(running, "journal", "verify").exit_code == 0


def test_a_campaign_that_cannot_be_read_is_set_aside_and_stops_nobody():
    with daemon(campaign_text("good", trials=1) + campaign_text("bad", trials=3)) as running:
        running.start()
        assert running.stop() == 0
        with Store.open(running.state / "journal.sqlite") as store:
            store.append([NewRow("bad", AT, "melted", '{"type":"melted"}', "eve")])
            number = store.head[0]
        running.start()
        why = f"event {number} cannot be read: no event 'melted' is known to this version of tuner"
        with running.client() as client:
            body = client.status()
            assert [line.name for line in body.campaigns] == ["good"]
            assert [(aside.name, aside.why) for aside in body.set_aside] == [("bad", why)]
            for ask in (client.start, client.stop, client.snapshot, client.history):
                with pytest.raises(RefusedReply, match="the campaign bad is set aside") as caught:
                    ask("bad")
                assert caught.value.code == "unreadable"
            assert tune(client, "good").mode == "Complete"  # follows all campaigns, too
        shown = tuner(running, "status")
        assert shown.exit_code == 0
        assert f"bad is set aside, because it cannot be read: {why}" in shown.stdout.replace("\n", " ")
        page, copy = running.directory / "page.html", running.directory / "copy.sqlite"
        assert tuner(running, "report", "good", "--out", page).exit_code == 0
        refused = tuner(running, "report", "bad", "--out", page)
        assert (refused.exit_code, refused.stderr) == (1, f"{why}\n")
        assert tuner(running, "journal", "backup", copy).exit_code == 0
        verified = tuner(running, "journal", "verify")
        assert verified.exit_code == 1
        assert f"campaign bad: {why}" in verified.stderr
        replayed = tuner(running, "replay")
        assert replayed.exit_code == 1
        assert "not all campaigns can be read" in replayed.stderr
        assert running.stop() == 0
        assert f"bad is set aside, because it cannot be read: {why}" in running.log()
        assert "the campaign bad is set aside" in running.log()  # the configuration still names it


@pytest.mark.parametrize(("suffix", "replaced"), [("", False), ("-wal", True)])
def test_files_taken_away_under_the_daemon_end_it_and_the_machine_goes_home(suffix, replaced):
    with daemon("") as running:
        remembering(running)
        running.start()
        file = running.state / f"journal.sqlite{suffix}"
        with running.client() as client:
            tune(client, "press", lambda view: view.budget.spent >= 3 and view.duel is not None)
            assert setting_of(running) != HOME
            lot = client.snapshot("press").lot
            if replaced:
                shutil.copyfile(file, running.directory / "copy")
                (running.directory / "copy").replace(file)
            else:
                file.unlink()
            with pytest.raises((FailedReply, NoReplyError), match=r"nothing was written down|may or may not"):
                client.change_lot("press", "L-lost")
        assert running.process.wait(PATIENT_S) == 1
        assert lot == ""
        assert setting_of(running) == HOME
        what = "replaced" if replaced else "removed"
        running.wait_for_log(f"{file} was {what} under the running daemon: what is written now is lost")
        running.wait_for_log("the machine is at its known-good setting; the journal does not say so")


def test_a_new_journal_that_was_taken_away_is_missed_at_the_next_start():
    with daemon("") as running:
        remembering(running)
        running.start()
        for suffix in ("", "-wal", "-shm"):
            (running.state / f"journal.sqlite{suffix}").unlink()
        running.kill()
        running.start(wait=False)
        assert running.process.wait(PATIENT_S) == 1
        assert "is gone or empty, but it had" in running.log()


@pytest.mark.slow
def test_damage_far_back_is_found_after_the_start_and_before_the_next():
    with daemon(campaign_text(trials=2)) as running:
        running.start()
        with running.client() as client:
            for number in range(150):
                client.change_lot("press", f"L-{number}")
        assert running.stop() == 0
        with tampering(running.state / "journal.sqlite") as connection:
            connection.execute("UPDATE journal SET actor = 'eve' WHERE seq = 3")
        running.start(wait=False)
        assert running.process.wait(PATIENT_S) == 1
        assert "event 3: the event or its hash was changed" in running.log()
        assert "stopping: the journal is damaged" in running.log()
        begun = running.log().count("ready: ")
        running.start(wait=False)
        assert running.process.wait(PATIENT_S) == 1
        assert running.log().count("ready: ") == begun, "the next start begins no work"


def test_an_id_belongs_to_the_key_that_sent_it():
    """A viewer's refused request must not spoil an operator's, nor one operator's another's."""
    with daemon("") as running:
        ports = free_ports(2)
        ends = [f"tcp://127.0.0.1:{port}" for port in ports]
        network = reached_at(ends)
        running.config.write_text(network + campaign_text("press", autostart=False))
        running.start()
        ring = KeyRing.open(running.state)
        roles = {"eye": "viewer", "op1": "operator", "op2": "operator"}
        keys = {name: ring.new(name, role, requests=ends[0], events=ends[1]) for name, role in roles.items()}
        with (
            Client.connect(key=keys["eye"]) as eye,
            Client.connect(key=keys["op1"]) as op1,
            Client.connect(key=keys["op2"]) as op2,
            running.client() as local,
        ):

            def change(client: Client, lot: str) -> dict:
                return client.request("lot.change", "press", {"lot": lot}, request_id="one-and-the-same-id").body

            with pytest.raises(DeniedReply):
                change(eye, "L0")
            with pytest.raises(RefusedReply, match="cannot be resumed"):
                op2.request("campaign.resume", "press", {}, request_id="one-and-the-same-id")
            first = change(op1, "L1")
            assert change(op1, "L1") == first
            assert change(local, "L2") == {"n": first["n"] + 1}
            assert change(op1, "L1") == first
            for client, lot in ((op1, "L3"), (op2, "L1")):  # each has its own memory of this id, and no other
                with pytest.raises(RefusedReply) as caught:
                    change(client, lot)
                assert caught.value.code == "id_reused"
            assert local.snapshot("press").lot == "L2"
        assert running.stop() == 0


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        taken = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [one.getsockname()[1] for one in taken]


def test_a_changed_reply_is_found_after_the_start():
    with daemon(campaign_text(autostart=False)) as running:
        running.start()
        with running.client() as client:
            client.change_lot("press", "L-1")
        assert running.stop() == 0
        with tampering(running.state / "journal.sqlite") as connection:
            connection.execute("UPDATE replies SET digest = 'x'")
        running.start(wait=False)
        assert running.process.wait(PATIENT_S) == 1
        assert "the reply 1 or its hash was changed" in running.log()
        begun = running.log().count("ready: ")
        running.start(wait=False)
        assert running.process.wait(PATIENT_S) == 1
        assert running.log().count("ready: ") == begun, "the next start begins no work"
