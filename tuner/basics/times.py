"""Times as the journal and the wire write them."""

from datetime import UTC, datetime


def utc_now() -> datetime:
    """The wall clock, in UTC."""
    return datetime.now(UTC)


def text_of(moment: datetime) -> str:
    """ISO 8601 with microseconds and Z."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
