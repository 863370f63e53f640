"""Runs a command under the system call filter that a systemd unit declares, by libseccomp: no systemd has to run.

`run_under_filter` starts this file as a program, which reads the unit, translates its options as systemd does, loads
the filters, gives up all capabilities and becomes the command.
"""

import ctypes
import errno
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

UNIT = Path(__file__).parents[2] / "systemd" / "tuner.service"

# Comparisons of an argument with a number, as in libseccomp's seccomp.h; MASKED compares (argument & a) with b.
LT, EQ, GT, MASKED = 2, 4, 6, 7
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_PR_CAPBSET_DROP = 24
_NEW_USER = 0x10000000  # CLONE_NEWUSER
_SOMEBODY = 990
_NAMESPACES = (0x80, 0x2000000, 0x4000000, 0x8000000, _NEW_USER, 0x20000000, 0x40000000)  # CLONE_NEW...
_SET_ID = (0o4000, 0o2000)

Comparison = tuple[int, int, int, int]  # number of the argument, kind, a, b
Denial = tuple[str, int, list[Comparison]]  # system call, error it gets, and for which arguments


def options(unit: str) -> dict[str, list[str]]:
    """All values of each option of a unit's section [Service], in order."""
    found: dict[str, list[str]] = {}
    section = ""
    for line in unit.splitlines():
        if line.startswith("["):
            section = line.strip()
        elif section == "[Service]" and "=" in line and not line.startswith(("#", ";")):
            name, _, value = line.partition("=")
            found.setdefault(name, []).append(value.strip())
    return found


def groups() -> dict[str, set[str]]:
    """The members of systemd's groups of system calls, such as @system-service."""
    listing = subprocess.run(["systemd-analyze", "syscall-filter"], capture_output=True, text=True, check=True)  # noqa: S607 - of the distribution
    found: dict[str, set[str]] = {}
    members: set[str] = set()
    for line in listing.stdout.splitlines():
        if not line.startswith(" "):  # a group, or the comment that opens the list of calls in no group
            members = found.setdefault(line.strip(), set())
        elif not line.strip().startswith("#"):
            members.add(line.strip())
    return found


def allowed(lines: Sequence[str]) -> set[str]:
    """Expand the lines of SystemCallFilter= in order: a list of allowed calls, from which ~ takes away."""
    if not lines or lines[0].startswith("~"):
        raise ValueError("only lists of allowed system calls are understood: the first line must not begin with ~")
    known = groups()
    result = _expanded("@default", known)  # systemd allows these always
    for line in lines:
        names = set[str]().union(*(_expanded(word, known) for word in line.removeprefix("~").split()))
        result = result - names if line.startswith("~") else result | names
    return result


def _expanded(word: str, known: Mapping[str, set[str]]) -> set[str]:
    if not word.startswith("@"):
        return {word}
    return set[str]().union(*(_expanded(member, known) for member in known[word]))


def _on(unit: Mapping[str, list[str]], option: str) -> bool:
    return unit.get(option, ["no"])[-1] in ("yes", "true", "1", "on")


def denials(unit: Mapping[str, list[str]]) -> Iterator[Denial]:
    """What the other options forbid by looking at arguments, in systemd's translation."""
    if _on(unit, "MemoryDenyWriteExecute"):
        yield "mmap", errno.EPERM, [(2, MASKED, 6, 6)]
        yield "mprotect", errno.EPERM, [(2, MASKED, 4, 4)]
        yield "pkey_mprotect", errno.EPERM, [(2, MASKED, 4, 4)]
        yield "shmat", errno.EPERM, [(2, MASKED, 0o100000, 0o100000)]
    if "RestrictAddressFamilies" in unit:
        families = {getattr(socket, name).value for line in unit["RestrictAddressFamilies"] for name in line.split()}
        yield "socket", errno.EAFNOSUPPORT, [(0, LT, min(families), 0)]
        yield "socket", errno.EAFNOSUPPORT, [(0, GT, max(families), 0)]
        for family in set(range(min(families), max(families))) - families:
            yield "socket", errno.EAFNOSUPPORT, [(0, EQ, family, 0)]
    if _on(unit, "RestrictNamespaces"):
        yield (
            "clone3",
            errno.ENOSYS,
            [],
        )  # its flags are in memory, where no filter can look: callers fall back to clone
        yield "unshare", errno.EPERM, []
        yield "setns", errno.EPERM, []
        for flag in _NAMESPACES:
            yield "clone", errno.EPERM, [(0, MASKED, flag, flag)]
    if _on(unit, "RestrictRealtime"):
        for policy in set(range(os.SCHED_IDLE)) - {os.SCHED_OTHER, os.SCHED_BATCH}:
            yield "sched_setscheduler", errno.EPERM, [(1, EQ, policy, 0)]
        yield "sched_setscheduler", errno.EPERM, [(1, GT, os.SCHED_IDLE, 0)]
    if _on(unit, "RestrictSUIDSGID"):
        yield "openat2", errno.ENOSYS, []
        for call, argument in (("chmod", 1), ("fchmod", 1), ("fchmodat", 2), ("mkdir", 1), ("mkdirat", 2)):
            for bit in _SET_ID:
                yield call, errno.EPERM, [(argument, MASKED, bit, bit)]


def command_under_filter(argv: Sequence[str], unit: Path = UNIT) -> list[str]:
    """The command line that runs `argv` under the filters of a unit."""
    return [sys.executable, "-I", __file__, str(unit), *argv]


def run_under_filter(
    argv: Sequence[str],
    env: Mapping[str, str] | None = None,
    *,
    unit: Path = UNIT,
    cwd: Path | None = None,
    timeout_s: float = 60.0,
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end under the filters of a unit; for a daemon give `command_under_filter` to Popen."""
    command = command_under_filter(argv, unit)
    return subprocess.run(command, env=env, cwd=cwd, capture_output=True, text=True, timeout=timeout_s, check=False)


class _Comparison(ctypes.Structure):
    _fields_ = (("arg", ctypes.c_uint), ("op", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64))


def _load(seccomp: ctypes.CDLL, default: int, rules: Sequence[tuple[str, int, Sequence[Comparison]]]) -> None:
    """Load one filter; the kernel takes the strictest answer of all that are loaded."""
    context = ctypes.c_void_p(seccomp.seccomp_init(default))
    for name, action, comparisons in rules:
        call = seccomp.seccomp_syscall_resolve_name(name.encode())
        if call < 0:  # of another architecture or kernel
            continue
        array = (_Comparison * len(comparisons))(*(_Comparison(*comparison) for comparison in comparisons))
        _check(seccomp.seccomp_rule_add_array(context, action, call, len(comparisons), array), name)
    _check(seccomp.seccomp_load(context), "loading the filter")
    seccomp.seccomp_release(context)


def _check(code: int, what: str) -> None:
    if code:
        raise OSError(-code, f"{what}: {os.strerror(-code)}")


def _stop_being_root() -> None:
    """Be an ordinary user without capabilities, as the daemon is, who owns what root owns.

    Programs ask for the user's number and do more as root. Where containers forbid new user namespaces, only the
    capabilities go.
    """
    libc = ctypes.CDLL(None)
    if libc.unshare(_NEW_USER) == 0:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{_SOMEBODY} 0 1")
        Path("/proc/self/gid_map").write_text(f"{_SOMEBODY} 0 1")
    for capability in range(64):
        libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)


def _become(unit: Path, argv: Sequence[str]) -> None:
    found = options(unit.read_text())
    may = allowed(found["SystemCallFilter"])
    forbidden = _ERRNO | getattr(errno, found["SystemCallErrorNumber"][-1])
    refused = _expanded("@known", groups()) - may
    seccomp = ctypes.CDLL("libseccomp.so.2")
    seccomp.seccomp_init.restype = ctypes.c_void_p
    seccomp.seccomp_init.argtypes = [ctypes.c_uint32]
    seccomp.seccomp_rule_add_array.argtypes = [
        ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_uint, ctypes.c_void_p,
    ]  # fmt: skip
    if os.geteuid() == 0:
        _stop_being_root()
    _load(seccomp, _ALLOW, [(call, _ERRNO | code, comparisons) for call, code, comparisons in denials(found)])
    rules = [*((call, _ALLOW, ()) for call in may), *((call, forbidden, ()) for call in refused)]
    # calls newer than systemd's list get ENOSYS, so that programs fall back to older ones
    _load(seccomp, _ERRNO | errno.ENOSYS, rules)
    os.execvpe(argv[0], argv, os.environ)  # noqa: S606 - this is what the program is for


if __name__ == "__main__":
    _become(Path(sys.argv[1]), sys.argv[2:])
