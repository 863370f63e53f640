"""Hold, stop and abort while the daemon waits for software of others: how soon they are answered is printed."""

import threading
import time
from datetime import datetime, timedelta

import pytest

from tests.daemon.running import daemon
from tests.foreign.sites import Line, Modbus, Mqtt, Opcua, Site, opened
from tests.patience import PATIENT_S

pytestmark = [pytest.mark.foreign, pytest.mark.timeout(1800)]
LONG = ", waiting = { verify_s = 3600.0, ready_s = 3600.0, link_s = 3600.0 }"
INTO_IT = timedelta(seconds=3)  # past the first tries, so that orders also come while a call is under way
ENDS = {"hold": ("Held", "held"), "stop": ("Stopped", "returning_home"), "abort": ("Aborted", "aborted")}


def begin(site: Site, awaited: str) -> None:
    site.outside(by_hand={"pressure": 500}, copies=awaited != "verify", guard=awaited != "ready")
    if awaited == "link":
        site.cable.cut()


def end(site: Site, awaited: str) -> None:
    site.outside(copies=True, guard=True)
    if awaited == "link":
        site.cable.mend()


def waits(view, awaited: str) -> bool:
    """Whether it has waited for this for a while."""
    if view.waiting is None or view.waiting.awaited != awaited:
        return False
    now, since = (datetime.fromisoformat(text) for text in (view.now, view.waiting.since))
    return now - since >= INTO_IT


def look_until(client, ready) -> None:
    """The waiting goes on without an event for each try, so it is looked at."""
    end_s = time.monotonic() + PATIENT_S
    while not ready(view := client.snapshot("press")):
        assert time.monotonic() < end_s, view
        threading.Event().wait(0.01)


def ordered(client, order: str) -> float:
    """Give an order, and say how long it took until it was so."""
    began_s = time.monotonic()
    getattr(client, order)("press")
    look_until(client, lambda view: (view.mode, view.phase) == ENDS[order])
    return time.monotonic() - began_s


@pytest.mark.parametrize("kind", [Opcua, Modbus, Mqtt, Line], ids=lambda kind: kind.__name__)
def test_hold_stop_and_abort_end_every_kind_of_waiting_and_the_press_goes_home_after_it(kind, answers):
    with opened(kind) as site, daemon(site.campaign(30, autostart=False, policy=LONG)) as running:
        running.start()
        with running.client() as client:
            for awaited in ("verify", "ready", "link"):
                took_s = {}
                for order in ENDS:
                    begin(site, awaited)
                    client.start("press")
                    look_until(client, lambda view, awaited=awaited: waits(view, awaited))
                    took_s[order] = ordered(client, order)
                    end(site, awaited)
                    if order == "hold":
                        client.stop("press")
                    elif order == "abort":
                        client.go_home("press")
                    look_until(client, lambda view: view.machine.home and view.phase in ("stopped", "aborted"))
                    assert site.home()
                answers.append((kind.label, awaited, *(f"{one:.2f}" for one in took_s.values())))
        assert running.stop() == 0
