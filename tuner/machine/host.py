"""The adapter's own process: it takes one call after the other from a pipe and answers; it ends with the pipe.

Messages are JSON: `{"number": n, "call": name, "arguments": {...}}` to `{"number": n, "value": ...}` or `{"number": n,
"error": sentence, "retry": bool}`, with `"not_ready": true` where waiting for the machine helps. The codes of sentences
stand beside them, in `told`.
"""

import json
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from typing import Any

from tuner.adapter import Adapter, AdapterError, Health, LinkError, NotReadyError, Outcome, ParameterInfo
from tuner.basics.processes import end_with_parent, restore_environment
from tuner.basics.sentences import TOLD, Sentence, codes_of, say
from tuner.basics.threads import one_blas_thread
from tuner.config.plugins import load_adapter
from tuner.errors import TunerError

MOST_BYTES = 60_000  # of an answer: it goes into the journal and to every console
LONGEST_ERROR = 4000  # characters, where all of it would be too much

CLOSING_S = 5.0  # how long an adapter may take to let go of its machine when the daemon is gone
LOOK_S = 0.02


def serve(pipe: Connection, name: str, settings: str, parameters: tuple[ParameterInfo, ...]) -> None:
    """Make the adapter and answer calls until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the daemon decides when its machines are let go
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    end_with_parent()  # our parent is the server that has forked us
    restore_environment()
    one_blas_thread()
    os.dup2(sys.stderr.fileno(), 1)  # an adapter that prints must not disturb the daemon's output
    adapter: Adapter[Any] | None = None
    lifeline = _Lifeline(pipe.fileno())
    lifeline.start()
    try:
        while True:
            message = json.loads(pipe.recv_bytes())
            lifeline.in_call = True
            answer: dict[str, Any]
            try:
                if adapter is None:
                    kind = load_adapter(name)
                    adapter = kind(kind.Settings.model_validate_json(settings), parameters)
                answer = {"value": _CALLS[message["call"]](adapter, message["arguments"])}
            except AdapterError as error:
                not_ready = isinstance(error, NotReadyError)
                answer = _coded({"error": str(error), "retry": error.retry, "not_ready": not_ready})
            except TunerError as error:  # the adapter is not installed or for another version: once more does not help
                answer = _coded({"error": str(error), "retry": False})
            except Exception as error:  # noqa: BLE001 - whatever an adapter raises must not end the conversation
                answer = {"error": f"{type(error).__name__}: {error}", "retry": True}
            lifeline.in_call = False
            pipe.send_bytes(_encoded({"number": message["number"], **answer}))
    except (EOFError, OSError):
        pass
    finally:
        if adapter is not None:
            adapter.close()


class _Lifeline(threading.Thread):
    """Ends this process with the daemon, also in the middle of a call: its successor will move the same machine.

    Our parent is the server that has forked us, which lives as long as we do: its end alone would tell nothing.
    """

    def __init__(self, descriptor: int) -> None:
        super().__init__(daemon=True)
        self.in_call = False
        self._descriptor = descriptor

    def run(self) -> None:
        """Wait until nobody holds the other end of the pipe; between calls the adapter may close in good order."""
        poll = select.poll()
        poll.register(self._descriptor, select.POLLRDHUP)
        poll.poll()
        end = time.monotonic() + CLOSING_S
        while not self.in_call and time.monotonic() < end:  # a call that was read before the end may begin yet
            time.sleep(LOOK_S)
        os.kill(os.getpid(), signal.SIGKILL)


def _coded(answer: dict[str, Any]) -> dict[str, Any]:
    """With the codes of its sentences."""
    return answer | {TOLD: codes_of(answer.items())}


def _encoded(answer: dict[str, Any]) -> bytes:
    try:
        encoded = json.dumps(answer, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        return _sorry(answer, say("adapter.unwritable", why=str(error)))
    if len(encoded) > MOST_BYTES and "error" in answer:
        return json.dumps({**answer, "error": str(answer["error"])[:LONGEST_ERROR], TOLD: {}}).encode()
    if len(encoded) > MOST_BYTES:
        return _sorry(answer, say("adapter.too_long", bytes=len(encoded), most=MOST_BYTES))
    return encoded


def _sorry(answer: Mapping[str, Any], why: Sentence) -> bytes:
    return json.dumps(_coded({"number": answer["number"], "error": why, "retry": True})).encode()


def _read_back(adapter: Adapter[Any], arguments: Mapping[str, Any]) -> Any:
    value = adapter.read_back(arguments["deadline_s"])
    if not isinstance(value, Mapping):
        raise LinkError(say("adapter.no_setting", type=type(value).__name__))
    return dict(value)


def _health(adapter: Adapter[Any], arguments: Mapping[str, Any]) -> Any:
    health = adapter.health(arguments["deadline_s"])
    if not isinstance(health, Health):
        raise LinkError(say("adapter.no_health", type=type(health).__name__))
    return _coded({"ok": health.ok, "text": health.text, "interlocks": dict(health.interlocks)})


def _run_trial(adapter: Adapter[Any], arguments: Mapping[str, Any]) -> Any:
    outcome = adapter.run_trial(arguments["tag"], arguments["deadline_s"])
    if not isinstance(outcome, Outcome):
        raise LinkError(say("adapter.no_outcome", type=type(outcome).__name__))
    return _coded(
        {
            "valid": outcome.valid,
            "reason": outcome.reason,
            "measurements": dict(outcome.measurements),
            "photo": outcome.photo,
        }
    )


_CALLS: dict[str, Callable[[Adapter[Any], Mapping[str, Any]], Any]] = {
    "open": lambda adapter, given: adapter.open(given["deadline_s"]),
    "apply": lambda adapter, given: adapter.apply(given["setting"], given["deadline_s"]),
    "go_to": lambda adapter, given: adapter.go_to(given["setting"], given["deadline_s"]),
    "read_back": _read_back,
    "health": _health,
    "run_trial": _run_trial,
    "close": lambda adapter, given: adapter.close(),
}
