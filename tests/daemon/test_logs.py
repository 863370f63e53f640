import io
import json
import logging
import os
import subprocess
import sys
import threading
from datetime import UTC, datetime

import pytest

from tests.patience import PATIENT_S
from tuner.config.daemon import Log
from tuner.daemon.logs import JsonFormatter, Queued, StreamSink, TextFormatter, setup

LOGGER = logging.getLogger("tuner.test_logs")


def written(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def logged(log, *calls, environ=None):
    """Set up, do what the calls do, close, and return what stands on the stream."""
    stream = io.StringIO()
    with setup(log, stream, environ or {}):
        for call in calls:
            call()
    return stream.getvalue()


def full_pipe():
    """Return a reader, a stream that blocks at the next write, and the bytes that fill it."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    filled = 0
    while True:
        try:
            filled += os.write(writer, b"." * 4096)
        except BlockingIOError:
            break
    os.set_blocking(writer, True)
    return reader, os.fdopen(writer, "w"), filled


def drained(reader, stream, skip, close):
    """Empty the pipe while `close` runs, and return what was written after the filling."""
    closing = threading.Thread(target=lambda: (close(), stream.close()))
    closing.start()
    with os.fdopen(reader, "rb") as source:
        rest = source.read()
    closing.join()
    return rest[skip:].decode()


def test_json_lines_carry_time_level_logger_message_and_extra_fields():
    extra = {"campaign": "sasena", "trial": 7, "request": None, "level": "clash"}
    before = datetime.now(UTC)
    text = logged(Log(format="json"), lambda: LOGGER.warning("part %s", "A7", extra=extra))
    fields = json.loads(text)
    moment = datetime.fromisoformat(fields.pop("time"))
    assert before.timestamp() - 0.001 <= moment.timestamp() <= datetime.now(UTC).timestamp()
    assert moment.utcoffset().total_seconds() == 0
    assert fields == {
        "level": "warning",
        "logger": "tuner.test_logs",
        "message": "part A7",
        "campaign": "sasena",
        "trial": 7,
        "request": None,
        "level_": "clash",
    }


def test_text_lines_are_for_people():
    text = logged(Log(), lambda: LOGGER.info("trial done", extra={"campaign": "sasena"}))
    assert text[24:] == " INFO    tuner.test_logs: trial done campaign=sasena\n"
    assert datetime.fromisoformat(text[:24]).tzinfo is not None


def test_values_that_json_does_not_know_are_written_as_text():
    extra = {"number": float("nan"), "list": (1, {2.5}), "table": {3: object}, "broken": "\udcff"}
    fields = json.loads(logged(Log(format="json"), lambda: LOGGER.info("x", extra=extra)))
    assert fields["number"] == "nan"
    assert fields["list"] == [1, [2.5]]
    assert fields["table"] == {"3": "<class 'object'>"}
    assert fields["broken"] == "\udcff"


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_name_cannot_forge_a_line_or_move_the_cursor(form):
    evil = "eve\n2026-01-01T00:00:00.000Z ERROR   tuner: forged\x1b[2J\x9b\u2028"
    text = logged(Log(format=form), lambda: LOGGER.info("hello %s", evil, extra={"actor": evil}))
    assert len(text.splitlines()) == 1
    assert text.removesuffix("\n").isprintable()


@pytest.mark.parametrize("form", ["text", "json"])
def test_an_exception_is_written_with_its_traceback(form):
    def fail():
        try:
            1 / 0  # noqa: B018 - for its exception
        except ZeroDivisionError:
            LOGGER.exception("the fit failed")

    text = logged(Log(format=form), fail)
    if form == "json":
        assert json.loads(text)["exception"].endswith("ZeroDivisionError: division by zero")
    else:
        first, *rest = text.splitlines()
        assert first.endswith("the fit failed")
        assert rest[-1] == "  ZeroDivisionError: division by zero"
        assert all(line.startswith("  ") for line in rest)


@pytest.mark.parametrize("formatter", [JsonFormatter(), TextFormatter(with_time=True)])
def test_the_formatters_also_work_in_a_plain_handler(formatter):
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(formatter)
    error = ValueError("of a plain handler")
    handler.handle(LOGGER.makeRecord("x", logging.ERROR, "f", 1, "m %d", (3,), (ValueError, error, None)))
    assert "m 3" in stream.getvalue()
    assert "ValueError: of a plain handler" in stream.getvalue()


def test_what_is_less_important_than_the_level_is_left_out():
    calls = [lambda: LOGGER.debug("d"), lambda: LOGGER.info("i"), lambda: LOGGER.warning("w")]
    lines = logged(Log(level="warning", format="json"), *calls).splitlines()
    assert [json.loads(line)["message"] for line in lines] == ["w"]
    lines = logged(Log(level="debug", format="json"), *calls).splitlines()
    assert [json.loads(line)["message"] for line in lines] == ["d", "i", "w"]


def test_libraries_are_heard_only_when_they_warn():
    library = logging.getLogger("some_library")
    text = logged(Log(level="debug", format="json"), lambda: library.info("chat"), lambda: library.warning("trouble"))
    assert json.loads(text)["message"] == "trouble"


def test_journald_gets_priorities_on_every_line_and_no_time():
    reader, writer = os.pipe()
    with os.fdopen(reader) as source, os.fdopen(writer, "w") as stream:
        status = os.fstat(writer)
        with setup(Log(level="debug"), stream, {"JOURNAL_STREAM": f"{status.st_dev}:{status.st_ino}"}):
            LOGGER.debug("d")
            LOGGER.info("i")
            LOGGER.warning("w")
            LOGGER.error("e", stack_info=True)
        stream.close()
        lines = source.read().splitlines()
    assert lines[:4] == [
        "<7>DEBUG   tuner.test_logs: d",
        "<6>INFO    tuner.test_logs: i",
        "<4>WARNING tuner.test_logs: w",
        "<3>ERROR   tuner.test_logs: e",
    ]
    assert len(lines) > 5
    assert all(line.startswith("<3>  ") for line in lines[4:])


def test_a_journal_that_reads_another_stream_changes_nothing(tmp_path):
    with (tmp_path / "stderr").open("w") as stream, setup(Log(), stream, {"JOURNAL_STREAM": "1:2"}):
        LOGGER.info("x")
    text = (tmp_path / "stderr").read_text()
    assert datetime.fromisoformat(text[:24])
    assert not text.startswith("<")


def test_a_reader_that_does_not_read_stops_nobody_and_close_writes_what_waited():
    reader, stream, filled = full_pipe()
    logs = setup(Log(format="json"), stream, {})
    for number in range(100):
        LOGGER.info("line %d", number)  # would block for ever if it wrote
    text = drained(reader, stream, filled, logs.close)
    assert [json.loads(line)["message"] for line in text.splitlines()] == [f"line {number}" for number in range(100)]


def test_memory_is_bounded_when_a_sink_is_stuck_and_the_loss_is_counted():
    reader, stream, filled = full_pipe()
    sink = StreamSink(stream, journald=False)
    sink.setFormatter(JsonFormatter())
    handler = Queued(sink, most_waiting=3)
    for number in range(50):
        handler.handle(LOGGER.makeRecord("tuner", logging.INFO, "f", 1, "line %d", (number,), None))
    lines = [json.loads(line) for line in drained(reader, stream, filled, handler.close).splitlines()]
    lost = [fields["lost"] for fields in lines if "lost" in fields]
    assert sum(lost) + len(lines) - len(lost) == 50
    assert sum(lost) >= 46


def test_a_reader_that_is_gone_does_no_harm():
    reader, writer = os.pipe()
    os.close(reader)
    stream = os.fdopen(writer, "w")
    with setup(Log(), stream, {}):
        LOGGER.error("nobody hears this")
    with pytest.raises(BrokenPipeError):
        stream.close()


def test_a_stream_that_knows_only_ascii_gets_escapes(tmp_path):
    with (tmp_path / "stderr").open("w", encoding="ascii") as stream, setup(Log(), stream, {}):
        LOGGER.info("Größe")
    assert "Gr\\xf6\\xdfe" in (tmp_path / "stderr").read_text()


def test_a_wrong_log_call_becomes_a_line_that_says_where():
    script = """
import logging, sys
from tuner.config.daemon import Log
from tuner.daemon.logs import setup
with setup(Log(format="json"), sys.stderr, {}):
    logging.getLogger("tuner").info("%d parts", "many")
    logging.getLogger("tuner").info("next")
"""  # in a process of its own, because pytest's own handlers make an exception of it
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    text = done.stderr
    first, second = (json.loads(line) for line in text.splitlines())
    assert first["message"] == "a log line could not be made: '%d parts'"
    assert first["place"] == "<string>:6"
    assert second["message"] == "next"


def test_a_record_shows_its_arguments_as_they_were_when_it_was_logged():
    reader, stream, filled = full_pipe()
    logs = setup(Log(format="json"), stream, {})
    setting = {"x1": 1.0}
    LOGGER.info("first")
    LOGGER.info("apply %s", setting, extra={"setting": setting})
    setting["x1"] = 9.0
    _, line = drained(reader, stream, filled, logs.close).splitlines()
    assert json.loads(line)["message"] == "apply {'x1': 1.0}"
    assert json.loads(line)["setting"] == {"x1": 1.0}


def test_closing_leaves_logging_as_it_was():
    root = logging.getLogger()
    before = [*root.handlers], root.level, logging.getLogger("tuner").level
    logs = setup(Log(level="debug"), io.StringIO(), {})
    assert ([*root.handlers], root.level) != before[:2]
    logs.close()
    logs.close()
    assert ([*root.handlers], root.level, logging.getLogger("tuner").level) == before
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("log to")]


def test_lines_that_wait_are_written_when_the_interpreter_ends_without_close(tmp_path):
    script = (
        "import logging, sys; from tuner.config.daemon import Log; from tuner.daemon.logs import setup;"
        "setup(Log(), sys.stderr, {}); logging.getLogger('tuner').info('last words')"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr.endswith("tuner: last words\n")


def until_so(condition, deadline_s=PATIENT_S):
    waited = threading.Event()
    for _ in range(int(deadline_s / 0.01)):
        if condition():
            return
        waited.wait(0.01)
    raise AssertionError("the condition did not come true in time")


def test_in_the_background_of_a_terminal_a_daemon_that_is_ready_writes_only_what_people_must_know():
    program = """
import logging, os, pty, sys
from tuner.daemon.logs import StreamSink, TextFormatter

child, terminal = pty.fork()
if child == 0:
    worker = os.fork()
    if worker == 0:
        os.setpgid(0, 0)  # as a shell does for a command that ends with &
        sink = StreamSink(sys.stderr, journald=False)
        sink.setFormatter(TextFormatter(with_time=False))
        for level, text in ((20, "starting"), (20, "ready: 1 campaign"), (20, "a part"), (30, "a fault")):
            sink.emit(logging.LogRecord("tuner", level, "", 0, text, None, None))
        os._exit(0)
    os.waitpid(worker, 0)
    os._exit(0)
said = b""
while True:
    try:
        piece = os.read(terminal, 1000)
    except OSError:
        break
    if not piece:
        break
    said += piece
os.waitpid(child, 0)
sys.stdout.write(said.decode())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENT_S)
    assert "starting" in done.stdout, done.stderr
    assert "ready: 1 campaign" in done.stdout
    assert "a part" not in done.stdout
    assert "a fault" in done.stdout
