"""`tuner web`: the page in a browser, and the certificate it needs in a network."""

from pathlib import Path
from typing import Any

import click

from tuner.basics.processes import allow_many_files
from tuner.cli.connection import found, typed_first
from tuner.errors import TunerError

LISTEN = "127.0.0.1:8630"
_FILE = click.Path(path_type=Path, dir_okay=False)


def _place(context: click.Context, parameter: click.Parameter, value: str) -> tuple[str, int]:
    host, _, port = value.rpartition(":")
    if not host or not (port.isascii() and port.isdigit() and int(port) <= 65535):
        raise click.BadParameter(f"{value} is not HOST:PORT, such as {LISTEN}")
    return host, int(port)


@click.group(invoke_without_command=True)
@found
@click.option("--listen", default=LISTEN, show_default=True, metavar="HOST:PORT", callback=_place, help="Where.")
@click.option("--name", "names", multiple=True, metavar="NAME", help="What browsers may call this machine; repeatable.")
@click.option("--certificate", type=_FILE, help="For TLS; needed unless only this machine can reach the page.")
@click.option("--certificate-key", "certificate_key", type=_FILE, help="The certificate's key.")
@click.option("--photos", multiple=True, type=click.Path(path_type=Path, exists=True, file_okay=False),
              help="Folder whose pictures of parts are shown; repeatable.")  # fmt: skip
@click.option("--photos-from", "pictures", multiple=True, metavar="ORIGIN",
              help="Server whose pictures are shown, such as https://camera.plant; repeatable.")  # fmt: skip
@click.option("--campaign", envvar="TUNER_CAMPAIGN", metavar="NAME", help="Shown first; default: the only one.")
@click.option("--language", metavar="LANGUAGE", help="en, de, es or zh; default: the browser's.")
@click.pass_context
def web(
    context: click.Context, connect: str | None, key: Path | None, state: Path | None, listen: tuple[str, int],
    names: tuple[str, ...], certificate: Path | None, certificate_key: Path | None, photos: tuple[Path, ...],
    pictures: tuple[str, ...], campaign: str | None, language: str | None,
) -> None:  # fmt: skip
    """Compare parts and watch the machine in a browser.

    On this machine the page needs nothing. Where other machines can reach it, it needs TLS and people who sign in.
    """
    if context.invoked_subcommand is not None:
        return
    _require_extra()
    allow_many_files()
    from tuner.console.language import choose_language
    from tuner.web.serve import Listening, serve
    from tuner.wire.client import Client

    wanted = choose_language(language) if language is not None else None
    connect, key, state = typed_first(connect, key, state)
    with Client.local(state) if connect is None and key is None else Client.connect(connect, key=key) as client:
        link = client.link
    listening = Listening(*listen, names, certificate, certificate_key)
    serve(link, listening, click.echo, language=wanted, campaign=campaign, photos=photos, pictures=pictures)


@web.command()
@click.option("--name", "names", multiple=True, required=True, metavar="NAME", help="Of this machine; repeatable.")
@click.option("--days", default=825, show_default=True, type=click.IntRange(1, 3650), help="How long it is valid.")
@click.option("--out", default=Path(), type=click.Path(path_type=Path, exists=True, file_okay=False), help="Folder.")
def certificate(names: tuple[str, ...], days: int, out: Path) -> None:
    """Make a certificate for this machine, signed by itself: install tuner-web.crt on each tablet."""
    _require_extra()
    from tuner.web.certificate import make

    for path in make(names, days, out):
        click.echo(f"written: {path}")


def _require_extra() -> Any:
    try:
        import jinja2
        import starlette
        import uvicorn
    except ImportError as error:
        raise TunerError('the page needs more packages: pip install "process-tuner[web]"') from error
    return jinja2, starlette, uvicorn
