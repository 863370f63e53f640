"""An answer that comes drop by drop: each drop is in time, all of it is not."""

import socket
from contextlib import closing

import pytest

from adapters.http.timed import TimedResponse


class Dripping:
    """A time limit during which the next letter comes each time that somebody looks at it."""

    def __init__(self, peer, text, looks):
        self.peer, self.letters, self.looks = peer, iter(text), looks

    def left_s(self):
        self.looks -= 1
        for letter in self.letters:
            self.peer.sendall(bytes([letter]))
            break
        return max(0.0, self.looks)


@pytest.fixture
def pair():
    ours, theirs = socket.socketpair()
    with closing(ours), closing(theirs):
        yield ours, theirs


def read(response):
    with closing(response):
        response.begin()
        return response.read()


@pytest.mark.parametrize("text", [b"HTTP/1.1 200 OK\r\nX-Slow: " + b"x" * 99, b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 99])
def test_neither_head_nor_body_outlives_the_time_for_both(pair, text):
    ours, theirs = pair
    response = TimedResponse(Dripping(theirs, text, looks=60), ours)
    with pytest.raises(TimeoutError):
        read(response)


def test_an_answer_that_is_in_time_is_read_whole(pair):
    ours, theirs = pair
    text = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood"
    assert read(TimedResponse(Dripping(theirs, text, looks=60), ours)) == b"good"
