"""Controllers that tuner connects to, word by word; and no bytes do harm."""

import contextlib
import json

import pytest
import zmq
import zmq.auth
from hypothesis import given
from hypothesis import strategies as st

from adapters.line import LineAdapter
from adapters.line.adapter import LineSettings
from adapters.line.protocol import NonsenseError, Reply, Request, message_from, report_from
from tests.adapters.line.controllers import PARAMETERS, PATIENT_S
from tuner.adapter import LinkError, Outcome


def test_a_controller_that_listens_hears_the_same_job_until_it_has_an_outcome(connected, answerer, pool):
    trial = pool.submit(connected.run_trial, "T1", PATIENT_S)
    for _ in range(3):
        request = answerer.next_job()
        assert request["body"] == {"job": "run-T1", "do": "run", "tag": "T1"}
        answerer.answer(request, job="run-T1", state="running")
    answerer.answer(answerer.next_job(), job="run-T1", state="valid", measurements={"mm": 2})
    assert trial.result(PATIENT_S) == Outcome(True, "", {"mm": 2.0})


def test_a_controller_that_listens_hears_beats_while_nobody_has_a_job(connected, answerer):
    for _ in range(3):
        request = answerer.take()
        assert request["op"] == "beat"
        answerer.answer(request)


def test_a_question_without_an_answer_is_asked_again_and_a_late_answer_to_it_ignored(connected, directory, pool):
    """The controller has several connections here: the one that did not answer, and the new one."""
    address = f"ipc://{directory}/other"
    context = zmq.Context()
    router = context.socket(zmq.ROUTER)
    router.linger, router.rcvtimeo = 0, int(PATIENT_S * 1000)
    router.bind(address)
    adapter = LineAdapter(LineSettings(mode="connect", address=address, beat_s=0.1, silent_s=3.0), PARAMETERS)

    def take():
        *envelope, payload = router.recv_multipart()
        return envelope, json.loads(payload)

    def answer(envelope, request, **body):
        router.send_multipart([*envelope, json.dumps({"v": 1, "id": request["id"], "body": body}).encode()])

    opening = pool.submit(adapter.open, PATIENT_S)
    answer(*take())
    opening.result(PATIENT_S)
    trial = pool.submit(adapter.run_trial, "T1", PATIENT_S)
    while (taken := take())[1]["op"] == "beat":
        answer(*taken)
    again = take()
    assert again[1]["body"] == taken[1]["body"]
    assert again[0] != taken[0]
    answer(*taken, job="run-T1", state="non-valid", reason="too late")
    answer(*again, job="run-T1", state="valid")
    assert trial.result(PATIENT_S).valid
    adapter.close()
    context.destroy(linger=0)


@pytest.mark.parametrize(
    ("answer", "wrong"),
    [
        (b"\xff", "Invalid JSON"),
        (b'{"v":1,"id":ID,"error":"what?"}', "the controller did not understand: what?"),
        (b'{"v":1,"id":ID,"body":{"job":"run-T2","state":"valid"}}', "asked about run-T1 and answered about run-T2"),
        (b'{"v":1,"id":ID,"body":{"job":"run-T1","state":"valid","measurements":{"mm":NaN}}}', "finite number"),
        (b'{"v":1,"id":ID,"body":{"job":"run-T1","state":"valid","measurements":{"mm":1e999}}}', "finite number"),
        (b'{"v":1,"id":ID,"body":{"job":"run-T1","state":"applied"}}', "which is no answer to it"),
        (b'{"v":1,"id":ID,"body":{}}', "Unable to extract tag"),
        (b" " * 300_000, "sent 300000 bytes at once"),
    ],
)
def test_garbage_from_a_controller_that_listens_fails_the_call_and_not_the_adapter(
    answer, wrong, connected, answerer, pool
):
    trial = pool.submit(connected.run_trial, "T1", PATIENT_S)
    request = answerer.next_job()
    answerer.socket.send(answer.replace(b"ID", str(request["id"]).encode()))
    with pytest.raises(LinkError) as caught:
        trial.result(PATIENT_S)
    assert wrong in str(caught.value)
    trial = pool.submit(connected.run_trial, "T1", PATIENT_S)
    answerer.answer(answerer.next_job(), job="run-T1", state="valid")
    assert trial.result(PATIENT_S).valid


def test_an_answer_to_no_question_is_not_listened_to_and_the_question_is_asked_again(connect, answerer, pool):
    trial = pool.submit(connect(silent_s=6.0).run_trial, "T1", PATIENT_S)
    answerer.next_job()
    answerer.socket.send(b'{"v":1,"id":null,"error":"what?"}')
    answerer.answer(answerer.next_job(), job="run-T1", state="valid")
    assert trial.result(PATIENT_S).valid


def test_a_beat_answered_with_a_body_is_told(answerer, make_adapter, pool):
    opening = pool.submit(make_adapter("connect").open, PATIENT_S)
    answerer.answer(answerer.take(), ok=True)
    with pytest.raises(LinkError, match=r'answered "beat" with a body'):
        opening.result(PATIENT_S)


@given(st.binary() | st.text().map(str.encode))
def test_no_bytes_can_do_more_than_be_called_nonsense(payload):
    for kind in (Request, Reply):
        with contextlib.suppress(NonsenseError):
            message_from(payload, kind)


leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
bodies = st.fixed_dictionaries(
    {"job": st.just("run-T1") | leaves, "state": st.sampled_from(["valid", "non-valid", "setting", "health"]) | leaves},
    optional={
        name: leaves | st.dictionaries(st.text(), leaves)
        for name in ("setting", "measurements", "interlocks", "ok", "text", "reason", "photo")
    },
)


@given(bodies)
def test_no_report_can_do_more_than_be_called_nonsense(body):
    with contextlib.suppress(NonsenseError):
        report_from(body)
