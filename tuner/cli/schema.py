"""`tuner schema`: the wire protocol for programs."""

import json

import click

from tuner.wire.schema import document


@click.command()
def schema() -> None:
    """Print the JSON Schema of all requests, replies and events, and the table of operations."""
    click.echo(json.dumps(document(), indent=2, ensure_ascii=False))
