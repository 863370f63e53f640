"""The journal and the wire read what they write: every model, as JSON and back, is what it was."""

import json
from datetime import datetime
from typing import get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter

from tests.journal.models import WHOLE, found, instances, values
from tuner.basics.times import text_of
from tuner.campaign import events as e
from tuner.campaign.commands import Command, CommandBase
from tuner.campaign.evolve import Recorded, parsed
from tuner.campaign.state import State
from tuner.daemon.journal_thread import STATE
from tuner.daemon.views import event_message
from tuner.journal.chain import canonical
from tuner.report.story import recorded
from tuner.wire import exchange
from tuner.wire.messages import EventMessage, Message, Reply
from tuner.wire.operations import OPS

KINDS = found()
EVENTS = [kind for kind in KINDS if issubclass(kind, e.EventBase) and "type" in kind.model_fields]
RARELY_RIGHT = [HealthCheck.filter_too_much, HealthCheck.too_slow, HealthCheck.data_too_large]
some = settings(max_examples=settings.default.max_examples // 3, deadline=None, suppress_health_check=RARELY_RIGHT)


def test_the_walk_finds_what_is_journaled_and_sent():
    names = {kind.__name__ for kind in KINDS}
    assert {"Window", "Questions", "Terms", "AdapterTerms", "Stepped", "Choice", "Memory", "CampaignTrial"} <= names
    assert {
        "CampaignCreated",
        "Judge",
        "Propose",
        "StatusBody",
        "CampaignView",
        "Request",
        "State",
        "MachineState",
    } <= names
    assert {kind for op in OPS.values() for kind in (op.body,)} <= set(KINDS)
    assert set(WHOLE) <= set(KINDS)  # no hint for what is no more


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@some
@given(data=st.data())
def test_every_model_comes_back_from_its_json(kind, data):
    made = data.draw(instances(kind))
    if not issubclass(kind, BaseModel):
        adapter = TypeAdapter(kind)
        assert adapter.validate_json(adapter.dump_json(made)) == made
        return
    for text in (canonical(made.model_dump(mode="json")), made.model_dump_json()):
        again = kind.model_validate_json(text)
        assert again == made
        assert canonical(again.model_dump(mode="json")) == canonical(made.model_dump(mode="json"))


@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: kind.__name__)
@some
@given(data=st.data(), at=values(datetime))
def test_every_event_comes_back_from_the_journal_and_from_the_wire(kind, data, at):
    one = Recorded(7, at, "anna", data.draw(instances(kind)))
    assert parsed(7, text_of(at), "anna", canonical(one.event.model_dump(mode="json"))) == one
    sent = EventMessage.model_validate_json(event_message("press", one, 3).model_dump_json())
    untold = "model" in type(one.event).model_fields  # what the model remembers stays in the daemon
    expected = one.event.model_copy(update={"model": None}) if untold else one.event
    assert recorded(sent) == Recorded(7, at, "anna", expected)


@some
@given(state=instances(State))
def test_a_state_comes_back_from_its_snapshot(state):
    assert STATE.validate_json(STATE.dump_json(state)) == state


@pytest.mark.parametrize("op", sorted(OPS))
@some
@given(data=st.data())
def test_every_body_comes_back_from_its_request(op, data):
    body = data.draw(instances(OPS[op].body))
    frame = exchange.encode(exchange.compose(op, "press", "anna", body, None))
    again = OPS[op].body.model_validate_json(json.dumps(json.loads(frame)["body"]))
    assert again == body


@pytest.mark.parametrize("kind", [kind for kind in KINDS if issubclass(kind, Message)], ids=lambda kind: kind.__name__)
@some
@given(data=st.data())
def test_every_answer_comes_back_from_its_reply(kind, data):
    body = data.draw(instances(kind))
    reply = Reply(id="12345678", status="done", body=body.model_dump(mode="json"))
    assert exchange.answer(exchange.decode([reply.model_dump_json().encode()]), kind) == body


def test_every_event_and_command_is_in_its_union():
    """A model that is in no union is written and never read."""
    assert set(EVENTS) == set(get_args(get_args(e.Event)[0]))
    assert {kind for kind in KINDS if issubclass(kind, CommandBase)} - {CommandBase} == set(get_args(Command))
