"""The journal's tables, as migrations applied by sqlite-utils.

Every statement is executed by itself: a script would commit before it starts and leave half a migration behind.
"""

from tuner.journal import replies
from tuner.journal.errors import DamagedError, JournalError
from tuner.journal.sqlite import Database, Migrations

SET = "tuner.journal"
FIRST = "1 events, replies, campaigns, snapshots"
SECOND = "2 replies belong to keys and follow each other"
NAMES = frozenset((FIRST, SECOND))  # of all migrations

# Triggers keep the journal append-only against our own mistakes and against anybody with an SQLite shell who does not
# drop them first. "INSERT OR REPLACE" deletes without the delete trigger: the insert trigger refuses it.
TRIGGERS = {
    "journal_keeps_its_rows": """
        CREATE TRIGGER journal_keeps_its_rows BEFORE DELETE ON journal
        BEGIN SELECT RAISE(ABORT, 'the journal is append-only: events are never deleted'); END""",
    "journal_changes_no_row": """
        CREATE TRIGGER journal_changes_no_row BEFORE UPDATE ON journal
        BEGIN SELECT RAISE(ABORT, 'the journal is append-only: events are never changed'); END""",
    "journal_has_no_gaps": """
        CREATE TRIGGER journal_has_no_gaps BEFORE INSERT ON journal
        WHEN NEW.seq IS NOT (SELECT coalesce(max(seq), 0) + 1 FROM journal)
        BEGIN SELECT RAISE(ABORT, 'the journal is append-only: the next event follows the last'); END""",
}


def migrations() -> Migrations:
    """Return all migrations in their order; a migration that was published is never changed."""
    steps = Migrations(SET)

    @steps(name=FIRST)
    def _(db: Database) -> None:
        db.execute("""
            CREATE TABLE journal (
                seq INTEGER PRIMARY KEY, campaign TEXT NOT NULL, at TEXT NOT NULL, type TEXT NOT NULL,
                body TEXT NOT NULL, actor TEXT NOT NULL, hash TEXT NOT NULL
            ) STRICT""")
        # an index ends with the row's number: this one finds a campaign's events in their order
        db.execute("CREATE INDEX journal_by_campaign ON journal (campaign)")
        for trigger in TRIGGERS.values():
            db.execute(trigger)
        db.execute("""
            CREATE TABLE replies (
                request_id TEXT NOT NULL UNIQUE, digest TEXT NOT NULL, reply TEXT NOT NULL, at TEXT NOT NULL
            ) STRICT""")
        db.execute("CREATE INDEX replies_by_time ON replies (at)")
        db.execute("""
            CREATE TABLE campaigns (
                name TEXT NOT NULL PRIMARY KEY, first_seq INTEGER NOT NULL, last_seq INTEGER NOT NULL,
                count INTEGER NOT NULL
            ) STRICT, WITHOUT ROWID""")
        db.execute("""
            CREATE TABLE snapshots (
                campaign TEXT NOT NULL, seq INTEGER NOT NULL, state TEXT NOT NULL, digest TEXT NOT NULL,
                journal_hash TEXT NOT NULL, PRIMARY KEY (campaign, seq)
            ) STRICT""")

    @steps(name=SECOND)
    def _(db: Database) -> None:
        replies.create(db)

    return steps


def check_version(db: Database, where: str) -> frozenset[str]:
    """Return the names of the migrations that are not applied yet; raise if a newer tuner wrote the journal."""
    try:
        applied = {step.name for step in migrations().applied(db)}
    except KeyError as error:  # the table that sqlite-utils keeps has lost a column
        raise DamagedError(f"{where} is damaged: restore a backup with `tuner journal restore`") from error
    if applied - NAMES:
        raise JournalError(f"{where} was written by a newer version of tuner: update tuner to read it")
    return NAMES - applied
