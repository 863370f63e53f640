"""A client that sends as much as it can: `python -m tests.faults.flood`, with a line of JSON on its input.

Every key has so many connections with so many open requests each; for every reply another request is sent. It ends
when its input does, and prints how many replies of which code each key has had.
"""

import json
import random
import sys
from collections import Counter
from pathlib import Path

import zmq

from tuner.wire.endpoint import prepare
from tuner.wire.keyfiles import ClientKey

LOOKS = ("plan", "slices", "snapshot", "history", "trials", "recommendation", "explanation", "status", "champion")
BODIES = {"history": {"limit": 500}, "trials": {"limit": 500}}
WRITES = {
    "viewer": (),
    "operator": ("lot.change", "judgment.give"),
    "engineer": ("lot.change", "campaign.create"),
    "controller": ("lot.change",),
}


class Flooder:
    """All connections of one key, or of none over the file."""

    def __init__(self, context, job, rng) -> None:
        self.name, self.campaign, self.rng = job["name"], job["campaign"], rng
        key = ClientKey.load(Path(job["key"])) if job["key"] else None
        self.ops = (*LOOKS, *WRITES[job["role"]])
        self.codes: Counter[str] = Counter()
        self.dealers = []
        self.sent = 0
        for _ in range(job["connections"]):
            dealer = context.socket(zmq.DEALER)
            prepare(dealer, job["requests"], key)
            dealer.connect(job["requests"])
            self.dealers.append(dealer)

    def send(self, dealer) -> None:
        op = self.rng.choice(self.ops)
        body = BODIES.get(op, {})
        if op == "lot.change":
            body = {"lot": f"L{self.sent}"}
        elif op == "judgment.give":
            body = {"duel": 1, "winner": 1}
        elif op == "campaign.create":
            body = {"config": "a.b=1\n" * 2000}
        self.sent += 1
        request = {"v": 1, "id": f"{self.name}-{self.sent:08}", "op": op, "body": body}
        if op not in ("status", "campaign.create"):
            request["campaign"] = self.campaign
        dealer.send(json.dumps(request).encode(), zmq.DONTWAIT)


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    """Flood until standard input ends."""
    jobs = json.loads(sys.stdin.readline())
    context, poller, rng = zmq.Context(), zmq.Poller(), random.Random(1)  # noqa: S311 - no secret
    flooders = [Flooder(context, job, rng) for job in jobs]
    owner = {}
    poller.register(sys.stdin.fileno(), zmq.POLLIN)
    for flooder, job in zip(flooders, jobs, strict=True):
        for dealer in flooder.dealers:
            owner[dealer] = flooder
            poller.register(dealer, zmq.POLLIN)
            if dealer.poll(30_000, zmq.POLLOUT):
                for _ in range(job["open"]):
                    flooder.send(dealer)
    say("flooding")
    while True:
        for ready, _ in poller.poll():
            if ready == sys.stdin.fileno():
                say(json.dumps({flooder.name: dict(flooder.codes) for flooder in flooders}))
                context.destroy(linger=0)
                return
            for _ in range(50):
                try:
                    reply = json.loads(ready.recv(zmq.DONTWAIT))
                    owner[ready].codes[reply["code"] or reply["status"]] += 1
                    owner[ready].send(ready)
                except zmq.Again:
                    break


if __name__ == "__main__":
    main()
