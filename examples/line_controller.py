"""A line controller for the adapter `line`, to copy from: docs/line.md says what it must do and why.

Its machine is imaginary: a part takes --seconds, goes on while this program is down, and is non-valid if too cold.
    python3 examples/line_controller.py --connect ipc:///run/tuner/press.sock   (tuner: mode = "listen")
    python3 examples/line_controller.py --bind ipc:///run/press.sock            (tuner: mode = "connect")
"""

import argparse
import contextlib
import json
import time
from pathlib import Path

import zmq
from zmq.auth import load_certificate
from zmq.auth.thread import ThreadAuthenticator

parser = argparse.ArgumentParser()
parser.add_argument("--connect", help="tuner's address")
parser.add_argument("--bind", help="the address to listen at")
parser.add_argument("--state", default="line_controller.json", type=Path, help="file for what must outlive a crash")
parser.add_argument("--seconds", default=2.0, type=float, help="how long a part takes")
parser.add_argument("--patience", default=5.0, type=float, help="seconds until tuner's answer counts as lost")
parser.add_argument("--key", help="secret certificate of this controller")
parser.add_argument("--tuner-key", type=Path, help="public certificate of tuner, alone in its directory")
options = parser.parse_args()
memory = json.loads(options.state.read_text()) if options.state.exists() else {"setting": {}, "parts": {}, "started": 0}


def work(job):
    """Do what the job says, or go on with it; the answer is a report, and comes at once."""
    if job["do"] == "health":
        return {"state": "health", "ok": True, "text": "ready", "interlocks": {"guard closed": True}}
    if job["do"] == "read_back":
        return {"state": "setting", "setting": memory["setting"]}
    if job["do"] == "apply":
        if job["setting"].get("heat", 0) > 250:
            return {"state": "refused", "reason": "the heater ends at 250"}
        memory["setting"] = job["setting"]
        save()
        return {"state": "applied"}
    parts, name = memory["parts"], job["job"]
    if name not in parts:  # a part that is known is never started again
        if not memory["setting"]:
            return {"state": "refused", "reason": "there is no setting"}
        parts[name] = {"setting": memory["setting"], "ready_at": time.time() + options.seconds}
        memory["started"] += 1
        save()  # first the note, then the machine: a crash between the two may lose a part but never makes two
    if time.time() < parts[name]["ready_at"]:
        return {"state": "running"}
    if parts[name]["setting"].get("heat", 180) < 150:
        return {"state": "non-valid", "reason": "too cold"}
    return {"state": "valid", "measurements": {"seconds": options.seconds}, "photo": f"{job['tag']}.jpg"}


def save():
    """Write the memory; a crash leaves the old file or the new one."""
    options.state.with_suffix(".new").write_text(json.dumps(memory))
    options.state.with_suffix(".new").replace(options.state)


def serve(socket):
    """Answer tuner's requests."""
    if options.key:
        guard = ThreadAuthenticator()  # without it, CURVE accepts every key
        guard.start()
        guard.configure_curve(location=options.tuner_key.parent)
        socket.curve_server = True
    socket.bind(options.bind)
    while True:
        request = socket.recv_json()
        body = {"job": request["body"]["job"], **work(request["body"])} if request["op"] == "job" else {}
        socket.send_json({"v": 1, "id": request["id"], "body": body})


def ask(socket):
    """Ask tuner for jobs, until it does not answer."""
    if options.key:
        socket.curve_serverkey = load_certificate(options.tuner_key)[0]
    socket.rcvtimeo = int(options.patience * 1000)
    socket.connect(options.connect)
    while True:
        socket.send_json({"v": 1, "id": 1, "op": "next"})
        reply = socket.recv_json()
        job, report = reply.get("body"), {"state": "running"}
        while job and report["state"] == "running":
            report = {"job": job["job"], **work(job)}
            socket.send_json({"v": 1, "id": 2, "op": "report", "body": report})
            reply = socket.recv_json()
            time.sleep(0.1 if report["state"] == "running" else 0)
        time.sleep(1 if "error" in reply else 0)


while True:  # a new socket each time: the old one would still wait for the answer that did not come
    with zmq.Context.instance().socket(zmq.REP if options.bind else zmq.REQ) as channel, contextlib.suppress(zmq.Again):
        channel.linger = 0
        if options.key:
            channel.curve_publickey, channel.curve_secretkey = load_certificate(options.key)
        (serve if options.bind else ask)(channel)
