"""Late answers on a serial line at the other end of a network: neither whole nor in halves taken for the next one."""

import socket
import threading

import pytest

from adapters.serial import SerialAdapter
from adapters.serial.adapter import SerialSettings
from tests.patience import PATIENT_S
from tuner.adapter import DeadlineError, ParameterInfo

HEAT = ParameterInfo("heat", "continuous", 50.0, 0.0, 200.0)


class Answerer(threading.Thread):
    """Says nothing to the first question, and to the second what was owed, in pieces, and then the truth."""

    def __init__(self, before: bytes, after: bytes) -> None:
        super().__init__(daemon=True)
        self.before, self.after = before, after
        self.given_up, self.sent = threading.Event(), threading.Event()
        self.server = socket.create_server(("127.0.0.1", 0))
        self.start()

    def run(self) -> None:
        connection, _ = self.server.accept()
        with connection, connection.makefile("rb") as lines:
            lines.readline()
            self.given_up.wait()
            connection.sendall(self.before)
            self.sent.set()
            lines.readline()
            connection.sendall(self.after)
            lines.readline()


@pytest.mark.parametrize(
    ("before", "after"),
    [(b"162.5\r\n", b"20.0\r\n"), (b"16", b"2.5\r\n20.0\r\n")],
    ids=["a whole line", "half a line"],
)
def test_a_late_answer_is_not_taken_for_the_next_one(before, after):
    machine = Answerer(before, after)
    adapter = SerialAdapter(SerialSettings(port=f"socket://127.0.0.1:{machine.server.getsockname()[1]}"), [HEAT])
    adapter.open(PATIENT_S)
    with pytest.raises(DeadlineError):
        adapter.read_back(0.1)
    machine.given_up.set()
    assert machine.sent.wait(PATIENT_S)
    assert adapter.read_back(PATIENT_S) == {"heat": 20.0}
    adapter.close()
    machine.join()
    machine.server.close()
