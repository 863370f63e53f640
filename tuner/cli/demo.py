"""`tuner demo`: watch a simulated machine being tuned through the real daemon, or judge its parts yourself."""

from pathlib import Path

import click

from tuner.basics.threads import one_blas_thread

INTERRUPTED = 130


@click.command()
@click.option(
    "--config",
    "file",
    type=click.Path(readable=False, path_type=Path),
    help="Configuration whose first campaign is run, on a simulated machine; by default configs/sasena.toml.",
)
@click.option("--trials", type=click.IntRange(1, 1000), help="How many trials; by default the campaign's budget.")
@click.option(
    "--seed", type=click.IntRange(0, 2**31), default=0, show_default=True, help="Another seed, another history."
)
@click.option("--human", is_flag=True, help="Leave the judging to you, at the console in another terminal.")
@click.option("--fast", is_flag=True, help="Do not slow down for spectators.")
def demo(file: Path | None, trials: int | None, seed: int, human: bool, fast: bool) -> None:
    """Watch a simulated machine being tuned.

    A daemon is started in a directory of its own. A scripted judge compares each new part with the champion's, as an
    operator would; with --human that is you. Ctrl-C stops tuning: the machine goes to its known-good setting, and the
    report is written with what was reached so far.
    """
    one_blas_thread()
    from tuner.lab.demo.display import display
    from tuner.lab.demo.session import Session, sample_config

    session = Session.from_file(file or sample_config(), trials=trials, seed=seed, human=human, fast=fast)
    with display(session) as show:
        interrupted = session.run(show.update)
        session.write_report(show.update)
    show.finish(interrupted=interrupted)
    if interrupted:
        raise click.exceptions.Exit(INTERRUPTED)
