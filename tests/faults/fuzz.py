"""Sends requests that are almost right: `python -m tests.faults.fuzz`, with a line of JSON on its input.

Each begins as a good request, made from the table of operations and the schema of its body, and is then spoilt in up to
three ways: ids, operations, campaigns, actors, bodies, types, sizes, encodings, frames. The line it prints at the end
says how many were sent, how many replies came, and what was wrong with them.
"""

import copy
import json
import random
import re
import sys
from collections import Counter
from pathlib import Path

import zmq

from tests.daemon.running import campaign_text
from tuner.wire.endpoint import prepare
from tuner.wire.keyfiles import ClientKey
from tuner.wire.operations import OPS

GOOD_ID = re.compile(r"[0-9A-Za-z_-]{8,64}", re.ASCII)
STATUSES = {"done", "accepted", "refused", "failed"}
SHARE = 0.15  # of requests that are not spoilt
SHARE_IN_BURST = 0.8
USUAL_OPEN, MANY_OPEN = 20, 450  # the second is over the limits
BURST_EVERY = 2000
SILENT_MS = 90_000
LARGEST = 200_000
NASTY_TEXTS = (
    "", " ", "\0", "a\nb", "\x1b[2J", "\ud800", "\udfff\ud800", "\u202eevil", "ﬀ" * 40, "x" * 65, "x" * 5000, "tuner",
    "=cmd|' /C calc'!A0", "../../etc/passwd", "press", "nowhere", "~beat", "{}", "%s%n", "' OR 1=1 --", "NaN",
)  # fmt: skip
HUGE = "@huge@"  # becomes a number of 5000 digits, which Python itself does not write
NASTY = (
    None, True, False, 0, -1, 1, 1.0, 1.5, 2**31, 2**53 + 1, 2**63, 2**64, 10**400, -(10**400), 1e308, 5e-324,
    float("nan"), float("inf"), HUGE, [], {}, [[]], [None], {"": {}}, {"x": 10**30}, *NASTY_TEXTS,
)  # fmt: skip


def nasty(rng: random.Random) -> object:
    """Something odd, and a copy of its own: one that was spoilt further could end up in itself."""
    return copy.deepcopy(rng.choice(NASTY))


class Fuzzer:
    """Makes messages; the same seed makes the same ones."""

    def __init__(self, seed: int, campaign: str) -> None:
        self.share = SHARE
        self.rng = random.Random(seed)  # noqa: S311 - no secret
        self.campaign = campaign
        self.fields = {name: op.body.model_json_schema() for name, op in OPS.items()}
        self.number = 0
        self.prefix = f"fuzz{seed}"

    def message(self, role: str) -> list[bytes]:
        """The frames of one message."""
        request = self.good(role)
        if self.rng.random() < self.share:
            return [json.dumps(request).encode()]
        for _ in range(self.rng.randint(1, 3)):
            self.spoil(request)
        if role == "engineer" and request.get("op") == "daemon.stop":
            request["op"] = "ping"
        return self.framed(self.encoded(request))

    def good(self, role: str) -> dict:
        names = [name for name in OPS if name != "daemon.stop" or role != "engineer"]
        name = self.rng.choice(names)
        self.number += 1
        request = {"v": 1, "id": f"{self.prefix}-{self.number:08}", "op": name, "body": self.body(name)}
        if OPS[name].campaign:
            request["campaign"] = self.campaign
        if self.rng.random() < 0.3:
            request["actor"] = "anna"
        return request

    def body(self, name: str) -> dict:
        if name == "campaign.create":
            place = self.rng.randint(1, 3)
            return {"config": campaign_text(f"made{place}", trials=3, autostart=False)}
        properties, required = self.fields[name].get("properties", {}), self.fields[name].get("required", [])
        return {
            field: self.value(field, schema)
            for field, schema in properties.items()
            if field in required or self.rng.random() < 0.5
        }

    def value(self, field: str, schema: dict) -> object:
        if field == "setting":
            return {name: self.rng.uniform(-1, 6) for name in ("x1", "x2")}
        kind = schema.get("type") or schema.get("anyOf", [{}])[0].get("type", "string")
        return {
            "integer": self.rng.randint(1, 6),
            "number": self.rng.uniform(0, 10),
            "boolean": self.rng.random() < 0.5,
            "array": [1],
            "object": {},
        }.get(kind, self.rng.choice(("L7", "because", "anna")))

    def spoil(self, request: dict) -> None:
        """Change one thing."""
        rng = self.rng
        way = rng.randrange(8)
        if way == 0:
            request[rng.choice(("v", "id", "op", "campaign", "actor", "body"))] = nasty(rng)
        elif way == 1:
            request.pop(rng.choice(list(request)), None)
            request.setdefault("op", "ping")
        elif way == 2:
            request[rng.choice(("surprise", "\ud800", "x" * 3000, "\x1b", "__class__", "ID"))] = nasty(rng)
        elif way == 3 and isinstance(request.get("body"), dict):
            names = [*request["body"], "surprise", "\ud800"]
            request["body"][rng.choice(names)] = nasty(rng)
        elif way == 4 and isinstance(request.get("body"), dict) and request["body"]:
            del request["body"][rng.choice(list(request["body"]))]
        elif way == 5:
            request["body"] = self.nested(rng.choice((5, 50, 190, 250, 900)))
        elif way == 6:
            request["op"] = rng.choice((*OPS, "pong", "campaign.hold ", "CAMPAIGN.HOLD", "é" * 32))
        else:
            request["campaign"] = rng.choice((self.campaign, "nowhere", "press2", *NASTY_TEXTS))

    def nested(self, depth: int) -> object:
        made: object = 1
        for _ in range(depth):
            made = {"a": made} if self.rng.random() < 0.5 else [made]
        return made if isinstance(made, dict) else {"a": made}

    def encoded(self, request: dict) -> bytes:
        """As bytes, sometimes not quite JSON or not quite UTF-8."""
        rng = self.rng
        items = list(request.items())
        rng.shuffle(items)
        text = json.dumps(dict(items), ensure_ascii=rng.random() < 0.7, indent=rng.choice((None, None, 1)))
        content = text.replace(f'"{HUGE}"', "9" * 5000).encode("utf-8", "surrogatepass")
        way = rng.randrange(24)
        if way == 0:
            return content[: rng.randrange(len(content) + 1)]
        if way == 1:
            place = rng.randrange(len(content))
            return content[:place] + bytes([rng.randrange(256)]) + content[place + 1 :]
        if way == 2:
            return content + rng.choice((b" ", b"{}", b"\0", b"}", content))
        if way == 3:
            return text.encode("utf-16", "surrogatepass")
        if way == 4:
            return b"\xef\xbb\xbf" + content
        if way == 5:
            return rng.randbytes(rng.choice((0, 1, 7, 300)))
        if way == 6:
            pad = b" " * rng.choice((5000, 20_000, LARGEST - len(content) if len(content) < LARGEST else 0))
            return pad + content if rng.random() < 0.5 else content + pad
        if way == 7:
            return content[:-1] + b',"body":{"note":"' + b"y" * rng.choice((4000, 60_000)) + b'"}}'
        return content

    def framed(self, content: bytes) -> list[bytes]:
        """Sometimes in more frames than one; never larger than is allowed, for then libzmq ends the connection."""
        content = content[:LARGEST]
        way = self.rng.randrange(40)
        if way == 0:
            return [b"", content]
        if way == 1:
            return [content, b""]
        if way == 2:
            return [content, content]
        if way == 3:
            return [*([b"x"] * self.rng.randint(2, 60)), content]
        if way == 4:
            half = len(content) // 2
            return [content[:half], content[half:]]
        return [content]


def expected_id(frames: list[bytes]) -> str | None:
    """The id that the reply must have; None: this message has none that is sure."""
    try:
        pairs = json.loads(frames[-1], parse_int=len, object_pairs_hook=list)
    except (ValueError, RecursionError):
        return None
    if not isinstance(pairs, list) or not all(isinstance(pair, tuple) for pair in pairs):
        return None
    ids = [value for name, value in pairs if name == "id"]
    return ids[0] if len(ids) == 1 and isinstance(ids[0], str) and GOOD_ID.fullmatch(ids[0]) else None


class Line:
    """One connection, what it has sent, and what came back."""

    def __init__(self, context: zmq.Context, job: dict, seed: int) -> None:
        key = ClientKey.load(Path(job["key"])) if job["key"] else None
        self.role = job["role"]
        self.fuzzer = Fuzzer(seed, job["campaign"])
        self.dealer = context.socket(zmq.DEALER)
        prepare(self.dealer, job["requests"], key)
        self.dealer.connect(job["requests"])
        self.named: Counter[str] = Counter()
        self.sent = self.replies = self.next_burst = 0
        self.codes: Counter[str] = Counter()
        self.strange: list[str] = []

    def fill(self) -> None:
        """Send until enough is open; now and then much more than is allowed."""
        target, self.fuzzer.share = USUAL_OPEN, SHARE
        if self.sent >= self.next_burst:
            target, self.next_burst = MANY_OPEN, self.sent + BURST_EVERY
            self.fuzzer.share = SHARE_IN_BURST  # what is refused at once never is too much
        while self.sent - self.replies < target:
            frames = self.fuzzer.message(self.role)
            name = expected_id(frames)
            if name is not None:
                self.named[name] += 1
            self.dealer.send_multipart(frames)
            self.sent += 1

    def take(self) -> None:
        """Take one reply."""
        reply = json.loads(self.dealer.recv())
        self.replies += 1
        self.codes[reply["code"] or reply["status"]] += 1
        if reply["status"] not in STATUSES or (reply["status"] in ("refused", "failed")) != bool(reply["text"]):
            self.strange.append(json.dumps(reply)[:300])
        if self.named[reply["id"]] > 0:
            self.named[reply["id"]] -= 1


def main() -> None:
    """Send as many as the input says, and print what came of it."""
    given = json.loads(sys.stdin.readline())
    context, poller = zmq.Context(), zmq.Poller()
    lines = {}
    for place, job in enumerate(given["lines"]):
        line = Line(context, job, given["seed"] * 1000 + place)
        lines[line.dealer] = line
        poller.register(line.dealer, zmq.POLLIN)
    while True:
        if sum(line.sent for line in lines.values()) < given["count"]:
            for line in lines.values():
                line.fill()
        elif all(line.replies == line.sent for line in lines.values()):
            break
        ready = poller.poll(SILENT_MS)
        if not ready:
            break
        for dealer, _ in ready:
            lines[dealer].take()
    codes = sum((line.codes for line in lines.values()), Counter())
    found = {
        "requests": sum(line.sent for line in lines.values()),
        "replies": sum(line.replies for line in lines.values()),
        "lost": sum(line.sent - line.replies for line in lines.values()),
        "lost_named": sum(line.named.total() for line in lines.values()),
        "defect": codes["defect"],
        "strange": [text for line in lines.values() for text in line.strange][:5],
        "codes": dict(codes.most_common()),
    }
    sys.stdout.write(json.dumps(found) + "\n")
    context.destroy(linger=0)


if __name__ == "__main__":
    main()
