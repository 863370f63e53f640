"""Following a campaign's events without sockets: numbers without gaps, or a mark that says where to begin anew."""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from tuner.basics.sentences import say
from tuner.wire.endpoint import SILENT_S
from tuner.wire.errors import ProtocolError
from tuner.wire.messages import BEAT_TOPIC, PROGRESS_TOPIC, VERSION, Beat, CampaignView, EventMessage, Progress

MOMENT_S = 0.5  # a beat may tell of an event that is still on its way
CATCH_UP_S = 3.0  # for a snapshot while events are followed
_LOOK_S = 1.0


@dataclass(frozen=True, slots=True)
class Gap:
    """Begin anew from this view: at the start, after lost messages, and when the daemon is back.

    Attributes:
        seen: Number of the last event that was passed on; None: none yet.
        view: The campaign now; the next event has the number `view.n + 1`.
    """

    campaign: str
    seen: int | None
    view: CampaignView


@dataclass(frozen=True, slots=True)
class Silence:
    """Nothing was heard of the daemon for so long; when it is back, there comes a `Gap` for each campaign."""

    seconds: float


Item = EventMessage | Progress | Gap | Silence


def topics(campaigns: Sequence[str]) -> list[bytes]:
    """What to subscribe to; none named means everything."""
    return [name.encode() for name in campaigns] + [BEAT_TOPIC, PROGRESS_TOPIC] if campaigns else [b""]


class Follower:
    """Checks the numbers of events against each other and against the daemon's beats.

    `feed` takes what the socket gives, `check` notices that time has passed, `needs` names the campaigns of which a
    snapshot is needed before their events mean anything, and `caught_up` takes its number. What the caller came later
    than `wait_s` told it to does not count against the daemon: its messages may lie in the socket, unread.
    """

    def __init__(self, campaigns: Sequence[str], now_s: float) -> None:
        self._only = frozenset(campaigns)
        self._seen: dict[str, int] = {}
        self._needs: dict[str, int | None] = dict.fromkeys(campaigns)
        self._doubts: dict[str, tuple[int, float]] = {}  # the daemon's number that we do not have, and since when
        self._heard_s = now_s
        self._due_s: float | None = None  # when the caller should look again
        self.silent = False

    def needs(self) -> list[tuple[str, int | None]]:
        """Campaigns to ask a snapshot of, with the last number seen."""
        return list(self._needs.items())

    def caught_up(self, campaign: str, n: int) -> None:
        """A snapshot was taken after event `n`."""
        self._needs.pop(campaign, None)
        self._doubts.pop(campaign, None)
        self._seen[campaign] = n

    def gone(self, campaign: str) -> None:
        """There is no such campaign any more."""
        self._needs.pop(campaign, None)
        self._doubts.pop(campaign, None)
        self._seen.pop(campaign, None)

    def feed(self, frames: Sequence[bytes], now_s: float) -> list[EventMessage | Progress]:
        """Take a message; return what is to be passed on."""
        if len(frames) != 2:
            raise ProtocolError(say("link.event_frames", frames=len(frames)))
        topic, payload = frames
        self._excuse(now_s)
        if self.silent:
            self.silent = False
            for campaign in list(self._seen):
                self._need(campaign)
        self._heard_s = now_s
        try:
            if topic == BEAT_TOPIC:
                self._beat(Beat.model_validate_json(payload), now_s)
                return []
            if topic == PROGRESS_TOPIC:
                progress = Progress.model_validate_json(payload)
                return [progress] if self._wanted(progress.campaign) else []
            if not self._wanted(topic.decode("utf-8", "replace")):
                return []  # a subscription is for all topics that begin so
            event = EventMessage.model_validate_json(payload)
        except ValidationError as error:
            raise ProtocolError(say("link.event_not_understood", what=error.errors()[0]["msg"])) from None
        if event.v != VERSION:
            raise ProtocolError(say("link.event_version", version=event.v, ours=VERSION))
        return [event] if self._next(event) else []

    def check(self, now_s: float) -> Silence | None:
        """Notice what only time tells: a number that never came, a daemon that says nothing."""
        self._excuse(now_s)
        for campaign, (_, since_s) in list(self._doubts.items()):
            if now_s - since_s >= MOMENT_S:
                self._need(campaign)
        if not self.silent and now_s - self._heard_s >= SILENT_S:
            self.silent = True
            return Silence(now_s - self._heard_s)
        return None

    def wait_s(self, now_s: float) -> float:
        """How long to wait for a message before `check`, at most."""
        times = [since_s + MOMENT_S for _, since_s in self._doubts.values()]
        if not self.silent and not self._needs:
            end_s = self._heard_s + SILENT_S
            times.append(end_s if end_s > now_s else now_s + MOMENT_S)  # nobody is called silent before a last look
        self._due_s = min([now_s + _LOOK_S, *times])
        return max(0.0, self._due_s - now_s)

    def _excuse(self, now_s: float) -> None:
        if self._due_s is not None:
            self._heard_s += max(0.0, now_s - self._due_s)
            self._due_s = None

    def _wanted(self, campaign: str) -> bool:
        return not self._only or campaign in self._only

    def _need(self, campaign: str) -> None:
        self._doubts.pop(campaign, None)
        self._needs.setdefault(campaign, self._seen.get(campaign))

    def _next(self, event: EventMessage) -> bool:
        campaign = event.campaign
        doubt = self._doubts.get(campaign)
        if doubt is not None and event.n >= doubt[0]:
            del self._doubts[campaign]
        if campaign in self._needs:
            return False  # the snapshot will know it
        seen = self._seen.get(campaign)
        if seen is None or event.n > seen + 1:
            self._need(campaign)
            return False
        if event.n <= seen:
            return False
        self._seen[campaign] = event.n
        return True

    def _beat(self, beat: Beat, now_s: float) -> None:
        for campaign, head in beat.heads.items():
            if not self._wanted(campaign) or campaign in self._needs:
                continue
            if campaign not in self._seen:
                self._need(campaign)
            elif head == self._seen[campaign]:
                self._doubts.pop(campaign, None)
            else:
                self._doubts.setdefault(campaign, (head, now_s))
