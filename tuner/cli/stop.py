"""`tuner stop`: ends the daemon and waits until it has gone."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import click

from tuner.cli.connection import connected
from tuner.cli.state_option import elsewhere
from tuner.errors import TryAgainError, UnreachableError
from tuner.wire.client import Client, NoReplyError
from tuner.wire.endpoint import is_encrypted
from tuner.wire.messages import StatusBody
from tuner.wire.operations import Operations

_LOOK_S = 0.2
_ANSWER_S = 2.0


@click.command()
@connected
@click.option("--wait/--no-wait", default=True, help="Wait until the daemon has gone (the default).")
@click.option("--timeout", "timeout_s", type=click.FloatRange(0), default=300.0, show_default=True, metavar="SECONDS")
def stop(client: Client, wait: bool, timeout_s: float) -> None:
    """End the daemon: parts under way are finished, machines go to their known-good settings.

    Campaigns go on when the daemon is started again.
    """
    try:
        before = client.status()
    except NoReplyError as error:
        if error.sent:
            raise
        where = elsewhere(None) if client.link.state == "" else ""
        raise UnreachableError(f"no daemon answers at {client.link.requests}: there is none to stop{where}") from None
    try:
        client.call(Operations.stop_daemon(), timeout_s=_ANSWER_S)
    except NoReplyError as error:
        if not error.sent:
            raise
        # it may have gone before it could answer: whether it goes is looked at below
    if not wait:
        click.echo(f"the daemon (process {before.pid}) was asked to stop")
        return
    wait_until_gone(client, before, time.monotonic() + timeout_s, click.echo)
    click.echo(f"the daemon (process {before.pid}) has stopped")


def wait_until_gone(client: Client, before: StatusBody, until_s: float, say: Callable[[str], object]) -> None:
    """Wait, and say what for whenever that changes; still being there when the time is over is an error."""
    told = ""
    while time.monotonic() < until_s:
        try:
            now = client.call(Operations.status(), timeout_s=_ANSWER_S)
        except UnreachableError:
            if is_encrypted(client.link.requests) or not _is_running(before.pid):
                return
            reason = f"process {before.pid}, which answers no more, to end"
        else:
            if now.pid != before.pid:  # the service manager has started another one
                return
            reason = "; ".join(f"{line.name}: {line.phase_text}" for line in now.campaigns) or "the daemon to end"
        if reason != told:
            say(f"waiting for {reason}")
            told = reason
        time.sleep(_LOOK_S)
    raise TryAgainError(f"the daemon (process {before.pid}) is still there; it was waiting for {told or 'nothing'}")


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it is there, and not ours
        return True
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state != "Z"  # it has ended, and only its parent does not know yet
