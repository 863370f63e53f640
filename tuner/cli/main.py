"""The `tuner` command: a table of subcommands, each imported only when it is called, and exit codes for errors."""

import importlib
import sys
import traceback
from typing import Any, cast

import click
from click.shell_completion import CompletionItem

from tuner.basics.processes import leave_out_working_directory
from tuner.basics.text import printable
from tuner.errors import TunerError

INTERRUPTED = 130

# name -> (module:attribute, what it does in one line); `tuner --help` must not import any of these modules
COMMANDS = {
    "adapters": ("tuner.cli.adapters:adapters", "List, check and begin adapters."),
    "ask": ("tuner.cli.console:ask", "Compare parts in plain lines, for slow terminals."),
    "bench": ("tuner.cli.bench:bench", "Measure speed, accuracy and the paper's experiments."),
    "bundle": ("tuner.cli.bundle:bundle", "Write one file about a campaign for support."),
    "campaign": ("tuner.cli.campaign:campaign", "Start, pause, stop and correct campaigns."),
    "check-config": ("tuner.cli.check_config:check_config", "Check configuration files: every error at once."),
    "completion": ("tuner.cli.completion:completion", "Print the completion script for your shell."),
    "config": ("tuner.cli.config:config", "Explain the keys of a configuration."),
    "console": ("tuner.cli.console:console", "The operators' console: compare parts, watch."),
    "demo": ("tuner.cli.demo:demo", "Watch a simulated machine being tuned."),
    "doctor": ("tuner.cli.doctor:doctor", "Check that all is there that the daemon needs."),
    "export": ("tuner.cli.export:export", "Write a campaign as tables for spreadsheets and programs."),
    "handover": ("tuner.cli.console:handover", "Print the shift handover."),
    "import": ("tuner.cli.importing:import_", "Let the model know what an earlier campaign found."),
    "init": ("tuner.cli.init:init", "Answer some questions, get a configuration."),
    "journal": ("tuner.cli.journal:journal", "Look at the journal, check it, copy it."),
    "keys": ("tuner.cli.keys:keys", "Make, list and revoke keys of clients on the network."),
    "metrics": ("tuner.cli.metrics:metrics", "Serve what the daemon does for Prometheus."),
    "people": ("tuner.cli.people:people", "Who may sign in with PIN or badge."),
    "recipe": ("tuner.cli.recipe:recipe", "Print the recommended setting and what it rests on."),
    "rehearse": ("tuner.cli.rehearse:rehearse", "Try a campaign on made-up processes: what to expect."),
    "replay": ("tuner.cli.replay:replay", "Compute every proposal of a journal again and compare."),
    "report": ("tuner.cli.report:report", "Write the page about a campaign."),
    "run": ("tuner.cli.run:run", "Run the daemon in the foreground."),
    "schema": ("tuner.cli.schema:schema", "Print the wire protocol as JSON Schema."),
    "security": ("tuner.cli.security:security", "Look at the security events and check them."),
    "simulate": ("tuner.cli.simulate:simulate", "Tune simulated machines with a scripted judge."),
    "status": ("tuner.cli.status:status", "Show what the daemon and its campaigns do."),
    "stop": ("tuner.cli.stop:stop", "End the daemon and wait until it has gone."),
    "web": ("tuner.cli.web:web", "The page: compare parts and watch in a browser."),
}


class LazyGroup(click.Group):
    """A group that knows its commands by name and imports one when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, without importing anything."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        return cast("click.Command", getattr(importlib.import_module(module), attribute))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; a wrong name is answered with the nearest one."""
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:
            raise click.NoSuchCommand(error.command_name, possibilities=COMMANDS, ctx=ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table of commands from the short helps in `COMMANDS`."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in sorted(COMMANDS.items())])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete names of commands without importing them."""
        names = [CompletionItem(n, help=text) for n, (_, text) in sorted(COMMANDS.items()) if n.startswith(incomplete)]
        return names + click.Command.shell_complete(self, ctx, incomplete)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command and turn whatever goes wrong into one sentence and an exit code."""
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.Abort, click.exceptions.Exit, BrokenPipeError):
            raise  # click shows these properly
        except KeyboardInterrupt:
            ctx.exit(INTERRUPTED)
        except TunerError as error:
            self.explain(ctx, str(error))
            ctx.exit(error.exit_code)
        except OSError as error:  # a full disk, a closed terminal: not tuner's fault
            self.explain(ctx, f"tuner: {error}")
            ctx.exit(1)
        except Exception as error:  # noqa: BLE001 - the last place where a traceback can be kept from the user
            sentence = f"tuner: unexpected error: {type(error).__name__}: {error}"
            self.explain(ctx, f"{sentence}\nThis is a defect of tuner: run again with --debug (tuner --debug ...).")
            ctx.exit(1)

    def explain(self, ctx: click.Context, text: str) -> None:
        """Write an error to stderr, after its traceback if the user asked for it."""
        if ctx.params.get("debug"):
            click.echo(traceback.format_exc(), err=True, nl=False)
        click.echo("\n".join(printable(line) for line in text.split("\n")), err=True)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.version_option(package_name="process-tuner", message="tuner %(version)s")
def cli(debug: bool) -> None:
    """Tune a manufacturing process by asking people which of two parts is better.

    \b
    Exit codes: 0 done, 1 failure, 2 wrong usage, 69 daemon unreachable, 75 try again later,
    77 not allowed, 78 wrong configuration, 130 interrupted.
    """  # noqa: D301 - \b is click's mark for text that must not be wrapped


def main() -> None:
    """Entry point of the `tuner` command."""
    leave_out_working_directory()
    try:
        cli.main(prog_name="tuner")
    except OSError as error:  # `--help` and `--version` print before any command is invoked
        click.echo(f"tuner: {error}", err=True)
        sys.exit(1)
