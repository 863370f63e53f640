"""How processes of ours begin and end: they import nothing from the working directory, and end with their parent."""

import os
import signal
import sys

_VARIABLE = "PYTHONSAFEPATH"  # any value keeps the working directory out of a Python's modules
_OURS = "tuner"
_PR_SET_PDEATHSIG = 1  # Linux's prctl


def leave_out_working_directory() -> None:
    """Import nothing from there from now on, neither here nor in any Python that we start.

    `python -m` and `python -c` look for modules in the working directory first, and so do the helpers of
    multiprocessing: a folder there that is called numpy would be taken for numpy.
    """
    os.environ.setdefault(_VARIABLE, _OURS)
    run_as = getattr(sys.modules.get("__main__"), "__spec__", None)
    by_module = run_as is not None and run_as.name.partition(".")[0] == __name__.partition(".")[0]
    if by_module and not sys.flags.safe_path and sys.path[:1] in ([""], [os.getcwd()]):  # noqa: PTH109 - imports less
        del sys.path[0]


def environment_for_others() -> dict[str, str]:
    """The environment for programs of other people: a Python script of theirs may need the modules beside it."""
    return {name: value for name, value in os.environ.items() if (name, value) != (_VARIABLE, _OURS)}


def restore_environment() -> None:
    """Take back for this process what `leave_out_working_directory` says to the next ones."""
    if os.environ.get(_VARIABLE) == _OURS:
        del os.environ[_VARIABLE]


def end_with_parent() -> None:
    """Be killed when the process ends that has started this one."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def allow_many_files() -> None:
    """Have as many files open as this user may: each connection of a client is one, and a shell allows few."""
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
