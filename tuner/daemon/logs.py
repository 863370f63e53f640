"""Sets up logging: to stderr for people or journald, and to rotating JSON files, never waited for by the event loop."""

import contextlib
import copy
import errno
import json
import logging
import math
import os
import queue
import threading
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from logging.handlers import QueueHandler
from pathlib import Path
from typing import BinaryIO, Self, TextIO

from tuner.basics.files import append_to
from tuner.config.daemon import Log
from tuner.errors import ConfigError

FILE_NAME = "tuner.jsonl"
_OURS = ("tuner", "adapters")
_MOST_WAITING = 10_000  # records; beyond it they are counted and dropped, so that a stuck disk does not fill the memory
_CLOSE_S = 5.0  # a stuck disk must not keep the daemon from ending
# A disk may be full today: the daemon must start all the same. Everything else that is wrong with a path is an error.
_PASSING = (errno.ENOSPC, errno.EDQUOT, errno.EIO)
_USUAL = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_PRIORITIES = ((logging.ERROR, 3), (logging.WARNING, 4), (logging.INFO, 6))  # syslog's numbers
_logger = logging.getLogger(__name__)


def _plain(value: object) -> object:
    """A value that JSON can hold and nobody changes later."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    return str(value)


def _extra(record: logging.LogRecord) -> dict[str, object]:
    """What the caller gave in `extra=`: campaign, trial, request and so on."""
    return {name: value for name, value in vars(record).items() if name not in _USUAL}


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _visible(text: str) -> str:
    """Escape control characters: a name typed by somebody must not forge a line or move the cursor."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


READY = "ready: "  # how the line begins after which the daemon can be used


class JsonFormatter(logging.Formatter):
    """One JSON object per line, in ASCII: time (UTC), level, logger, message, the extra fields, exception."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        fields: dict[str, object] = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        for name, value in _extra(record).items():
            fields[f"{name}_" if name in fields else name] = _plain(value)
        if record.exc_info and not record.exc_text:
            record.exc_text = self.formatException(record.exc_info)
        if record.exc_text:
            fields["exception"] = record.exc_text
        if record.stack_info:
            fields["stack"] = record.stack_info
        return json.dumps(fields, allow_nan=False)


class TextFormatter(logging.Formatter):
    """Lines for people; a traceback follows indented."""

    def __init__(self, with_time: bool) -> None:
        super().__init__()
        self._with_time = with_time

    def format(self, record: logging.LogRecord) -> str:
        """Return the lines."""
        head = f"{_time(record)} " if self._with_time else ""
        extra = "".join(f" {name}={_visible(str(_plain(value)))}" for name, value in _extra(record).items())
        lines = [f"{head}{record.levelname:<7} {record.name}: {_visible(record.getMessage())}{extra}"]
        if record.exc_info and not record.exc_text:
            record.exc_text = self.formatException(record.exc_info)
        for block in (record.exc_text, record.stack_info):
            lines += [f"  {_visible(line)}" for line in (block or "").splitlines()]
        return "\n".join(lines)


class StreamSink(logging.Handler):
    """Writes to stderr; for journald each line begins with its priority, so that `journalctl -p warning` works."""

    def __init__(self, stream: TextIO, journald: bool) -> None:
        super().__init__()
        self._stream, self._journald = stream, journald
        self._ready = False
        self.set_name("stderr")

    def emit(self, record: logging.LogRecord) -> None:
        """Write the lines of a record; raises what the stream raises.

        In the background of a terminal somebody else has the screen, perhaps the console: once the daemon is ready it
        writes only what people must know.
        """
        if self._ready and record.levelno < logging.WARNING and in_background(self._stream):
            return
        self._ready = self._ready or record.getMessage().startswith(READY)
        text = self.format(record)
        if self._journald:
            priority = next((number for level, number in _PRIORITIES if record.levelno >= level), 7)
            text = "\n".join(f"<{priority}>{line}" for line in text.split("\n"))
        encoding = self._stream.encoding or "utf-8"
        self._stream.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
        self._stream.flush()


def in_background(stream: TextIO) -> bool:
    """Whether it is a terminal in which another process is in the foreground."""
    try:
        return os.tcgetpgrp(stream.fileno()) != os.getpgrp()
    except (OSError, ValueError):
        return False


class FileSink(logging.Handler):
    """Appends whole lines to a file and begins a new one when it is full; a line that does not fit leaves no trace."""

    def __init__(self, path: Path, limit_bytes: int, files_kept: int) -> None:
        super().__init__()
        self._path, self._limit_bytes, self._files_kept = path, limit_bytes, files_kept
        self._file: BinaryIO | None = None
        self.set_name(str(path))

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line; raises OSError if that is not possible."""
        line = self.format(record).encode() + b"\n"
        file = self.open()
        size_bytes = file.seek(0, os.SEEK_END)
        if size_bytes and size_bytes + len(line) > self._limit_bytes:
            self._rotate()
            file, size_bytes = self.open(), 0
        whole = False
        try:
            whole = file.write(line) == len(line)
        finally:
            if not whole:
                with contextlib.suppress(OSError):
                    file.truncate(size_bytes)
        if not whole:  # the kernel took a part: the rest would have failed
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def open(self) -> BinaryIO:
        """The file, opened if it is not."""
        if self._file is None:
            self._path.parent.mkdir(mode=0o750, parents=True, exist_ok=True)
            self._file = os.fdopen(append_to(self._path), "ab", buffering=0)
        return self._file

    def reopen(self) -> None:
        """Open the file by its name again when it is needed: somebody may have moved it."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def close(self) -> None:
        """Give the file back."""
        self.reopen()
        super().close()

    def _rotate(self) -> None:
        self.reopen()
        for number in range(self._files_kept - 1, -1, -1):
            with contextlib.suppress(FileNotFoundError):
                self._numbered(number).replace(self._numbered(number + 1))

    def _numbered(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}") if number else self._path


class Queued(QueueHandler):
    """Takes records at once and lets a thread of its own write them, one per sink: a stuck disk does not stop stderr.

    Nothing that goes wrong here reaches the caller. Lost records are counted, and the count is written when there is
    room again.
    """

    def __init__(self, sink: StreamSink | FileSink, most_waiting: int = _MOST_WAITING) -> None:
        self._waiting: queue.Queue[logging.LogRecord | None] = queue.Queue(most_waiting)
        super().__init__(self._waiting)
        self._sink = sink
        self._lost = self._failing = 0
        self._reopen = threading.Event()
        self._thread = threading.Thread(target=self._work, name=f"log to {sink.name}", daemon=True)
        self._thread.start()

    def prepare(self, record: logging.LogRecord) -> logging.LogRecord:
        """Freeze the record: its arguments may change before the thread looks at them."""
        frozen = copy.copy(record)
        frozen.msg, frozen.args = record.getMessage(), None
        if frozen.exc_info and not frozen.exc_text:
            frozen.exc_text = logging.Formatter().formatException(frozen.exc_info)
        frozen.exc_info = None
        vars(frozen).update({name: _plain(value) for name, value in _extra(frozen).items()})
        return frozen

    def enqueue(self, record: logging.LogRecord) -> None:
        """Hand over to the thread, or count as lost."""
        try:
            self._waiting.put_nowait(record)
        except queue.Full:
            self._lost += 1

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's name
        """A wrong call of the logger is worth a line, not an exception."""
        text = f"a log line could not be made: {record.msg!r:.200}"
        self.enqueue(_note(logging.ERROR, text, place=f"{record.pathname}:{record.lineno}"))

    def reopen(self) -> None:
        """Before the next record, open the sink's file by its name again."""
        self._reopen.set()

    def close(self) -> None:
        """Write what waits, but do not wait for ever; then close the sink."""
        super().close()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            with contextlib.suppress(queue.Full):
                self._waiting.put(None, timeout=_CLOSE_S)
            self._thread.join(_CLOSE_S)

    def _work(self) -> None:
        while (record := self._waiting.get()) is not None:
            try:
                self._write(record)
                self._failing = 0
            except Exception as error:  # noqa: BLE001 - the only thread that writes: it must not die
                with self._counting():
                    self._lost += 1
                self._failing += 1
                if self._failing == 1:  # the other sink still has ears
                    _logger.error("log lines cannot be written to %s: %s", self._sink.name, error)  # noqa: TRY400 - known
        with contextlib.suppress(Exception):  # at the end of the daemon nobody is left to tell
            self._tell_lost()
            self._sink.close()

    def _write(self, record: logging.LogRecord) -> None:
        if self._reopen.is_set() and isinstance(self._sink, FileSink):
            self._reopen.clear()
            self._sink.reopen()
        self._tell_lost()
        self._sink.emit(record)

    def _tell_lost(self) -> None:
        lost = self._lost
        if lost:
            self._sink.emit(_note(logging.WARNING, f"{lost} log lines were lost before this one", lost=lost))
            with self._counting():
                self._lost -= lost

    @contextlib.contextmanager
    def _counting(self) -> Iterator[None]:
        self.acquire()  # logging holds it around `enqueue`
        try:
            yield
        finally:
            self.release()


def _note(level: int, text: str, **extra: object) -> logging.LogRecord:
    record = logging.LogRecord(__name__, level, __file__, 0, text, None, None)
    vars(record).update(extra)
    return record


class Logs:
    """Logging as it was set up, until `close`."""

    def __init__(self, handlers: tuple[Queued, ...], level: int) -> None:
        self._handlers = handlers
        # what libraries tell below a warning is about themselves: asyncua alone would fill the disk
        levels: dict[str | None, int] = {None: max(level, logging.WARNING), **dict.fromkeys(_OURS, level)}
        self._before = {name: logging.getLogger(name).level for name in levels}
        for name, new in levels.items():
            logging.getLogger(name).setLevel(new)
        for handler in handlers:
            logging.getLogger().addHandler(handler)

    def reopen(self) -> None:
        """On SIGHUP: write to the files that have the names now. Returns at once."""
        for handler in self._handlers:
            handler.reopen()

    def close(self) -> None:
        """Write everything that waits and leave logging as it was found."""
        for handler in reversed(self._handlers):  # stderr last: it is told what goes wrong with the files
            logging.getLogger().removeHandler(handler)
            handler.close()
        for name, level in self._before.items():
            logging.getLogger(name).setLevel(level)
        self._handlers, self._before = (), {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def setup(log: Log, stream: TextIO, environ: Mapping[str, str]) -> Logs:
    """Send log records to `stream` and, if the configuration names a directory, to files in it."""
    journald = _is_journal(stream, environ)
    on_stream = StreamSink(stream, journald)
    on_stream.setFormatter(JsonFormatter() if log.format == "json" else TextFormatter(with_time=not journald))
    sinks: list[StreamSink | FileSink] = [on_stream]
    if log.directory is not None:
        path = log.directory.expanduser().absolute() / FILE_NAME
        in_file = FileSink(path, max(1, round(log.file_megabytes * 1e6)), log.files_kept)
        in_file.setFormatter(JsonFormatter())
        try:
            in_file.open()
        except OSError as error:
            if error.errno not in _PASSING:
                raise ConfigError(f"daemon.log.directory: {path} cannot be written: {error.strerror}") from error
        sinks.append(in_file)
    return Logs(tuple(Queued(sink) for sink in sinks), logging.getLevelNamesMapping()[log.level.upper()])


def _is_journal(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Does journald read this very stream? The variable is inherited, also by those whose stderr goes elsewhere."""
    try:
        status = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return False
    return environ.get("JOURNAL_STREAM") == f"{status.st_dev}:{status.st_ino}"
