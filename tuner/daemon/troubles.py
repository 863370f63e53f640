"""Errors that one message or one event caused and the daemon survived: each is logged, and `status` tells how many."""

import logging

log = logging.getLogger(__name__)


class Troubles:
    """Counts them for all parts of one daemon."""

    def __init__(self) -> None:
        self.count = 0

    def note(self, what: str) -> None:
        """Log the exception that is being handled."""
        self.count += 1
        log.error("defect while %s; the daemon goes on", what, exc_info=True)  # noqa: LOG014 - called by handlers
