"""The service unit is understood by systemd, exposes little, and its system call filter lets the daemon work.

Needs `systemd-analyze` and libseccomp.so.2 (Debian's packages systemd and libseccomp2), but no running systemd.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.system.seccomp import UNIT, allowed, options, run_under_filter

ROOT = UNIT.parents[1]
MOST_EXPOSURE = 1.5  # systemd-analyze's figure: 0 is best, 10 is worst
TUNER = Path(sysconfig.get_path("scripts")) / "tuner"


def run(*command, **kwargs):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **kwargs)


@pytest.fixture
def unit(tmp_path):
    """Copy the unit with a command that exists here: systemd-analyze complains about a missing one."""
    copy = tmp_path / UNIT.name
    text, replaced = re.subn(r"(?m)^ExecStart=.*$", "ExecStart=/bin/true", UNIT.read_text())
    assert replaced == 1
    copy.write_text(text)
    return copy


def test_systemd_has_nothing_to_say_about_the_unit(unit):
    done = run("systemd-analyze", "verify", "--man=no", unit)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


def test_a_mistyped_option_would_be_noticed(unit):
    unit.write_text(unit.read_text().replace("ProtectClock=", "ProtectClok="))
    assert "ProtectClok" in run("systemd-analyze", "verify", "--man=no", unit).stderr


def test_the_exposure_of_the_unit_is_low(unit):
    done = run("systemd-analyze", "security", "--offline=true", "--no-pager", unit)
    figure = re.search(r"Overall exposure level for \S+: ([\d.]+)", done.stdout)
    assert figure, done.stdout + done.stderr
    assert float(figure[1]) <= MOST_EXPOSURE, done.stdout


def test_the_unit_says_what_the_daemon_relies_on():
    found = options(UNIT.read_text())
    assert found["Type"] == ["notify"]
    assert found["RestartPreventExitStatus"] == ["78"]
    assert found["KillMode"] == ["mixed"]
    assert all(found[f"{kind}Directory"] == ["tuner"] for kind in ("State", "Runtime", "Logs", "Configuration"))
    assert int(found["TimeoutStopSec"][0]) > int(found["WatchdogSec"][0])
    assert found["ExecStart"] == ["/opt/tuner/bin/tuner run /etc/tuner/tuner.toml"]


def test_the_user_of_the_unit_is_created_with_access_to_serial_ports(tmp_path):
    (tmp_path / "etc").mkdir()
    done = run("systemd-sysusers", f"--root={tmp_path}", ROOT / "systemd" / "tuner.sysusers")
    assert done.returncode == 0, done.stderr
    assert re.search(
        r"(?m)^tuner:x:\d+:\d+:tuner daemon:/var/lib/tuner:\S*nologin$", (tmp_path / "etc/passwd").read_text()
    )
    assert re.search(r"(?m)^dialout:x:\d+:tuner$", (tmp_path / "etc/group").read_text())


def test_systemd_has_nothing_to_say_about_the_lines_for_tmpfiles(tmp_path):
    lines = ROOT / "systemd" / "tuner.tmpfiles"
    done = run("systemd-tmpfiles", "--create", "--prefix=/nowhere", f"--root={tmp_path}", lines)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


# ---------------------------------------------------------------------------------------------------------------------
# The system call filter
# ---------------------------------------------------------------------------------------------------------------------


def test_the_filter_allows_and_takes_away_in_the_order_of_the_lines():
    assert {"read", "execve"} <= allowed(["read write"])
    assert "write" not in allowed(["@basic-io", "~write"])
    assert "write" in allowed(["@basic-io", "~write", "write"])
    with pytest.raises(ValueError, match="must not begin with ~"):
        allowed(["~@mount"])


FORBIDDEN = {
    # Without a filter, the wrong pointer of this mount is found before the rights are asked for: EFAULT.
    "mount": "import ctypes; libc = ctypes.CDLL(None, use_errno=True); libc.mount(1, 1, 1, 0, 0);"
    "assert ctypes.get_errno() == 14, ctypes.get_errno()",
    "processors": "import os; os.sched_setaffinity(0, os.sched_getaffinity(0))",
    "memory that is writable and executable": "import mmap; mmap.mmap(-1, 4096, prot=7)",
    # Without a filter this works, or is a matter of rights: EPERM.
    "raw packets": "import ctypes; libc = ctypes.CDLL(None, use_errno=True); libc.socket(17, 3, 0);"
    "assert ctypes.get_errno() in (0, 1), ctypes.get_errno()",
    "set-user-id files": "import os, tempfile; d = tempfile.mkdtemp(); os.chmod(d, 0o4700); os.rmdir(d)",
}


@pytest.mark.parametrize("script", FORBIDDEN.values(), ids=FORBIDDEN)
def test_the_filter_bites(script):
    free = run(sys.executable, "-c", script)
    assert free.returncode == 0, free.stderr
    held = run_under_filter([sys.executable, "-c", script])
    assert held.returncode == 1, held.stdout + held.stderr
    assert re.search(r"Operation not permitted|AssertionError: (1|97)$", held.stderr.strip())


NUMBERS = """
import ctypes, numpy, scipy.linalg, scipy.optimize
ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 7)()
a = numpy.eye(300) + 0.5
scipy.linalg.cho_solve(scipy.linalg.cho_factor(a), a)
scipy.optimize.minimize(lambda x: ((x - 1) ** 2).sum(), numpy.zeros(5))
import tuner
optimizer = tuner.Optimizer(tuner.Space([tuner.Continuous("x", 0.0, 1.0)]), seed=1, budget=5)
optimizer.tell_outcome(optimizer.ask().number, True)
optimizer.ask()
print("done")
"""
ZEROMQ = """
import sys, zmq
from zmq.auth.thread import ThreadAuthenticator
context = zmq.Context()
guard = ThreadAuthenticator(context)
guard.start()
guard.configure_curve(domain="*", location=zmq.auth.CURVE_ALLOW_ANY)
public, secret = zmq.curve_keypair()
for address in ("tcp://127.0.0.1:*", f"ipc://{sys.argv[1]}/requests.sock"):
    with context.socket(zmq.ROUTER) as router, context.socket(zmq.DEALER) as dealer:
        router.curve_server, router.curve_secretkey = True, secret
        dealer.curve_serverkey = public
        dealer.curve_publickey, dealer.curve_secretkey = zmq.curve_keypair()
        for each in (router, dealer):
            each.linger, each.rcvtimeo = 0, 30_000
        router.bind(address)
        dealer.connect(router.last_endpoint)
        dealer.send(b"hello")
        router.send_multipart(router.recv_multipart())
        assert dealer.recv() == b"hello"
guard.stop()
context.term()
print("done")
"""
PROCESSES = """
import multiprocessing, os, signal, subprocess, sys
from concurrent.futures import ProcessPoolExecutor

def work(number):
    os.nice(1)
    return number * number

if __name__ == "__main__":
    context = multiprocessing.get_context("forkserver")
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        assert list(pool.map(work, range(5))) == [0, 1, 4, 9, 16]
    with context.Manager() as manager:
        manager.dict()["key"] = 1
    child = context.Process(target=signal.pause)
    child.start()
    child.kill()
    child.join()
    assert subprocess.run([sys.executable, "-c", "pass"]).returncode == 0
    print("done")
"""
JOURNAL = """
import fcntl, os, sqlite3, sys
path = os.path.join(sys.argv[1], "journal.db")
a, b = (sqlite3.connect(path, isolation_level=None) for _ in range(2))
assert a.execute("PRAGMA journal_mode=WAL").fetchone() == ("wal",)
a.execute("PRAGMA synchronous=FULL")
a.execute("CREATE TABLE event (seq INTEGER PRIMARY KEY, body TEXT) STRICT")
a.execute("BEGIN IMMEDIATE")
a.execute("INSERT INTO event (body) VALUES ('x')")
a.execute("COMMIT")
assert b.execute("SELECT count(*) FROM event").fetchone() == (1,)
assert os.path.exists(path + "-shm")
b.close()
a.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
a.execute("VACUUM INTO ?", (path + ".backup",))
a.close()
os.rename(path + ".backup", path + ".copy")
with open(path + ".copy") as copy:
    os.fsync(copy.fileno())
    fcntl.flock(copy, fcntl.LOCK_EX | fcntl.LOCK_NB)
print("done")
"""
PROTOCOLS = """
import asyncio, os, pty, socket
import aiomqtt, pymodbus.client, serial

async def echo():
    server = await asyncio.start_server(lambda r, w: w.close(), "localhost", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname()[:2])
    assert await reader.read() == b""
    writer.close()
    server.close()

asyncio.run(echo())
with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as udp:
    udp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
master, slave = pty.openpty()
with serial.Serial(os.ttyname(slave), 115200, timeout=10, exclusive=True) as port:
    port.write(b"x")
    assert os.read(master, 1) == b"x"
print("done")
"""
SCRIPTS = {
    "numbers": NUMBERS,
    "zeromq": ZEROMQ,
    "processes": PROCESSES,
    "journal": JOURNAL,
    "protocols": PROTOCOLS,
}


def as_service(directory):
    """The environment of the service, as far as it matters here."""
    return {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "STATE_DIRECTORY": str(directory)}


# the daemon joins this list as one more command: argv (with {directory} replaced), and a text that it must print
COMMANDS = {"help": ([str(TUNER), "--help"], "Usage: tuner")}


@pytest.mark.parametrize(("argv", "expected"), COMMANDS.values(), ids=COMMANDS)
def test_a_command_works_under_the_filter(argv, expected, tmp_path):
    words = [word.format(directory=tmp_path) for word in argv]
    done = run_under_filter(words, as_service(tmp_path), cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert expected in done.stdout


@pytest.mark.parametrize("name", SCRIPTS)
def test_what_the_daemon_is_made_of_works_under_the_filter(name, tmp_path):
    script = tmp_path / f"try_{name}.py"
    script.write_text(SCRIPTS[name])
    done = run_under_filter([sys.executable, str(script), str(tmp_path)], as_service(tmp_path), cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


@pytest.mark.parametrize("what_it_needs", ["sched_setscheduler ", " AF_NETLINK"])
def test_without_what_the_unit_gives_libzmq_it_would_abort(what_it_needs, tmp_path):
    script = tmp_path / "try_zeromq.py"
    script.write_text(ZEROMQ)
    strict = tmp_path / "strict.service"
    strict.write_text(UNIT.read_text().replace(what_it_needs, ""))
    assert strict.read_text() != UNIT.read_text()
    done = run_under_filter([sys.executable, str(script), str(tmp_path)], as_service(tmp_path), unit=strict)
    assert done.returncode == -signal.SIGABRT


# ---------------------------------------------------------------------------------------------------------------------
# make install-service (needs the target in the Makefile)
# ---------------------------------------------------------------------------------------------------------------------


def install(source, target):
    # A build in the checkout would disturb other tests; the packages we depend on take minutes and prove nothing here.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    make = ["make", "-C", source, "install-service", f"PYTHON={sys.executable}", f"DESTDIR={target}", "SERVICE_EXTRAS="]
    done = run(*make, "LOCKS_OF=--require-hashes -r locks/build.txt", env=inherited)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def source(tmp_path):
    ignored = shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "*.so", "__pycache__", "logs")
    return shutil.copytree(ROOT, tmp_path / "source", ignore=ignored)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_service_is_installed_where_the_unit_expects_it_and_a_configuration_is_kept(source, tmp_path):
    target = tmp_path / "target"
    said = install(source, target)
    assert "systemctl enable --now tuner" in said
    program = target / "opt/tuner/bin/tuner"
    assert program.read_text().startswith("#!/opt/tuner/bin/python")
    with_packages = {**os.environ, "PYTHONPATH": sysconfig.get_path("purelib"), "PYTHONSAFEPATH": "1"}
    shown = run(target / "opt/tuner/bin/python", program, "--version", env=with_packages, cwd=tmp_path)
    assert shown.stdout.startswith("tuner "), shown.stderr
    assert (target / "etc/systemd/system/tuner.service").read_text() == UNIT.read_text()
    assert (target / "etc/sysusers.d/tuner.conf").read_text() == (ROOT / "systemd/tuner.sysusers").read_text()
    assert (target / "etc/tmpfiles.d/tuner.conf").read_text() == (ROOT / "systemd/tuner.tmpfiles").read_text()
    assert (target / "usr/local/bin/tuner").readlink() == Path("/opt/tuner/bin/tuner")
    assert (target / "opt/tuner/share/doc/tuner/operations.md").exists()
    config = target / "etc/tuner/tuner.toml"
    assert config.read_text() == (ROOT / "configs/sasena.toml").read_text()
    assert config.stat().st_mode & 0o777 == 0o640

    config.write_text("# mine\n")
    install(source, target)
    assert config.read_text() == "# mine\n"
