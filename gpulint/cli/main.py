"""The command line: `gpulint COMMAND`."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from io import StringIO, TextIOWrapper
from itertools import takewhile
from typing import Any

import click
from click.shell_completion import CompletionItem

from gpulint._version import __version__
from gpulint.output.escapes import printable, printable_block

COMMANDS = {
    "check": "Find GPU misuse in TensorFlow code.",
    "clean": "Delete the caches.",
    "config": "List all settings.",
    "doctor": "Explain why TensorFlow does not see the GPUs of this machine.",
    "estimate": "Estimate whether a training step fits on a GPU, and what bounds its speed.",
    "explain": "Explain a rule.",
    "generate-shell-completion": "Print a completion script for a shell.",
    "plan": "Show what gpulint believes a program will do.",
    "probe": "Run a program and show what its devices do.",
    "rule": "Explain a rule.",
    "server": "Serve an editor by the Language Server Protocol.",
    "version": "Show the version.",
}
"""Every command with its one-line help; its module is imported when it is called."""

PROBE_LIBRARIES = ("psutil", "pygments", "rich")
"""Modules that `gpulint[probe]` installs: commands that only read code do without them."""

_MODULES = {"explain": "rule", "generate-shell-completion": "completion"}


class _Commands(click.Group):
    """Commands that are imported only when they are used: `gpulint --help` reads nothing else.

    An exception that no command expects is one line on standard error and exit status 2.
    """

    def main(self, args: Sequence[str] | None = None, *others: Any, **options: Any) -> Any:
        _prepare_streams()
        words = sys.argv[1:] if args is None else args
        try:
            if any("\0" in word for word in words):  # only another program can pass one; the operating system does not
                raise click.UsageError("an argument has a NUL")
            return super().main(args, *others, **options)
        except click.UsageError as error:
            click.echo(f"gpulint: {error.message}", err=True)
        except Exception as error:  # last resort: one line and exit status 2
            missing = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
            if missing in PROBE_LIBRARIES:
                from gpulint.cli.extras import install

                click.echo(f"gpulint: this command needs {missing}: {install('probe')}", err=True)
            else:
                _report(error, verbose="-v" in words or "--verbose" in words)
        sys.exit(2)

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        with _usage_errors_printable():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with _usage_errors_printable():
                return super().invoke(ctx)
        finally:
            if not sys.stdout.closed:  # the server closes its own output
                sys.stdout.flush()  # flush now: a closed pipe would be an error at interpreter exit

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            from difflib import get_close_matches

            if near := get_close_matches(args[0], COMMANDS, 1):
                ctx.fail(f"there is no command '{args[0]}'; did you mean '{near[0]}'?")
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None and command.context_settings.get("allow_interspersed_args", True):
            _refuse_names_of_files(ctx, rest)
        return name, command, rest

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


def _refuse_names_of_files(ctx: click.Context, words: Sequence[str]) -> None:
    """Refuse an option that is also the name of a file here.

    `gpulint check *` and pre-commit pass file names without `--` before them: a repository could name a file `--trust`.
    """
    for word in takewhile(lambda word: word != "--", words):
        if word.startswith("-") and word != "-" and os.path.lexists(word):
            ctx.fail(f"'{word}' is an option and a file here: write './{word}' for the file, or rename it")


def _prepare_streams() -> None:
    """Standard streams that can be written to even if they are closed or their encoding lacks a character."""
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  (until the process ends)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


@contextmanager
def _usage_errors_printable() -> Iterator[None]:
    """Click's message for wrong usage, with words of the command line (possibly file names) escaped."""
    try:
        yield
    except click.UsageError as error:
        shown = StringIO()
        error.show(shown)
        click.echo(printable_block(shown.getvalue()), err=True, nl=False)
        sys.exit(error.exit_code)


def _report(error: Exception, verbose: bool) -> None:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{os.path.basename(frame.filename)}:{frame.lineno}"
    click.echo(printable(f"gpulint: internal error: {type(error).__name__}: {error} ({place})"), err=True)
    if verbose:
        click.echo(printable_block("".join(traceback.format_exception(error))), err=True, nl=False)


@click.version_option(__version__, message="gpulint %(version)s")
@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
def main() -> None:
    """gpulint finds out why the GPUs of a TensorFlow program sit idle."""
