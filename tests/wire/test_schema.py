"""`tuner schema` against an independent validator: what the daemon says is what it says, and requests are strict."""

import json
from datetime import UTC, datetime
from functools import cache

import pytest
import zmq
from jsonschema import Draft202012Validator

from tests.campaign.helpers import terms
from tests.daemon.running import better, campaign_text, daemon, until
from tuner.campaign.events import CampaignCreated
from tuner.campaign.evolve import Recorded
from tuner.daemon.views import event_message
from tuner.wire import messages as m
from tuner.wire.exchange import answer
from tuner.wire.follow import Follower
from tuner.wire.operations import OPS
from tuner.wire.schema import document

KEYWORDS = {
    "$schema", "$id", "$ref", "$defs", "title", "description", "default", "type", "enum", "const", "properties",
    "additionalProperties", "propertyNames", "required", "items", "prefixItems", "minItems", "maxItems", "anyOf",
    "oneOf", "allOf", "if", "then", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "pattern",
    "minLength", "maxLength", "minProperties", "maxProperties", "uniqueItems",
}  # fmt: skip
REQUEST = {"v": 1, "id": "12345678", "op": "judgment.give", "campaign": "press", "body": {"duel": 1, "winner": 1}}
GOOD = [
    REQUEST,
    {**REQUEST, "v": 1.0, "body": {"duel": 1.0, "winner": 2.0}},
    {"id": "12345678", "op": "ping"},
    {"id": "12345678", "op": "of-a-newer-daemon", "body": {"x": 1}},
]
BAD = [
    {**REQUEST, "surprise": 1},
    {**REQUEST, "body": {"duel": 1, "winner": 1, "surprise": 1}},
    {**REQUEST, "body": {"duel": 1.5, "winner": 1}},
    {**REQUEST, "body": {"duel": "1", "winner": 1}},
    {key: value for key, value in REQUEST.items() if key != "body"},
    {key: value for key, value in REQUEST.items() if key != "campaign"},
    {**REQUEST, "id": "short"},
    {"id": "12345678", "op": "ping", "body": {"x": 1}},
]


def schemas(value):
    """Every schema in a schema."""
    if isinstance(value, dict):
        yield value
        for key, entry in value.items():
            if key in ("properties", "$defs"):
                for one in entry.values():
                    yield from schemas(one)
            elif key not in ("const", "default", "enum", "required"):
                yield from schemas(entry)
    elif isinstance(value, list):
        for entry in value:
            yield from schemas(entry)


DOCUMENT = document()


@cache
def validator(name):
    """Of the schema of this name."""
    return Draft202012Validator({"$ref": f"{DOCUMENT['$id']}#/$defs/{name}", "$defs": {"all": DOCUMENT}})


def table():
    return DOCUMENT["$defs"]["protocol"]["const"]


def check(name, value):
    """Validate with the schema of this name."""
    errors = list(validator(name).iter_errors(value))
    assert errors == [], f"{name}: {errors[0].message} at {errors[0].json_path}"


def test_the_document_is_a_schema_with_standard_keywords_only_and_complete_in_itself():
    made = DOCUMENT
    assert json.loads(json.dumps(made)) == made
    Draft202012Validator.check_schema(made)
    found = list(schemas(made))
    assert {key for one in found for key in one} <= KEYWORDS
    references = {one["$ref"] for one in found if "$ref" in one}
    assert references
    assert {reference.removeprefix("#/$defs/") for reference in references} <= made["$defs"].keys()


def test_every_operation_and_event_has_its_schemas_by_name():
    made = table()
    assert made["ops"].keys() == OPS.keys()
    assert made["ops"]["proposal.approve"]["roles"] == ["engineer"]
    assert made["ops"]["campaign.abort"]["lane"] == "urgent"
    for name, op in OPS.items():
        assert made["ops"][name]["body"] == op.body.__name__
        assert made["ops"][name]["answer"] == op.answer.__name__
    assert {"judgment_given", "setting_sent", "campaign_created"} <= made["events"].keys()
    names = {*made["events"].values(), *made["messages"].values()}
    names |= {name for op in made["ops"].values() for name in (op["body"], op["answer"])}
    assert names <= DOCUMENT["$defs"].keys()


@pytest.mark.parametrize("request_", GOOD)
def test_a_good_request_is_valid(request_):
    check("Request", request_)


@pytest.mark.parametrize("request_", BAD)
def test_a_bad_request_is_not(request_):
    with pytest.raises(AssertionError):
        check("Request", request_)


MAPS = {"setting", "requested", "read_back", "measurements", "heads", "importance"}
MAPS |= {"operators", "standing", "steps", "terms", "told"}


def more(value):
    """What a newer daemon may say in the same version: fields that nobody knows, but not in maps by name."""
    if isinstance(value, list):
        return [more(entry) for entry in value]
    if isinstance(value, dict):
        known = {key: entry if key in MAPS else more(entry) for key, entry in value.items()}
        return {**known, "of_tomorrow": {"x": 1}}
    return value


def campaign_traffic():
    """Requests, replies and events of a short campaign: pairs of the schema's name and a message."""
    found: list[tuple[str, dict]] = []
    with daemon(campaign_text(trials=4)) as running:
        running.start()
        context = zmq.Context()
        dealer, events = context.socket(zmq.DEALER), context.socket(zmq.SUB)
        dealer.connect(f"ipc://{running.state / 'requests.own'}")
        events.connect(f"ipc://{running.state / 'events.sock'}")
        events.setsockopt(zmq.SUBSCRIBE, b"")

        def ask(op, body=None):
            request = {"v": 1, "id": f"traffic-{len(found)}", "op": op, "body": body or {}}
            if OPS[op].campaign:
                request["campaign"] = "press"
            dealer.send(json.dumps(request).encode())
            assert dealer.poll(60_000), op
            reply = json.loads(dealer.recv())
            found.extend([("Request", request), ("Reply", reply)])
            if reply["status"] in ("done", "accepted"):
                found.append((OPS[op].answer.__name__, reply["body"]))
            return reply

        with running.client() as client:
            while (view := until(client, "press", lambda view: view.duel or view.mode == "Complete")).duel:
                ask("judgment.give", {"duel": view.duel.number, "winner": better(view)})
        ask("lot.change", {"lot": "L7"})
        ask("judgment.retract", {"judgment": 1.0})
        for op in (
            "status",
            "snapshot",
            "config",
            "trials",
            "champion",
            "recommendation",
            "explanation",
            "slices",
            "maps",
        ):
            assert ask(op)["status"] == "done"
        assert ask("hello", {"versions": [1]})["status"] == "done"
        assert ask("plan", {"setting": {"x1": 1, "x2": 2}})["status"] == "done"
        assert ask("campaign.resume")["code"] == "illegal_state"
        found.extend(("EventMessage", event) for event in ask("history", {"limit": 500.0})["body"]["events"])
        kinds = set()
        while not {"Beat", "EventMessage"} <= kinds:
            assert events.poll(30_000)
            topic, content = events.recv_multipart()
            kind = {b"~beat": "Beat", b"~progress": "Progress"}.get(topic, "EventMessage")
            kinds.add(kind)
            found.append((kind, json.loads(content)))
        assert ask("daemon.stop")["status"] == "accepted"
        context.destroy(linger=0)
    return found


@pytest.fixture(scope="module")
def traffic():
    return campaign_traffic()


def test_everything_said_in_a_campaign_is_valid_as_its_kind_and_as_a_message(traffic):
    whole = Draft202012Validator(DOCUMENT)
    seen = {event["type"] for kind, event in traffic if kind == "EventMessage"}
    assert {"campaign_created", "proposal_made", "judgment_given", "outcome_told", "lot_changed"} <= seen
    for kind, message in traffic:
        check(kind, message)
        if kind in table()["messages"].values():
            whole.validate(message)


def test_what_a_newer_daemon_says_is_valid_and_our_clients_take_it(traffic):
    answers = {op.answer.__name__: op.answer for op in OPS.values()}
    follower = Follower((), 0.0)
    for kind, message in traffic:
        if kind == "Request":
            continue
        check(kind, more(message))
        if kind == "Reply":
            m.Reply.model_validate_json(json.dumps(more(message)))
        elif kind in answers:
            reply = m.Reply(id="", status="done", body=more(message))
            taken = answer(reply, answers[kind])
            if kind not in ("HistoryPage", "Explanation", "StatusBody"):  # these have parts that are not looked into
                assert taken == answers[kind].model_validate(message)
        elif kind == "EventMessage":
            follower.feed([b"press", json.dumps(more(message)).encode()], 0.0)
        elif kind == "Beat":
            follower.feed([b"~beat", json.dumps({**message, "of_tomorrow": {}}).encode()], 0.0)


def test_an_event_whose_body_is_another_events_is_not_valid(traffic):
    event = next(one for kind, one in traffic if kind == "EventMessage" and one["type"] == "lot_changed")
    with pytest.raises(AssertionError):
        check("EventMessage", {**event, "type": "judgment_given"})
    check("EventMessage", {**event, "type": "of_tomorrow"})


def test_the_hours_of_a_shift_are_valid():
    questions = {"quiet_hours": ["22:00-06:00"]}
    event = CampaignCreated(terms=terms(policy={"questions": questions}))
    recorded = Recorded(1, datetime(2026, 3, 2, tzinfo=UTC), "anna", event)
    check("EventMessage", json.loads(event_message("press", recorded, 1).model_dump_json()))
