"""Controllers and adapters of each test, with a short path for their sockets."""

import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import zmq
import zmq.auth

from adapters.line import LineAdapter
from adapters.line.adapter import LineSettings
from tests.adapters.line.controllers import PARAMETERS, PATIENT_S, Answerer, Asker, Controller


@pytest.fixture
def directory():
    """Short: an ipc path must fit in 107 characters."""
    path = Path(tempfile.mkdtemp(prefix="line"))
    yield path
    shutil.rmtree(path)


@pytest.fixture
def start_controller(directory):
    started = []

    def start(mode, address=None, *, seconds=0.1, options=()):
        address = address or f"ipc://{directory}/link"
        started.append(Controller(mode, address, directory, ("--seconds", str(seconds), *options)))
        started[-1].start()
        return started[-1]

    yield start
    for controller in started:
        controller.kill()


@pytest.fixture
def make_adapter(directory):
    made = []

    def make(mode, address=None, **settings):
        address = address or f"ipc://{directory}/link"
        # what tests say word by word may come late on a busy machine; a test of silence says how long it lasts
        settings = {"beat_s": 0.1, "silent_s": PATIENT_S, **settings}
        made.append(LineAdapter(LineSettings(mode=mode, address=address, **settings), PARAMETERS))
        return made[-1]

    yield make
    for adapter in made:
        adapter.close()


@pytest.fixture
def pool():
    with ThreadPoolExecutor(4) as executor:
        yield executor


@pytest.fixture
def make_asker(directory):
    made = []

    def make(kind=zmq.REQ):
        made.append(Asker(f"ipc://{directory}/link", kind))
        return made[-1]

    yield make
    for asker in made:
        asker.close()


@pytest.fixture
def listening(make_adapter, make_asker, pool):
    """An adapter that listens, and a controller it has heard."""
    adapter, asker = make_adapter("listen"), make_asker()
    opening = pool.submit(adapter.open, PATIENT_S)
    assert asker.ask("beat") == {"v": 1, "id": "q1", "body": {}}
    opening.result(PATIENT_S)
    return adapter, asker


@pytest.fixture
def answerer(directory):
    controller = Answerer(f"ipc://{directory}/link")
    yield controller
    controller.close()


@pytest.fixture
def connect(answerer, make_adapter, pool):
    """Makes an adapter that has asked a controller, and been answered."""

    def connected(**settings):
        adapter = make_adapter("connect", **settings)
        opening = pool.submit(adapter.open, PATIENT_S)
        request = answerer.take()
        assert request == {"v": 1, "id": request["id"], "op": "beat", "body": {}}
        answerer.answer(request)
        opening.result(PATIENT_S)
        return adapter

    return connected


@pytest.fixture
def connected(connect):
    return connect()
