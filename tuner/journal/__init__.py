"""The journal: every event of every campaign, append-only, chained by hashes, on SQLite."""

from tuner.journal.chain import GENESIS, canonical, digest
from tuner.journal.errors import DamagedError, DiskFullError, DuplicateRequestError, HeldError, JournalError, LostError
from tuner.journal.records import BackupInfo, CampaignRow, NewRow, Reply, Row, Snapshot, Verdict
from tuner.journal.store import FILE_NAME, Store

__all__ = [
    "FILE_NAME",
    "GENESIS",
    "BackupInfo",
    "CampaignRow",
    "DamagedError",
    "DiskFullError",
    "DuplicateRequestError",
    "HeldError",
    "JournalError",
    "LostError",
    "NewRow",
    "Reply",
    "Row",
    "Snapshot",
    "Store",
    "Verdict",
    "canonical",
    "digest",
]
