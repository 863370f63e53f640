"""`tuner metrics`: serves what the daemon does as Prometheus metrics, on this machine only; it only asks the daemon."""

import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tuner.cli.connection import found, open_client
from tuner.errors import TunerError

if TYPE_CHECKING:
    from prometheus_client.core import Metric

    from tuner.wire.messages import StatusBody

LOOPBACK = "127.0.0.1"
# name -> what it says; of the daemon, then of each campaign
OF_DAEMON = {
    "tuner_up": "whether the daemon answers",
    "tuner_events": "events in the journal",
    "tuner_alarms": "what needs an administrator: room on the disk, keys, security events, anchors",
    "tuner_troubles": "messages and events that raised an error of tuner's own",
    "tuner_busy": "requests that were answered with busy",
}
OF_CAMPAIGN = {
    "tuner_trials_spent": "trials that are used of the budget",
    "tuner_trials_budget": "trials that the budget has",
    "tuner_scrap": "trials that made no part",
    "tuner_campaign_events": "events of the campaign",
    "tuner_question_open": "whether a question waits for an answer",
    "tuner_fault": "whether a fault holds it",
    "tuner_champion_trial": "the number of the champion's trial; 0: there is none yet",
    "tuner_mode": "1 with its mode as label",
}


@click.command()
@click.option("--port", type=click.IntRange(1, 65535), default=9464, show_default=True)
@found
def metrics(port: int, connect: str | None, key: Path | None, state: Path | None) -> None:
    """Serve Prometheus metrics at http://127.0.0.1:PORT/metrics until Ctrl-C; needs the extra metrics.

    The daemon is asked at each look, with the rights of whoever runs this; without a daemon tuner_up is 0.
    """
    try:
        from prometheus_client import CollectorRegistry, start_http_server
    except ImportError:
        raise TunerError('metrics need prometheus-client: pip install "process-tuner[metrics]"') from None

    def asked() -> "StatusBody | None":
        try:
            with open_client(connect, key, state, None) as client:
                return client.status()
        except TunerError:
            return None

    registry = CollectorRegistry()
    registry.register(Collector(asked))
    try:
        server, thread = start_http_server(port, addr=LOOPBACK, registry=registry)
    except OSError as error:
        raise TunerError(f"port {port} cannot be used: {error.strerror}; choose another with --port") from None
    click.echo(f"http://{LOOPBACK}:{port}/metrics")
    try:
        threading.Event().wait()
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Collector:
    """Turns the daemon's status into metrics, each time somebody looks."""

    def __init__(self, asked: Any) -> None:
        self._asked = asked
        self._one_at_a_time = threading.Lock()

    def describe(self) -> "Iterable[Metric]":
        """Nothing beforehand: the daemon need not be there yet."""
        return ()

    def collect(self) -> "Iterator[Metric]":
        """All metrics now."""
        from prometheus_client.core import GaugeMetricFamily

        with self._one_at_a_time:
            body = self._asked()
        daemon = {"tuner_up": float(body is not None)}
        if body is not None:
            daemon |= {"tuner_events": body.seq, "tuner_troubles": body.troubles, "tuner_busy": body.busy}
            daemon["tuner_alarms"] = len(body.alarms)
        for name, value in daemon.items():
            yield GaugeMetricFamily(name, OF_DAEMON[name], value=value)
        for name, about in OF_CAMPAIGN.items() if body is not None else ():
            labels = ["campaign", "machine", *(["mode"] if name == "tuner_mode" else [])]
            family = GaugeMetricFamily(name, about, labels=labels)
            for line in body.campaigns:
                values = {
                    "tuner_trials_spent": line.spent,
                    "tuner_trials_budget": line.trials,
                    "tuner_scrap": line.scrap,
                    "tuner_campaign_events": line.n,
                    "tuner_question_open": int(line.duel is not None),
                    "tuner_fault": int(line.fault is not None),
                    "tuner_champion_trial": line.champion or 0,
                    "tuner_mode": 1,
                }
                mode = [str(line.mode)] if name == "tuner_mode" else []
                family.add_metric([line.name, line.machine_name, *mode], values[name])
            yield family
