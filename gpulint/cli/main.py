"""The command line: `gpulint COMMAND`."""

from __future__ import annotations

from importlib import import_module

import click
from click.shell_completion import CompletionItem

from gpulint import __version__

COMMANDS = {
    "check": "Find GPU misuse in TensorFlow code.",
    "clean": "Delete what checks remember.",
    "config": "Show the settings there are.",
    "doctor": "Say what stands between this machine and TensorFlow on its GPUs.",
    "explain": "Explain a rule.",
    "generate-shell-completion": "Print a completion script for a shell.",
    "plan": "Show what gpulint believes a program will do.",
    "probe": "Run a program and see what its devices do.",
    "rule": "Explain a rule.",
    "server": "Serve an editor by the Language Server Protocol.",
    "version": "Show the version.",
}
"""Every command with its one-line help; its module is imported when it is called."""

_MODULES = {"explain": "rule", "generate-shell-completion": "completion"}


class _Commands(click.Group):
    """Commands that are imported only when they are used: `gpulint --help` reads nothing else."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"gpulint.cli.{_MODULES.get(cmd_name, cmd_name)}")
        command: click.Command = module.command
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        named = [CompletionItem(name, help=text) for name, text in COMMANDS.items() if name.startswith(incomplete)]
        return named + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, text in COMMANDS.items() if name != "explain"])


@click.version_option(__version__, message="gpulint %(version)s")
@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
def main() -> None:
    """gpulint tells why the GPUs of a TensorFlow program sit idle."""
