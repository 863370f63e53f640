"""One BLAS thread: two are slower on a busy machine, and results are bit for bit the same only with one."""

import os

_NAMES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def one_blas_thread() -> None:
    """Set it for this process, if numpy is not imported yet, and for every process it starts from now on."""
    for name in _NAMES:
        os.environ[name] = "1"
