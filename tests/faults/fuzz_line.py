"""Messages of line controllers that are almost right, over a real socket, to an adapter that listens."""

import json
import tempfile
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import zmq

from adapters.line import LineAdapter
from adapters.line.adapter import LineSettings
from tests.adapters.line.controllers import PARAMETERS
from tests.faults.fuzz import SHARE, Fuzzer
from tests.patience import PATIENT_S

OPEN = 40
STATES = ("running", "applied", "valid", "non-valid", "setting", "health", "failed", "perhaps")


class LineFuzzer(Fuzzer):
    """Makes a controller's requests, good ones first, and spoils them as it spoils those of clients."""

    def good(self, role: str) -> dict:
        """One request."""
        self.number += 1
        op = self.rng.choice(("next", "beat", "report", "report", "report", "job"))
        body = {}
        if op == "report":
            body = {"job": self.rng.choice(("run-T1", "apply-1", "run-T9")), "state": self.rng.choice(STATES)}
            more = {"reason": "torn", "measurements": {"mm": 1.5}, "setting": {"heat": 180.0}, "ok": True, "photo": "x"}
            body |= {name: value for name, value in more.items() if self.rng.random() < 0.3}
        return {"v": 1, "id": f"{self.prefix}-{self.number:08}", "op": op, "body": body}


def fuzz_line(count: int, seed: int, told: Callable[[int], None] = lambda _: None) -> dict:
    """Send so many; every one is answered, and a part is made by an honest controller in the end."""
    fuzzer = LineFuzzer(seed, "press")
    fuzzer.share = SHARE
    answers: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="line") as directory, ThreadPoolExecutor(1) as pool:
        address = f"ipc://{directory}/link"
        settings = LineSettings(mode="listen", address=address, beat_s=0.1, silent_s=PATIENT_S)
        adapter = LineAdapter(settings, PARAMETERS)
        context = zmq.Context()
        dealer = context.socket(zmq.DEALER)
        dealer.rcvtimeo = int(PATIENT_S * 1000)
        dealer.connect(address)
        try:
            dealer.send(b'{"v":1,"id":"begin","op":"beat","body":{}}')
            adapter.open(PATIENT_S)
            sent, replies = 1, 0
            while replies < count:
                while sent - replies < OPEN and sent < count:
                    dealer.send_multipart(fuzzer.message("controller"))
                    sent += 1
                reply = json.loads(dealer.recv_multipart()[-1])
                answers["error" if reply.get("error") else "done"] += 1
                replies += 1
                if replies % 10_000 == 0:
                    told(replies)
            honest = pool.submit(adapter.run_trial, "honest", PATIENT_S)
            while not honest.done():
                dealer.send(b'{"v":1,"id":1,"op":"report","body":{"job":"run-honest","state":"valid"}}')
                dealer.recv_multipart()
            assert honest.result().valid
        finally:
            context.destroy(linger=0)
            adapter.close()
    return {"requests": sent, "replies": replies, "lost": sent - replies, **answers}
