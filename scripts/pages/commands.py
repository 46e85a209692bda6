"""The reference of the command line, from click."""

from __future__ import annotations

import inspect

import click

from gpulint.cli.main import COMMANDS, main

_INTRODUCTION = """# The command line

`gpulint COMMAND --help` prints the same. Of an option that is given twice the last counts, unless it says that it can
be repeated. What is found goes to standard output; progress, notes and faults go to standard error.
"""

_ALIASES = {"explain": "rule"}


def pages() -> dict[str, str]:
    """The page by its path in the site's source."""
    parts = [_INTRODUCTION]
    with main.make_context("gpulint", [], resilient_parsing=True) as context:
        for name in sorted(COMMANDS):
            command = main.get_command(context, name)
            assert command is not None, "COMMANDS names what there is"
            parts.append(_section(name, command, context))
    return {"command-line.md": "\n".join(parts)}


def _section(name: str, command: click.Command, parent: click.Context) -> str:
    if name in _ALIASES:
        return f"## gpulint {name}\n\nThe same as [gpulint {_ALIASES[name]}](#gpulint-{_ALIASES[name]}).\n"
    with command.make_context(name, [], parent, resilient_parsing=True) as context:
        usage = context.command.get_usage(context).removeprefix("Usage: ")
        rows = [
            _row(record)
            for one in command.get_params(context)
            if isinstance(one, click.Option) and (record := one.get_help_record(context))
        ]
    text = inspect.cleandoc(command.help or "").replace("\b\n", "")
    table = "| option | meaning |\n|---|---|\n" + "\n".join(rows)
    return f"## gpulint {name}\n\n```text\n{usage}\n```\n\n{text}\n\n{table}\n"


def _row(record: tuple[str, str]) -> str:
    names, meaning = record
    return f"| {_code(names)} | {_prose(meaning)} |"


def _code(text: str) -> str:
    return f"`{text}`".replace("|", "\\|")


def _prose(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")
