import json

import pytest

from tuner.wire.errors import ProtocolError
from tuner.wire.follow import Follower, topics


def event(n, campaign="a", **fields):
    body = {"v": 1, "n": n, "seq": n, "campaign": campaign, "at": "", "actor": "", "type": "t", "body": {}, **fields}
    return [campaign.encode(), json.dumps(body).encode()]


def beat(**heads):
    return [b"~beat", json.dumps({"v": 1, "at": "", "heads": heads}).encode()]


def numbers(follower, frames, now_s=0.0):
    return [item.n for item in follower.feed(frames, now_s)]


@pytest.fixture
def follower():
    follower = Follower(["a"], 0.0)
    assert follower.needs() == [("a", None)]
    follower.caught_up("a", 5)
    return follower


def test_events_after_the_snapshot_pass_and_those_in_it_do_not(follower):
    passed = [number for n in (4, 5, 6, 7, 7, 8) for number in numbers(follower, event(n))]
    assert passed == [6, 7, 8]
    assert follower.needs() == []


def test_a_missing_number_needs_a_snapshot_and_nothing_passes_before_it(follower):
    assert numbers(follower, event(6)) == [6]
    assert numbers(follower, event(8)) == []
    assert follower.needs() == [("a", 6)]
    assert numbers(follower, event(9)) == []
    follower.caught_up("a", 9)
    assert numbers(follower, event(9)) == []
    assert numbers(follower, event(10)) == [10]


def test_a_beat_that_is_ahead_for_a_moment_is_no_gap(follower):
    follower.feed(beat(a=6), 0.0)
    assert follower.wait_s(0.1) == pytest.approx(0.4)
    assert numbers(follower, event(6), 0.2) == [6]
    follower.check(10.0)
    assert follower.needs() == []


def test_a_beat_that_stays_ahead_needs_a_snapshot(follower):
    follower.feed(beat(a=6), 0.0)
    follower.check(0.4)
    assert follower.needs() == []
    follower.check(0.5)
    assert follower.needs() == [("a", 5)]


def test_a_daemon_whose_journal_was_put_back_needs_a_snapshot(follower):
    follower.feed(beat(a=2), 0.0)
    follower.check(0.5)
    assert follower.needs() == [("a", 5)]


def test_an_event_ends_a_doubt_only_if_it_is_the_one_that_was_missing(follower):
    follower.feed(beat(a=7), 0.0)
    assert numbers(follower, event(6), 0.1) == [6]
    follower.check(0.6)
    assert follower.needs() == [("a", 6)]


def look(follower, begin_s, end_s, late_s=0.0):
    """Look as a client does until the time is over, each time so much too late; what was told, and when."""
    now_s = begin_s
    while now_s < end_s:
        now_s = min(end_s, now_s + follower.wait_s(now_s)) + late_s
        silence = follower.check(now_s)
        if silence is not None:
            return silence, now_s
    return None, now_s


def test_a_client_that_looks_in_time_tells_of_a_silence_after_three_beats(follower):
    silence, now_s = look(follower, 0.0, 60.0)
    assert silence is not None
    assert (silence.seconds, now_s) == (6.0, 6.0)


def test_what_the_client_itself_comes_late_is_not_the_daemons_silence(follower):
    silence, now_s = look(follower, 0.0, 600.0, late_s=9.0)
    assert silence is not None
    assert now_s == pytest.approx(6.0 + 6 * 9.0)  # six looks of a second
    assert silence.seconds == pytest.approx(6.0)


def test_nobody_is_called_silent_before_the_client_has_looked(follower):
    """Whoever followed was busy with something else for long: messages may lie in the socket."""
    assert follower.wait_s(100.0) > 0
    follower.feed(beat(a=5), 100.1)
    assert follower.check(100.1) is None


def test_silence_is_told_once_and_its_end_needs_a_snapshot(follower):
    assert follower.check(5.9) is None
    silence = follower.check(6.0)
    assert silence is not None
    assert silence.seconds == 6.0
    assert follower.check(20.0) is None
    follower.feed(beat(a=5), 21.0)
    assert not follower.silent
    assert follower.needs() == [("a", 5)]


def test_campaigns_whose_name_only_begins_the_same_are_left_aside(follower):
    assert follower.feed(event(6, "ab"), 0.0) == []
    assert follower.needs() == []
    progress = {"v": 1, "at": "", "campaign": "ab", "text": "t"}
    assert follower.feed([b"~progress", json.dumps(progress).encode()], 0.0) == []


def test_who_follows_all_campaigns_hears_of_a_new_one_by_its_event_or_the_beat():
    follower = Follower([], 0.0)
    follower.feed(event(1, "new"), 0.0)
    follower.feed(beat(other=3, new=1), 0.0)
    assert follower.needs() == [("new", None), ("other", None)]
    follower.gone("new")
    follower.caught_up("other", 3)
    assert numbers(follower, event(4, "other")) == [4]


def test_topics_are_the_campaigns_and_the_daemons_own():
    assert topics(["a"]) == [b"a", b"~beat", b"~progress"]
    assert topics([]) == [b""]


@pytest.mark.parametrize("frames", [[b"a"], [b"a", b"b", b"c"], [b"a", b"nonsense"], [b"~beat", b"{}"], event(6, v=2)])
def test_what_is_not_an_event_is_a_protocol_error(follower, frames):
    with pytest.raises(ProtocolError):
        follower.feed(frames, 0.0)
