"""Times as the journal and the wire write them."""

from datetime import UTC, datetime


def utc_now() -> datetime:
    """The wall clock, in UTC."""
    return datetime.now(UTC)


def text_of(moment: datetime) -> str:
    """ISO 8601 with microseconds and Z."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def wall_clock(moment: datetime, *, seconds: bool = False) -> str:
    """A time of day where the reader is; with the date if it is another day than today."""
    local = moment.astimezone()
    text = f"{local:%H:%M:%S}" if seconds else f"{local:%H:%M}"
    return text if local.date() == datetime.now(local.tzinfo).date() else f"{local:%Y-%m-%d} {text}"
