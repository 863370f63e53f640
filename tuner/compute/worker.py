"""The other side of the pool: a fork server that forks warm workers, and the loop in which each of them answers.

The fork server (see `tuner.compute.fork_server`) imports and warms up everything once; then each socket that it is sent
becomes a worker's, by a fork of a few milliseconds. A message is its length in four bytes, then its bytes. A worker
first says its process number; then it answers each request, as in `tuner.compute.backend.canonical`, by one message:
"+" and the result as JSON, or "-" and a sentence. All of them end as soon as the daemon's end of their socket closes.
"""

import gc
import json
import os
import signal
import socket
import struct
import sys
import traceback
from queue import SimpleQueue
from threading import Thread

from tuner.basics.sentences import Sentence, say, to_json
from tuner.basics.threads import one_blas_thread

HEADER = struct.Struct(">I")
NICENESS = 5
DONE, FAILED = b"+", b"-"


def answer(request: bytes) -> bytes:
    """Run a job and return the message that answers it; the task's exception becomes a sentence."""
    # here, because numpy must not be imported before the number of BLAS threads is set
    from tuner.compute.tasks import TASKS

    name = "?"
    try:
        job = json.loads(request)
        name = job["name"]
        if name not in TASKS:
            raise ValueError(f"there is no such task; there are {', '.join(sorted(TASKS))}")  # noqa: TRY301 - as any
        return DONE + json.dumps(TASKS[name](job["payload"]), separators=(",", ":"), allow_nan=False).encode()
    except Exception as error:  # noqa: BLE001 - a worker outlives what a task raises
        return FAILED + json.dumps(to_json(failure(name, error))).encode()


def failure(name: str, error: Exception) -> Sentence:
    """What to say of a task that failed; where there is no setting that is a sentence already."""
    from tuner.core.space.parameters import SpaceError

    if isinstance(error, SpaceError):
        return Sentence.of(str(error))
    return say("compute.failed", task=name, error=f"{type(error).__name__}: {error}")


def serve(connection: socket.socket) -> None:
    """Answer requests until the other end closes."""
    requests: SimpleQueue[bytes] = SimpleQueue()
    # a thread waits for the end of the connection, also in the middle of a long job: nobody needs its result any more
    Thread(target=_listen, args=(connection, requests), daemon=True).start()
    send(connection, str(os.getpid()).encode())
    while True:
        send(connection, answer(requests.get()))


def send(connection: socket.socket, message: bytes) -> None:
    """Send one message."""
    connection.sendall(HEADER.pack(len(message)) + message)


def _listen(connection: socket.socket, requests: SimpleQueue[bytes]) -> None:
    try:
        while True:
            (length,) = HEADER.unpack(_exactly(connection, HEADER.size))
            requests.put(_exactly(connection, length))
    except OSError:
        os._exit(0)


def _exactly(connection: socket.socket, count: int) -> bytes:
    parts = bytearray()
    while len(parts) < count:
        part = connection.recv(count - len(parts))
        if not part:
            raise ConnectionResetError("the daemon is gone")
        parts += part
    return bytes(parts)


def fork_workers(control: socket.socket) -> None:
    """Fork a worker for each socket that comes over `control`, until its other end closes."""
    while True:
        _, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not descriptors:
            return
        if os.fork() == 0:
            _become_worker(control, descriptors[0])
        os.close(descriptors[0])


def _become_worker(control: socket.socket, descriptor: int) -> None:
    """Serve, and never return into the fork server."""
    try:
        control.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        serve(socket.socket(fileno=descriptor))
    except OSError:
        os._exit(0)  # the daemon went away while it was being answered
    except BaseException:  # noqa: BLE001 - nothing may unwind into the fork server's loop
        traceback.print_exc()
    os._exit(1)


def main() -> None:
    """Run the fork server on the socket whose descriptor is the last argument."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process of a terminal; the daemon decides
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # ended workers leave nothing behind
    os.nice(NICENESS)
    one_blas_thread()
    from tuner.compute.tasks import warm_up

    control = socket.socket(fileno=int(sys.argv[-1]))
    warm_up()
    gc.collect()
    gc.freeze()  # what is shared with the workers stays shared
    fork_workers(control)
