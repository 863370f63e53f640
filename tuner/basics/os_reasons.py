"""Why the operating system did not do something, as a sentence: what people can do something about has a code."""

import errno

from tuner.basics.sentences import say

_KNOWN = {
    errno.ENOENT: "missing",
    errno.EACCES: "no_right",
    errno.EPERM: "no_right",
    errno.ENOSPC: "full",
    errno.EDQUOT: "full",
    errno.EROFS: "read_only",
    errno.EIO: "broken",
    errno.ENOTDIR: "no_directory",
    errno.EISDIR: "directory",
    errno.EMFILE: "files",
    errno.ENFILE: "files",
}


def os_reason(error: OSError) -> str:
    """The reason alone, without what failed; one that is rare is told in the system's own words."""
    known = _KNOWN.get(error.errno or 0)
    return say(f"os.{known}") if known is not None else error.strerror or str(error)
