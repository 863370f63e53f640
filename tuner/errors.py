"""What can go wrong in a way the user can act on; each kind knows the exit code of the `tuner` command."""

from typing import ClassVar


class TunerError(Exception):
    """Base of all errors whose text is a sentence for the user: shown without a traceback."""

    exit_code: ClassVar[int] = 1


class ConfigError(TunerError):
    """A configuration file is wrong; trying again without changing it does not help."""

    exit_code = 78


class NoCampaignError(TunerError):
    """There is no campaign of this name."""


class UnreachableError(TunerError):
    """The daemon does not answer."""

    exit_code = 69


class TryAgainError(TunerError):
    """Not now; the same request may succeed later."""

    exit_code = 75


class DeniedError(TunerError):
    """The actor's role does not allow this."""

    exit_code = 77
