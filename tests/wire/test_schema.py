import json

from tuner.wire.messages import Reply, Request
from tuner.wire.ops import OPS
from tuner.wire.schema import document


def references(value):
    if isinstance(value, dict):
        for key, entry in value.items():
            if key == "$ref":
                yield entry
            else:
                yield from references(entry)
    elif isinstance(value, list):
        for entry in value:
            yield from references(entry)


def test_the_document_is_complete_in_itself():
    made = document()
    assert json.loads(json.dumps(made)) == made
    found = set(references(made))
    assert found
    assert {reference.removeprefix("#/$defs/") for reference in found} <= made["$defs"].keys()


def test_every_operation_has_its_roles_body_and_answer():
    ops = document()["ops"]
    assert ops.keys() == OPS.keys()
    assert ops["proposal.approve"]["roles"] == ["engineer"]
    for name, op in OPS.items():
        assert ops[name]["body"]["$ref"] == f"#/$defs/{op.body.__name__}"
        assert ops[name]["answer"]["$ref"] == f"#/$defs/{op.answer.__name__}"


def test_messages_and_events_are_described_with_their_fields():
    made = document()
    assert made["$defs"]["Request"]["properties"].keys() == Request.model_fields.keys()
    assert made["$defs"]["Reply"]["properties"].keys() == Reply.model_fields.keys()
    types = made["events"]["discriminator"]["mapping"]
    assert {"judgment_given", "setting_sent", "campaign_created"} <= types.keys()
