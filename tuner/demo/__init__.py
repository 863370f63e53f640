"""`tuner demo`: watch a simulated machine being tuned by a scripted judge."""

from pathlib import Path

import click

from tuner.threads import one_blas_thread

INTERRUPTED = 130


@click.command()
@click.option(
    "--config",
    "file",
    type=click.Path(readable=False, path_type=Path),
    help="Configuration whose first campaign is run, on a simulated machine; by default configs/sasena.toml.",
)
@click.option("--trials", type=click.IntRange(1, 1000), help="How many trials; by default the campaign's budget.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Another seed, another history.")
def demo(file: Path | None, trials: int | None, seed: int) -> None:
    """Watch a simulated machine being tuned.

    A scripted judge compares each new part with the champion's, as an operator would. Ctrl-C ends it with what was
    reached so far.
    """
    one_blas_thread()
    from tuner.demo.display import display
    from tuner.demo.session import Session, sample_config

    session = Session.from_file(file or sample_config(), trials=trials, seed=seed)
    with display(session) as show:
        interrupted = session.run(show.update)
    show.finish(interrupted=interrupted)
    if interrupted:
        raise click.exceptions.Exit(INTERRUPTED)
