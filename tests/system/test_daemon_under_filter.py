"""The daemon does all its work under the system call filter that its unit declares."""

import socket

from tests.daemon.running import campaign_text, daemon, reached_at, tune, until
from tests.system.seccomp import command_under_filter
from tuner.wire.client import Client
from tuner.wire.key_ring import KeyRing


def test_a_campaign_runs_under_the_filter_of_the_unit_also_over_the_network():
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
        requests, events = (f"tcp://127.0.0.1:{each.getsockname()[1]}" for each in (one, other))
    network = reached_at((requests, events))
    with daemon(network + campaign_text(trials=4)) as running:
        running.state.mkdir(mode=0o700)
        key = KeyRing.open(running.state).new("panel", "operator", requests=requests, events=events)
        running.start(wrap=command_under_filter)
        with Client.connect(key=key, actor="anna") as client:
            tune(client, "press")
            until(client, "press", lambda view: view.machine.home)
            assert client.recommendation("press").setting is not None
        assert running.stop() == 0, running.log()
        assert "defect" not in running.log()
        with running.journal() as store:
            assert store.verify().ok
