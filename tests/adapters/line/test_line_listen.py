"""Controllers that connect to tuner, word by word, with garbage and wrong reports."""

import pytest
import zmq
import zmq.auth

from tests.adapters.line.controllers import GOOD, PATIENT_S, eventually
from tuner.adapter import DeadlineError, LinkError, Outcome


def test_a_session_is_what_the_document_shows(listening, pool):
    adapter, asker = listening
    applying = pool.submit(adapter.apply, GOOD, PATIENT_S)
    job = asker.next_job()
    assert job == {"job": job["job"], "do": "apply", "setting": GOOD}
    assert asker.report(job, "applied") == {"v": 1, "id": "q1", "body": {"wanted": True}}
    applying.result(PATIENT_S)
    trial = pool.submit(adapter.run_trial, "T1", PATIENT_S)
    assert asker.next_job() == {"job": "run-T1", "do": "run", "tag": "T1"}
    assert asker.report("run-T1", "running")["body"] == {"wanted": True}
    assert asker.report("run-T1", "non-valid", reason="torn", measurements={"width_mm": 3})["body"] == {"wanted": True}
    assert trial.result(PATIENT_S) == Outcome(False, "torn", {"width_mm": 3.0})
    assert asker.ask("next")["body"] == {}


def test_a_controller_that_asks_again_gets_the_same_job(listening, make_asker, pool):
    adapter, asker = listening
    trial = pool.submit(adapter.run_trial, "T1", PATIENT_S)
    first = asker.next_job()
    assert asker.ask("next")["body"] == first
    asker.close()
    again = make_asker(zmq.DEALER)
    assert again.next_job() == first
    again.report(first, "valid")
    assert trial.result(PATIENT_S).valid


def test_a_report_for_a_job_already_reported_is_acknowledged_and_ignored(listening, pool):
    adapter, asker = listening
    trial = pool.submit(adapter.run_trial, "T1", PATIENT_S)
    asker.report(asker.next_job(), "valid", measurements={"mm": 1.0})
    assert asker.report("run-T1", "non-valid", reason="changed its mind")["body"] == {"wanted": False}
    assert trial.result(PATIENT_S) == adapter.run_trial("T1", PATIENT_S) == Outcome(True, "", {"mm": 1.0})


def test_an_outcome_that_comes_when_nobody_waits_is_not_lost(listening):
    adapter, asker = listening
    assert asker.report("run-T1", "valid", photo="T1.jpg")["body"] == {"wanted": False}
    assert adapter.run_trial("T1", PATIENT_S) == Outcome(True, photo="T1.jpg")


def test_a_tag_comes_back_as_it_was_given_whatever_is_in_it(listening, pool):
    adapter, asker = listening
    trial = pool.submit(adapter.run_trial, "é  \n7", PATIENT_S)
    job = asker.next_job()
    assert job["tag"] == "é  \n7"
    asker.report(job, "valid")
    assert trial.result(PATIENT_S).valid


def test_a_job_that_nobody_waits_for_is_not_handed_out(listening):
    adapter, asker = listening
    with pytest.raises(LinkError, match="silent since"):
        adapter.apply(GOOD, 0.05)
    assert asker.ask("next")["body"] == {}


def test_a_controller_that_lives_but_does_not_take_the_job_is_late(listening, pool):
    adapter, asker = listening
    applying = pool.submit(adapter.apply, GOOD, 0.5)
    while not applying.done():
        asker.ask("beat")
    with pytest.raises(DeadlineError, match=r"did not finish apply-\w+ within 0.5 s"):
        applying.result()


def test_a_controller_that_makes_a_part_is_not_well_enough_for_a_setting(listening, pool):
    adapter, asker = listening
    asking = pool.submit(adapter.health, PATIENT_S)
    while not asking.done():
        asker.report("run-T9", "running", text="step 3 of 5")
    assert (asking.result().ok, asking.result().text) == (False, "the controller is busy with run-T9")


def test_a_second_controller_is_turned_away_until_the_first_has_gone(listening, make_asker, pool):
    adapter, asker = listening
    second = make_asker()
    assert second.ask("next") == {
        "v": 1,
        "id": "q1",
        "error": "another controller is connected; only one can be served",
    }
    trial = pool.submit(adapter.run_trial, "T1", PATIENT_S)
    asker.next_job()
    assert "error" in second.report("run-T1", "non-valid", reason="an impostor")
    assert "error" in second.send(b"garbage")
    asker.report("run-T1", "valid")
    assert trial.result(PATIENT_S).valid
    asker.close()
    eventually(lambda: "error" not in second.ask("next"))


REPORT = {"job": "run-T1", "state": "valid"}
GARBAGE = {
    "no JSON": (b"\xff\xfe\x00", "Invalid JSON"),
    "nothing": (b"", "Invalid JSON"),
    "another version": (b'{"v":2,"id":1,"op":"next"}', "v: Input should be 1"),
    "no id": (b'{"v":1,"op":"next"}', "id: Field required"),
    "an unknown operation": (b'{"v":1,"id":1,"op":"stop"}', "op: Input should be"),
    "the wrong operation": (b'{"v":1,"id":1,"op":"job"}', 'asks "next"'),
    "an unknown field": (b'{"v":1,"id":1,"op":"next","x":1}', "x: Extra inputs are not permitted"),
    "a body too many": (b'{"v":1,"id":1,"op":"next","body":{"x":1}}', "must be empty"),
    "a list": (b"[" * 100_000, "the controller sent"),
    "too much": (b" " * 300_000, "sent 300000 bytes at once; at most 256000 are allowed"),
    "two frames": ([b"{}", b"{}"], "a message of 3 frames instead of one"),
}
WRONG_REPORTS = {
    "NaN": ({**REPORT, "measurements": {"mm": float("nan")}}, "mm: Input should be a finite number"),
    "an infinity": ({**REPORT, "measurements": {"mm": float("inf")}}, "mm: Input should be a finite number"),
    "a text as number": ({**REPORT, "measurements": {"mm": "1"}}, "mm: Input should be a valid number"),
    "a huge number": ({**REPORT, "measurements": {"mm": 10**400}}, "wrong report: valid.measurements.mm"),
    "an unknown field": ({**REPORT, "reason": "?"}, "reason: Extra inputs are not permitted"),
    "an unknown state": ({**REPORT, "state": "done"}, "does not match any of the expected tags"),
    "no state": ({"job": "run-T1"}, "Unable to extract tag"),
    "no job": ({"state": "valid"}, "job: Field required"),
    "no reason": ({**REPORT, "state": "non-valid"}, "reason: Field required"),
    "an empty reason": ({**REPORT, "state": "non-valid", "reason": " "}, "reason: Value error, must not be empty"),
    "a long reason": ({**REPORT, "state": "non-valid", "reason": "?" * 2000}, "reason: String should have at most"),
    "another job's answer": ({**REPORT, "state": "applied"}, 'says "applied" about run-T1, which is no answer'),
}


@pytest.mark.parametrize("kind", GARBAGE)
def test_garbage_from_a_controller_that_connects_is_told_to_both_sides(kind, listening, pool):
    adapter, asker = listening
    trial = pool.submit(adapter.run_trial, "T1", PATIENT_S)
    asker.next_job()
    payload, wrong = GARBAGE[kind]
    assert wrong in asker.send(payload)["error"]
    with pytest.raises(LinkError) as caught:
        trial.result(PATIENT_S)
    assert wrong in str(caught.value)
    trial = pool.submit(adapter.run_trial, "T1", PATIENT_S)
    asker.report(asker.next_job(), "valid")
    assert trial.result(PATIENT_S).valid


@pytest.mark.parametrize("kind", WRONG_REPORTS)
def test_a_wrong_report_of_a_controller_that_connects_fails_the_call_and_not_the_adapter(kind, listening, pool):
    adapter, asker = listening
    trial = pool.submit(adapter.run_trial, "T1", PATIENT_S)
    asker.next_job()
    body, wrong = WRONG_REPORTS[kind]
    asker.ask("report", **body)
    with pytest.raises(LinkError) as caught:
        trial.result(PATIENT_S)
    assert wrong in str(caught.value)
    assert asker.ask("beat")["body"] == {}


def test_a_message_that_libzmq_does_not_take_ends_the_connection_and_the_next_one_works(listening, make_asker, pool):
    adapter, asker = listening
    asker.socket.send(b" " * 2_000_000)
    trial = pool.submit(adapter.run_trial, "T1", PATIENT_S)
    again = make_asker()
    eventually(lambda: "error" not in again.ask("beat"))
    again.report(again.next_job(), "valid")
    assert trial.result(PATIENT_S).valid


@pytest.mark.parametrize(
    ("setting", "wrong"),
    [
        ({"speed": 120}, "it must have exactly"),
        ({**GOOD, "x": 1}, "it must have exactly"),
        ({**GOOD, "speed": 120.5}, "speed is 120.5, which is not a whole number"),
        ({**GOOD, "speed": True}, "setting.speed"),
        ({**GOOD, "heat": None}, "setting.heat"),
        ({**GOOD, "heat": float("nan")}, "setting.heat"),
        ({**GOOD, "heat": 10**400}, "setting.heat"),
        ({**GOOD, "nozzle": 3}, "nozzle is 3, which is not a text"),
    ],
)
def test_a_setting_that_makes_no_sense_is_not_believed(setting, wrong, listening, pool):
    adapter, asker = listening
    reading = pool.submit(adapter.read_back, PATIENT_S)
    asker.report(asker.next_job(), "setting", setting=setting)
    with pytest.raises(LinkError) as caught:
        reading.result(PATIENT_S)
    assert wrong in str(caught.value)


def test_whole_numbers_may_be_read_back_as_floats_and_the_other_way_round(listening, pool):
    adapter, asker = listening
    reading = pool.submit(adapter.read_back, PATIENT_S)
    asker.report(asker.next_job(), "setting", setting={**GOOD, "speed": 120.0, "heat": 180})
    assert repr(reading.result(PATIENT_S)) == repr(GOOD)


def test_a_job_that_failed_may_be_tried_again(listening, pool):
    adapter, asker = listening
    applying = pool.submit(adapter.apply, GOOD, PATIENT_S)
    asker.report(asker.next_job(), "failed", reason="the PLC\x1b[2J\ndid not answer")
    with pytest.raises(LinkError, match=r"could not do apply: the PLC \[2J did not answer"):
        applying.result(PATIENT_S)


def test_interlocks_and_a_refusal_are_passed_on_as_health(listening, pool):
    adapter, asker = listening
    asking = pool.submit(adapter.health, PATIENT_S)
    asker.report(asker.next_job(), "health", ok=True, interlocks={"guard closed": False})
    assert asking.result(PATIENT_S).interlocks == {"guard closed": False}
    asking = pool.submit(adapter.health, PATIENT_S)
    asker.report(asker.next_job(), "refused", reason="in service")
    assert (asking.result().ok, asking.result().text) == (False, "the controller refuses health: in service")


def test_an_ipc_path_that_another_process_listens_at_is_not_taken_over(listening, make_adapter):
    _, asker = listening
    with pytest.raises(LinkError, match=r"link\.lock: Resource temporarily unavailable"):
        make_adapter("listen").open(1.0)
    assert asker.ask("beat")["body"] == {}


def test_an_address_that_cannot_be_bound_is_told(make_adapter):
    with pytest.raises(LinkError, match="cannot be used"):
        make_adapter("listen", "tcp://no-such-interface:1", insecure=True).open(1.0)


def test_a_fault_of_ours_in_the_link_is_told_to_whoever_waits(listening, monkeypatch, pool):
    adapter, _ = listening

    def broken():
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(adapter._link, "_turn", broken)
    with pytest.raises(LinkError, match="the link to the controller has failed: RuntimeError"):
        adapter.apply(GOOD, PATIENT_S)
