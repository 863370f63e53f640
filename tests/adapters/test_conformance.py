"""Every adapter that comes with tuner, and that of the README, is put to the conformance suite."""

import contextlib
import importlib.util
import json
import re
import sys
import threading
import types
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import entry_points
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest

from tuner.adapter import ParameterInfo
from tuner.config.plugins import GROUP, load_adapter
from tuner.testing import AdapterConformance, LinkConformance

HERE = Path(__file__).parent
README = HERE.parents[1] / "adapters" / "README.md"
OURS = sorted(point.name for point in entry_points(group=GROUP) if point.dist and point.dist.name == "process-tuner")


@pytest.fixture(scope="module")
def covered():
    """Classes of adapters that the tests in this folder put to the conformance suite.

    The files are read here once more, under other names, so that this does not depend on what else is being run.
    """
    found = set()
    for file in sorted(HERE.rglob("test_*.py")):
        if file == Path(__file__):
            continue
        name = f"conformance_scan_{file.stem}"
        specification = importlib.util.spec_from_file_location(name, file)
        module = importlib.util.module_from_spec(specification)
        sys.modules[name] = module
        specification.loader.exec_module(module)
        for suite in vars(module).values():
            # pytest collects classes whose name begins with Test, and only those
            if isinstance(suite, type) and issubclass(suite, AdapterConformance) and suite.__name__.startswith("Test"):
                found.add(suite.adapter)
    return found


@pytest.mark.parametrize("name", OURS)
def test_every_adapter_that_comes_with_tuner_is_put_to_the_conformance_suite(name, covered):
    adapter = load_adapter(name)
    names = {f"{each.__module__}.{each.__qualname__}" for each in covered}
    assert f"{adapter.__module__}.{adapter.__qualname__}" in names, f"no TestConformance for the adapter {name}"


def test_the_adapters_of_the_project_are_known():
    assert {"command", "mqtt", "serial", "simulated"} <= set(OURS)


class Oven(ThreadingHTTPServer):
    """The machine the README's adapter speaks to."""

    daemon_threads = False  # so that closing the server waits for them

    def __init__(self, port=0):
        self.values, self.speaks = {"heat": 20.0, "fan": 0.0}, threading.Event()
        self.speaks.set()
        super().__init__(("127.0.0.1", port), OvenPages)
        self.thread = threading.Thread(target=self.serve_forever, args=(0.01,))
        self.thread.start()

    def stop(self):
        self.speaks.set()
        self.shutdown()
        self.thread.join()
        self.server_close()


class OvenPages(BaseHTTPRequestHandler):
    def do_GET(self):
        page = urlsplit(self.path)
        if page.path == "/set":
            self.server.values = {name: float(value) for name, value in parse_qsl(page.query)}
        answers = {"/setting": self.server.values, "/run": {"valid": True}, "/health": {"ok": True, "text": "warm"}}
        self.server.speaks.wait()
        with contextlib.suppress(OSError):  # nobody may be waiting any more
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(answers.get(page.path, {})).encode())

    def log_message(self, *_):
        """Be quiet."""


def readme_adapter():
    code = re.search(r"```python\n(.*?)```", README.read_text("utf-8"), re.DOTALL)[1]
    module = types.ModuleType("readme_oven")
    exec(compile(code, str(README), "exec"), vars(module))  # noqa: S102 - our own text
    return module


class TestConformanceOfTheReadme(LinkConformance):
    adapter = readme_adapter().OvenAdapter
    parameters = (
        ParameterInfo("heat", "continuous", 180.0, 100.0, 250.0),
        ParameterInfo("fan", "stepped", 20.0, 0.0, 100.0, step=10.0),
    )

    @pytest.fixture
    def settings(self):
        self.oven = Oven()
        yield self.adapter.Settings(address=f"http://127.0.0.1:{self.oven.server_port}")
        self.oven.stop()

    def lose_machine(self):
        self.oven.stop()

    def return_machine(self):
        self.oven = Oven(self.oven.server_port)

    def mute_machine(self):
        self.oven.speaks.clear()
