"""Reading requests and writing replies: whatever is in them, the next step has something to work with."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.campaign.decide import Refusal
from tuner.daemon.intake import body_of, encoded, id_of, parsed, quick_id_of
from tuner.wire.messages import Reply, Request
from tuner.wire.operations import OPS


@pytest.mark.parametrize(
    ("content", "identity"),
    [
        (b'{"id":"12345678","op":3}', "12345678"),
        (b'{"id":"12345678","actor":"\\ud800"}', "12345678"),
        (b'{"id":"\\ud800aaaaaaaaa"}', ""),
        (b'{"id":"short"}', ""),
        (b'{"id":"' + b"x" * 65 + b'"}', ""),
        (b'{"id":"1234567\\n"}', ""),
        (b'{"id":"12345678\\n"}', ""),
        (b'{"id":12345678}', ""),
        (b"[]", ""),
        (b"", ""),
        (b"\xff\xfe", ""),
        (b'{"id":"12345678","body":' + b"9" * 5000 + b"}", "12345678"),
        (b'{"id":"12345678","body":' + b"[" * 9000, "12345678"),
        (b'{"id":"12345678","op":"\xff"}', "12345678"),
        (b'{"body":{"id":"12345678"}}', ""),
    ],
)
def test_only_a_good_id_is_repeated(content, identity):
    assert id_of(content) == identity


def test_an_id_before_or_behind_a_large_body_is_seen_without_reading_it():
    body = json.dumps({"config": "x" * 100_000, "deep": {"id": "notmyid-"}})
    assert quick_id_of(f'{{"v":1, "id" : "12345678","body":{body}}}'.encode()) == "12345678"
    assert quick_id_of(f'{{"v":1,"body":{body},"op":"x", "id":"12345678"}}'.encode()) == "12345678"
    assert quick_id_of(f'{{"v":1,"body":{body}}}'.encode()) == ""


@given(st.text(st.characters()) | st.just("\ud800"), st.text(st.characters(categories=["Cs", "L"])))
def test_every_reply_can_be_written(text, name):
    reply = Reply(id="", status="failed", text=text, body={"name": [name, {"deep": text}]})
    assert json.loads(encoded(reply))["status"] == "failed"


def test_the_reason_of_a_refusal_is_short_and_printable_whatever_was_sent():
    content = json.dumps({"id": "12345678", "op": "ping", "x" * 100_000: 1, "\x1b[31m": 2}).encode()
    with pytest.raises(Refusal) as caught:
        parsed(content)
    assert len(caught.value.text) < 2000
    assert caught.value.text.isprintable()


@pytest.mark.parametrize("number", ["9" * 400, "-" + "9" * 400, "1e999", "9" * 4299])
def test_a_number_that_no_machine_has_is_a_bad_request(number):
    request = parsed(b'{"id":"12345678","op":"plan","campaign":"c","body":{"setting":{"x":%s}}}' % number.encode())
    with pytest.raises(Refusal) as caught:
        body_of(OPS["plan"], request)
    assert caught.value.code == "bad_request"


@pytest.mark.parametrize(
    ("op", "field"), [("judgment.give", "duel"), ("proposal.approve", "trial"), ("history", "limit")]
)
def test_whole_numbers_may_be_written_with_a_point_and_others_are_refused(op, field):
    def made(text):
        body = {"duel": 7, "winner": 7, "trial": 7, "limit": 7}
        fields = {name: value for name, value in body.items() if name in OPS[op].body.model_fields}
        sent = json.dumps({"id": "12345678", "op": op, "campaign": "c", "body": {**fields, field: "@"}})
        return getattr(body_of(OPS[op], parsed(sent.replace('"@"', text).encode())), field)

    assert [made("1"), made("1.0"), made("1e0")] == [1, 1, 1]
    assert type(made("1.0")) is int
    for wrong in ("1.5", "1e400", "true" if op != "history" else "[]", "null"):
        with pytest.raises(Refusal):
            made(wrong)


def test_the_version_may_be_written_with_a_point():
    assert Request.model_validate_json('{"v":1.0,"id":"12345678","op":"ping"}').v == 1
