"""The daemon's log in files: whole lines, rotated, also where the disk is full."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.daemon.test_logs import LOGGER, logged, until_so, written
from tuner.basics.files import append_to
from tuner.config.daemon import Log
from tuner.daemon import logs as logs_module
from tuner.daemon.logs import FILE_NAME, setup
from tuner.errors import ConfigError


def test_files_are_json_whatever_stderr_is(tmp_path):
    text = logged(Log(directory=tmp_path / "new" / "logs"), lambda: LOGGER.info("x", extra={"trial": 1}))
    path = tmp_path / "new" / "logs" / FILE_NAME
    assert text.endswith(" INFO    tuner.test_logs: x trial=1\n")
    assert written(path)[0]["trial"] == 1
    assert path.stat().st_mode & 0o007 == 0


def test_a_full_file_is_rotated_and_old_ones_are_dropped(tmp_path):
    log = Log(directory=tmp_path, file_megabytes=0.001, files_kept=2)
    logged(log, *(lambda number=number: LOGGER.info("line %d", number) for number in range(40)))
    names = [f"{FILE_NAME}.2", f"{FILE_NAME}.1", FILE_NAME]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)
    assert all((tmp_path / name).stat().st_size <= 1000 for name in names)
    kept = [fields["message"] for name in names for fields in written(tmp_path / name)]
    assert kept == [f"line {number}" for number in range(40 - len(kept), 40)]
    assert len(kept) > 20


def test_a_second_start_appends_to_the_file(tmp_path):
    for number in range(2):
        logged(Log(directory=tmp_path), lambda number=number: LOGGER.info("start %d", number))
    assert [fields["message"] for fields in written(tmp_path / FILE_NAME)] == ["start 0", "start 1"]


def test_after_a_reopen_lines_go_to_the_file_that_has_the_name(tmp_path):
    path, moved = tmp_path / FILE_NAME, tmp_path / "moved"
    with setup(Log(directory=tmp_path), io.StringIO(), {}) as logs:
        LOGGER.info("before")
        until_so(lambda: path.stat().st_size > 0)
        path.rename(moved)
        logs.reopen()
        LOGGER.info("after")
    assert [fields["message"] for fields in written(moved)] == ["before"]
    assert [fields["message"] for fields in written(path)] == ["after"]


def test_a_full_disk_is_told_once_on_stderr_and_the_loss_counted_when_there_is_room(tmp_path, monkeypatch):
    full = True
    monkeypatch.setattr("tuner.daemon.logs.append_to", lambda path: append_to(Path("/dev/full") if full else path))
    stream = io.StringIO()
    with setup(Log(directory=tmp_path, format="json"), stream, {}) as logs:
        for number in range(5):
            LOGGER.info("line %d", number)
        (file_handler,) = [h for h in logs._handlers if h._sink.name != "stderr"]
        until_so(lambda: file_handler._lost == 6)  # five lines and the sentence about the disk
        full = False
        logs.reopen()
        LOGGER.info("room again")
    told = [json.loads(line)["message"] for line in stream.getvalue().splitlines()]
    assert told.count(f"log lines cannot be written to {tmp_path / FILE_NAME}: [Errno 28] No space left on device") == 1
    assert len(told) == 7
    first, second = written(tmp_path / FILE_NAME)
    assert (first["message"], first["lost"]) == ("6 log lines were lost before this one", 6)
    assert second["message"] == "room again"


def test_a_log_that_is_a_link_is_refused_with_a_sentence(tmp_path):
    (tmp_path / FILE_NAME).symlink_to(tmp_path / "precious")
    with pytest.raises(ConfigError, match=f"{FILE_NAME} cannot be written: it is a link; name the file itself"):
        setup(Log(directory=tmp_path), io.StringIO(), {})
    assert not (tmp_path / "precious").exists()


def test_a_disk_that_fills_up_within_a_line_leaves_only_whole_lines(tmp_path):
    script = """
import logging, resource, sys
from pathlib import Path
from tuner.config.daemon import Log
from tuner.daemon.logs import setup
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
with setup(Log(directory=Path(sys.argv[1])), sys.stderr, {}):
    for number in range(30):
        logging.getLogger("tuner").info("line %d", number)
"""
    command = [sys.executable, "-c", script, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr.count("log lines cannot be written") == 1
    text = (tmp_path / FILE_NAME).read_text()
    assert text.endswith("}\n")
    assert len(text) > 800
    assert [fields["message"] for fields in written(tmp_path / FILE_NAME)][:3] == ["line 0", "line 1", "line 2"]


def test_a_disk_that_is_full_at_the_start_does_not_keep_the_daemon_down(tmp_path, monkeypatch):
    def full(self):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(logs_module.FileSink, "open", full)
    assert "log lines cannot be written" in logged(Log(directory=tmp_path), lambda: LOGGER.info("x"))


def test_a_log_directory_that_cannot_be_written_is_a_configuration_error(tmp_path):
    (tmp_path / "logs").write_text("a file")
    with pytest.raises(ConfigError, match=r"daemon\.log\.directory: .* cannot be written: File exists"):
        setup(Log(directory=tmp_path / "logs"), io.StringIO(), {})
