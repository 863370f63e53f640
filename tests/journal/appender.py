"""A child process for the fault tests: appends to a journal and tells on stdout what was acknowledged.

With the word `forever` it appends until it is killed. With `full` it meets a limit on the size of files, which the
kernel answers much like a full disk, tells what it saw, and appends again when the limit is lifted.
With `backup` the same happens to a backup.
"""

import json
import resource
import sys
from itertools import count
from pathlib import Path

from tests.journal.helpers import answer, event, events
from tuner.journal import DiskFullError, Store


def tell(**what: object) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def forever(store: Store) -> None:
    for number in count():
        seq, _ = store.head
        rows = store.append([event(number), event(number, "press")], [answer(f"request {seq}")])
        tell(seq=rows[-1].seq, hash=rows[-1].hash, request=f"request {seq}")


def full(store: Store) -> None:
    store.append([event(0)])
    largest = max(file.stat().st_size for file in store.path.parent.iterdir())
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest + 100_000, hard))
    failures = 0
    for number in count(1):
        try:
            store.append([event(number)] * 5, [answer(f"request {number}")])
        except DiskFullError as error:
            failures += 1
            tell(failure=str(error), cause=error.__cause__.sqlite_errorname, head=store.head)  # type: ignore[union-attr]
            assert store.reply("desk", f"request {number}") is None
            assert [row.seq for row in store.rows()] == list(range(1, store.head[0] + 1))
            if failures == 3:
                break
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    store.append([event(0)])
    tell(head=store.head)


def backup(store: Store) -> None:
    store.append(events(2000))
    target = store.path.parent / "backups" / "copy.sqlite"
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        store.backup(target)
    except DiskFullError as error:
        tell(failure=str(error), left=[file.name for file in target.parent.iterdir()])
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    tell(seq=store.backup(target).seq)


if __name__ == "__main__":
    with Store.open(Path(sys.argv[1])) as opened:
        {"forever": forever, "full": full, "backup": backup}[sys.argv[2]](opened)
