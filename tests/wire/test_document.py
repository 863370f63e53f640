"""docs/wire.md says what the code does."""

import json
import re
from pathlib import Path

from scripts.wire_tables import updated
from tuner.daemon import model_questions
from tuner.daemon import request_queue as queue
from tuner.wire import endpoint
from tuner.wire.messages import LARGEST_BYTES, EventMessage, Reply, Request
from tuner.wire.operations import OPS

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "wire.md").read_text()
REFUSAL = re.compile(r'(?:Refusal\(|Result\(\s*"(?:refused|failed)",)\s*"([a-z_]+)"|code="([a-z_]+)"')


def test_the_table_of_operations_is_that_of_the_code():
    assert updated(DOCUMENT) == DOCUMENT, "run `python -m scripts.wire_tables`"
    listed = re.findall(r"^\| `([a-z.]+)` \| (?:yes|no) \|", DOCUMENT, re.MULTILINE)
    assert listed == list(OPS)


def test_every_code_that_the_daemon_answers_with_is_explained_and_no_other():
    sources = [path for part in ("campaign", "daemon") for path in (ROOT / "tuner" / part).rglob("*.py")]
    found = {code for path in sources for pair in REFUSAL.findall(path.read_text()) for code in pair if code}
    section = DOCUMENT.partition("### Codes")[2].partition("## Events")[0]
    assert set(re.findall(r"^\| `([a-z_]+)` \|", section, re.MULTILINE)) == found


def test_the_numbers_are_those_of_the_code():
    for words in (
        f"`ZMQ_MAXMSGSIZE` | {endpoint.LARGEST_REPLY_BYTES}",
        f"requests of {LARGEST_BYTES} bytes",
        f"{endpoint.HEARTBEAT_S * 1000:.0f}, {endpoint.HEARTBEAT_LOST_S * 1000:.0f}, ",
        f"`ZMQ_HANDSHAKE_IVL` | {endpoint.HANDSHAKE_S * 1000:.0f} ms",
        f"a beat every {endpoint.BEAT_S:g} s",
        f"No message at all for {endpoint.SILENT_S:g} s",
        f"`ZMQ_RCVHWM` | {endpoint.HIGH_WATER}",
    ):
        assert words in DOCUMENT, words


def test_the_limits_are_those_of_the_code():
    for words in (
        f"| requests at once, then a second | {queue.NETWORK.at_once}, {queue.NETWORK.per_s} | "
        f"{queue.LOCAL.at_once}, {queue.LOCAL.per_s} |",
        f"| {queue.MOST_OPEN}, of them {queue.CONNECTION_OPEN} a connection |",
        f"| {queue.ALWAYS_OPEN} a connection |",
        f"| {model_questions.MOST_ASKED}, and {model_questions.MOST_OPEN} of all keys |",
        f"more than {queue.BYTES_OF_ONE} bytes",
        f"({queue.URGENT_OPEN} open, or {queue.URGENT.per_s} a second, of one key; {queue.URGENT_CONNECTION_OPEN}\n"
        f"open, or {queue.URGENT_CONNECTION.per_s} a second, on one connection)",
    ):
        assert words in DOCUMENT, words


def test_the_messages_of_the_example_session_are_messages():
    blocks = re.findall(r"```json\n(.*)\n```", DOCUMENT)
    requests = [block for block in blocks if '"op"' in block and '"status"' not in block]
    assert len(blocks) == 5
    assert [Request.model_validate_json(block).op for block in requests] == ["lot.change", "campaign.start"]
    assert [Reply.model_validate_json(block).status for block in blocks if '"status"' in block] == ["done", "refused"]
    assert [EventMessage.model_validate_json(block).n for block in blocks if '"seq"' in block] == [41]
    assert f"one frame of {len(requests[0])} bytes" in DOCUMENT


def test_the_bytes_of_the_example_are_those_of_its_request():
    request = re.findall(r"```json\n(.*)\n```", DOCUMENT)[0].encode()
    lines = re.findall(r"^    ((?:[0-9a-f]{2} ){16})  ", DOCUMENT, re.MULTILINE)
    dumped = bytes.fromhex("".join(lines))
    assert len(dumped) == 32
    assert dumped == (bytes([0, len(request)]) + request)[:32]


def test_the_examples_of_requests_and_replies_are_valid():
    examples = [line.strip() for line in DOCUMENT.splitlines() if line.startswith('    {"v"')]
    Request.model_validate_json(examples[0])
    Reply.model_validate_json(examples[1])
    assert json.loads(examples[0])["id"] == json.loads(examples[1])["id"]
