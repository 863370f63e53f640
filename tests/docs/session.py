"""A shell in a directory like a fresh checkout, and a person who types the commands of a page into it."""

import fcntl
import os
import pty
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from pathlib import Path

import pyte

from tests.daemon.running import until
from tests.docs.documents import ROOT, Command
from tests.docs.table import PLACES, Place, state, words
from tests.patience import PATIENT_S
from tuner.errors import UnreachableError
from tuner.wire.client import Client
from tuner.wire.operations import Operations

SHOWN = ("configs", "docs", "examples", "scripts", "systemd")
# systemd cannot run here: what it would do is done by hand, with the real daemon
STAND_INS = """
runuser() { shift 3; "$@"; }
systemctl() {
    case "$1" in
        enable | start)
            tuner run "$HOME/../etc/tuner.toml" 2>>"$HOME/../daemon.log" &
            until test -S "$HOME/.local/state/tuner/requests.sock"; do sleep 0.05; done
            tuner status ;;
        stop) tuner stop ;;
    esac
}
"""


LONG_S = 3000.0  # for the longest command; pytest ends a hanging one sooner
NEEDS_A_DAEMON = re.compile(
    r"(tuner (bundle|campaign|export|handover|journal show|journal verify|people|recipe|replay|report|status|stop)"
    r"|systemctl stop)\b"
)

NEEDS_A_QUESTION = re.compile(r"tuner (bundle|export|recipe|replay|report)\b")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Session:
    """Runs commands one after the other in one shell; a daemon with the default state is there when it is needed."""

    def __init__(self, page: str) -> None:
        self.page = page
        self.there = Path(tempfile.mkdtemp(prefix="doc"))
        for name in ("home", "etc", "log", "tmp", "work"):
            (self.there / name).mkdir()
        (self.there / "etc" / "tuner.toml").write_text(PLACES.get(page, Place()).config)
        self.work = self.there / "work"
        for name in SHOWN:
            (self.work / name).symlink_to(ROOT / name)
        (self.work / ".venv").symlink_to(sys.prefix)
        (self.work / "logs").mkdir()
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("TUNER_", "XDG_"))}
        self.environ = {
            **kept,
            "HOME": str(self.there / "home"),
            "PATH": f"{sys.prefix}/bin:{os.environ['PATH']}",
            "LANG": "C.UTF-8",
        }
        self.output = ""
        reader, writer = os.pipe()
        self._codes = os.fdopen(reader)
        self._writer = writer
        with (self.there / "output").open("wb") as output:
            self._shell = subprocess.Popen(
                ["bash", "--norc"],  # noqa: S607 - found by PATH, as by whoever reads the page
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self.work,
                env=self.environ,
                pass_fds=(writer,),
                start_new_session=True,
            )
        os.close(writer)
        self._type(STAND_INS)

    def close(self) -> None:
        """End everything that was started, and remove the directory."""
        for sent in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self._shell.pid, sent)
                self._shell.wait(PATIENT_S)
            except ProcessLookupError:
                break
            except subprocess.TimeoutExpired:
                continue
        self._shell.stdin.close()
        self._codes.close()
        shutil.rmtree(self.there, ignore_errors=True)

    def run(self, command: Command) -> int:
        """Type a command as the page has it, with what stands for something else replaced; its exit code."""
        text = re.sub(r"[][]", "", command.text) if command.prose else command.text
        meant = words(self.page, self.there)
        text = re.sub("|".join(map(re.escape, meant)), lambda word: meant[word[0]], text)
        if exported := re.fullmatch(r"export (TUNER_STATE)=\$PWD/(\S+)", text):
            self.environ[exported[1]] = str(self.work / exported[2])
        elif command.prose and self.environ.pop("TUNER_STATE", None):  # prose is typed last, its daemon has gone
            self._type("unset TUNER_STATE")
        if NEEDS_A_DAEMON.match(text) and "--state ./" not in text and "TUNER_STATE" not in self.environ:
            self.serve()
            if NEEDS_A_QUESTION.match(text):
                self._until_something_has_happened()
        if re.match(r"tuner web\b(?! certificate)|tuner demo --human", text):
            return self._interrupted(text)
        if text.startswith("tuner console"):
            self.serve_default(text)
            return self._at_a_terminal(text)
        if text.startswith("tuner ask"):
            self.serve_default(text)
            return self._answering(text)
        if text.startswith("tuner run") and not text.endswith("&"):
            return self._type(f"{text} & sleep 0")
        code = self._type(text)
        if text.startswith("tuner run") and code == 0:
            self._until_it_answers(text)
        return code

    def serve(self) -> None:
        """Have a daemon where commands look for one by default."""
        with Client.local(state(self.there), find_s=0.5) as client:
            try:
                client.ping()
            except UnreachableError:
                assert self._type("systemctl start tuner") == 0, self.said()

    def _until_something_has_happened(self) -> None:
        with Client.local(state(self.there)) as client:
            for line in client.status().campaigns:
                until(client, line.name, lambda view: view.duel is not None)

    def serve_default(self, text: str) -> None:
        """The same, unless the command names another one."""
        if "--state" not in text and "TUNER_STATE" not in self.environ:
            self.serve()

    def said(self) -> str:
        """What the last command printed."""
        return self.output

    def _until_it_answers(self, text: str) -> None:
        there = re.search(r"--state (\S+)", text)
        default = Path(self.environ.get("TUNER_STATE", state(self.there)))
        with Client.local(self.work / there[1] if there else default, find_s=PATIENT_S) as client:
            client.call(Operations.ping(), timeout_s=PATIENT_S)

    def _type(self, text: str) -> int:
        begin = (self.there / "output").stat().st_size
        self._shell.stdin.write(f"{{ {text}\n}} </dev/null; echo $? >&{self._writer}\n".encode())
        self._shell.stdin.flush()
        ready, _, _ = select.select([self._codes], [], [], LONG_S)
        with (self.there / "output").open("rb") as output:
            output.seek(begin)
            self.output = output.read().decode(errors="replace")
        assert ready, f"no end of {text!r} after {LONG_S:.0f} s; it printed\n{self.output}"
        return int(self._codes.readline())

    def _started(self, text: str, **streams: object) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            ["bash", "-c", f"exec {text}"],  # noqa: S607
            cwd=self.work,
            env=self.environ,
            start_new_session=True,
            **streams,
        )

    def _interrupted(self, text: str) -> int:
        """Wait until it says that it serves, then Ctrl-C."""
        self.serve_default(text)
        text = re.sub(r"^tuner web\b", f"tuner web --listen 127.0.0.1:{free_port()}", text)
        process = self._started(text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        said = b""
        while b"http://" not in said and b"tuner console" not in said:
            line = process.stdout.readline()
            said += line
            assert line, f"it ended: {said.decode()}"
        drain = threading.Thread(target=process.stdout.read)
        drain.start()
        process.send_signal(signal.SIGINT)
        code = process.wait(PATIENT_S)
        drain.join()
        process.stdout.close()
        self.output = said.decode()
        return code if code >= 0 else 128 - code

    def _answering(self, text: str) -> int:
        """Sign in, and end."""
        process = self._started(text, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        said, _ = process.communicate(b"lena\nq\n", PATIENT_S)
        self.output = said.decode()
        return process.returncode

    def _at_a_terminal(self, text: str) -> int:
        """Open it on a screen of 80 by 24, wait for a question, leave."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        process = self._started(f"{text} --operator lena", stdin=slave, stdout=slave, stderr=slave)
        os.close(slave)
        said, end, left = b"", time.monotonic() + PATIENT_S, False
        screen = pyte.Screen(80, 24)
        stream = pyte.ByteStream(screen)
        while process.poll() is None and time.monotonic() < end:
            if select.select([master], [], [], 0.1)[0]:
                try:
                    data = os.read(master, 65536)
                except OSError:  # it has gone
                    break
                said += data
                stream.feed(data)
            if not left and "Which part is better?" in "\n".join(screen.display):
                os.write(master, b"q")
                left = True
        os.close(master)
        self.output = said.decode(errors="replace")
        process.wait(PATIENT_S)
        return process.returncode
