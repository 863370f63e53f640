"""`tuner completion`: the script that teaches a shell to complete tuner's commands."""

import click
from click.shell_completion import get_completion_class

from tuner.errors import TunerError


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script for SHELL.

    \b
    bash:  tuner completion bash > ~/.local/share/bash-completion/completions/tuner
    zsh:   tuner completion zsh > some folder of your $fpath, under the name _tuner
    fish:  tuner completion fish > ~/.config/fish/completions/tuner.fish
    """  # noqa: D301 - \b is click's mark for text that must not be wrapped
    found = get_completion_class(shell)
    if found is None:
        raise TunerError(f"there is no completion for {shell}")
    click.echo(found(ctx.find_root().command, {}, "tuner", "_TUNER_COMPLETE").source())
