"""One receiver's thread: reads the journal from where it was, tells what is to be told, remembers how far it came."""

import json
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from tuner.basics.files import make_directory, write_text
from tuner.config.notify import Notify
from tuner.errors import TunerError
from tuner.journal.store import FILE_NAME, Store
from tuner.notify.message import Message, message_of
from tuner.notify.ways import NotToldError, tell

HOUR_S = 3600.0
TRIES = 5
FIRST_PAUSE_S = 1.0  # doubled after each try
LEAVE_S = 1.0
GRAVE = frozenset({"fault", "not_home", "aborted"})  # count for themselves: nobody hides these behind many others
_LOOK_S = 60.0  # whatever the daemon says: how often the journal is looked at

log = logging.getLogger(__name__)


class Courier:
    """Tells one receiver.

    A message is told at least once: one that was under way when the daemon died is told again. One that is not taken
    after some tries is given up, with a line in the log. A new receiver begins with what happens from now on.
    """

    def __init__(
        self,
        target: Notify,
        state: Path,
        send: Callable[[Notify, bytes], None] = tell,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._target = target
        self._journal = state / FILE_NAME
        self._place = state / "notify" / f"{target.name}.json"
        self._send = send
        self._clock = clock
        self._sent: dict[bool, deque[float]] = {True: deque(), False: deque()}
        self._left_out = 0
        self._stop = threading.Event()
        self._news = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"notify-{target.name}", daemon=True)

    def start(self, head: int) -> None:
        """Begin; `head` is the journal's last event now."""
        make_directory(self._place.parent)
        if self._told() is None:
            self._remember(head)
        self._thread.start()

    def wake(self) -> None:
        """There is something new in the journal."""
        self._news.set()

    def stop(self) -> None:
        """End; a message under way may take no more than a moment."""
        self._stop.set()
        self._news.set()
        self._thread.join(LEAVE_S)

    def _run(self) -> None:
        while not self._stop.is_set():
            self._news.clear()
            try:
                self.catch_up()
            except Exception:  # a journal that cannot be read now is the daemon's business
                log.exception("the receiver %s is not told for now", self._target.name)
            self._news.wait(_LOOK_S)

    def catch_up(self) -> None:
        """Tell everything that is new."""
        told = self._told()
        if told is None:
            return
        with Store.open_reading(self._journal) as store:
            for row in store.rows(after=told):
                if self._stop.is_set():
                    return
                message = message_of(row)
                if message is not None and self._wanted(message):
                    self._deliver(message)
                    if self._stop.is_set():
                        return  # not remembered: it is told again at the next start
                    self._remember(row.seq)
                told = row.seq
        self._remember(told)

    def _wanted(self, message: Message) -> bool:
        target = self._target
        return message.kind in target.events and (not target.campaigns or message.row.campaign in target.campaigns)

    def _deliver(self, message: Message) -> None:
        now = self._clock()
        sent = self._sent[message.kind in GRAVE]
        while sent and sent[0] <= now - HOUR_S:
            sent.popleft()
        if len(sent) >= self._target.per_hour:
            self._left_out += 1
            return
        sent.append(now)
        data = replace(message, left_out=self._left_out).to_json()
        for attempt in range(TRIES):
            try:
                self._send(self._target, data)
            except NotToldError as error:
                if attempt + 1 == TRIES:
                    log.warning("%s was not told of event %d: %s", self._target.name, message.row.seq, error)
                elif self._stop.wait(FIRST_PAUSE_S * 2**attempt):
                    return
            else:
                self._left_out = 0
                return

    def _told(self) -> int | None:
        """The last event that the receiver was told, or need not be; None: it is a new one."""
        try:
            return int(json.loads(self._place.read_text())["event"])
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise TunerError(f"{self._place} cannot be read: {error}; remove it to begin with what is new") from None

    def _remember(self, seq: int) -> None:
        write_text(self._place, json.dumps({"event": seq}) + "\n")


class Couriers:
    """All receivers of a daemon."""

    def __init__(self, targets: Sequence[Notify], state: Path) -> None:
        self._all = [Courier(target, state) for target in targets]

    def start(self, head: int) -> None:
        """Begin with each."""
        for one in self._all:
            try:
                one.start(head)
            except TunerError as error:
                log.error("%s", error)  # noqa: TRY400 - the sentence says it all

    def wake(self) -> None:
        """Something happened."""
        for one in self._all:
            one.wake()

    def stop(self) -> None:
        """End all."""
        for one in self._all:
            one.stop()
