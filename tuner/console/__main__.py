"""`python -m tuner.console` runs the same commands; the browser's console is started so."""

from tuner.processes import leave_out_working_directory


def main() -> None:
    """Run a command; what goes wrong is one sentence and an exit code."""
    leave_out_working_directory()  # before anything else is imported

    import sys

    import click

    from tuner.console.cli import ask, console, handover
    from tuner.errors import TunerError

    @click.group()
    def group() -> None:
        """The operator's console."""

    for command in (console, ask, handover):
        group.add_command(command)
    try:
        group.main(prog_name="python -m tuner.console")
    except TunerError as error:
        click.echo(str(error), err=True)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
