"""`gpulint generate-shell-completion`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command("generate-shell-completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print a script that completes gpulint's commands, options, rules and settings."""
    from gpulint.cli.main import main

    completion = get_completion_class(shell)
    assert completion is not None, "click knows the shells above"
    script = completion(main, {}, "gpulint", "_GPULINT_COMPLETE").source()
    # click's script for fish splits at every comma; lists of rules and descriptions contain commas
    click.echo(script.replace('(string split "," ', '(string split --max 1 "," '))
