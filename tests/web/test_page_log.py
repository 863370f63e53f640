"""What the page's log has: faults of ours, and nothing that others break in their own requests."""

import logging

import h11
import pytest

from tuner.web.serve import ours


@pytest.mark.parametrize(
    ("message", "error", "kept"),
    [
        ("Invalid HTTP request received.", None, False),
        ("Exception in ASGI application", h11.LocalProtocolError("its request was broken"), False),
        ("Exception in ASGI application", KeyError("ours"), True),
        ("Started server process", None, True),
    ],
)
def test_others_broken_requests_are_no_lines_of_the_log(message, error, kept):
    told = (type(error), error, None) if error else None
    record = logging.LogRecord("uvicorn.error", logging.ERROR, "x", 1, message, (), told)
    assert ours(record) is kept
