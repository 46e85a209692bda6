"""`gpulint plan`."""

from __future__ import annotations

import os
import sys
from dataclasses import replace

import click

from gpulint.cli import options
from gpulint.cli.options import UserError
from gpulint.discovery import MissingPath, discover
from gpulint.linting.deep_stack import on_deep_stack
from gpulint.linting.engine import Checker
from gpulint.linting.selection import Catalogue
from gpulint.output import plan_events, plan_json, plan_text
from gpulint.output.summary import number
from gpulint.output.view import place
from gpulint.places import Span
from gpulint.settings import SettingsError
from gpulint.sources.decoding import Undecodable
from gpulint.sources.source import Source
from gpulint.syntax.parse import CannotParse


@click.command("plan")
@click.argument("paths", nargs=-1, required=True, type=click.Path(), metavar="PATH...")
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", help="Output format.")
@click.option("--events", is_flag=True, help="Show every event that rules receive, with its fields.")
@options.configuration
@options.color
def command(
    paths: tuple[str, ...],
    output_format: str,
    events: bool,
    configs: tuple[str, ...],
    isolated: bool,
    target_tensorflow: str | None,
    trust: bool,
    color: str,
) -> None:
    """Show what gpulint believes a program will do.

    Each relevant line is followed by what it does: what it creates and on which devices, in which scopes, with which
    batch size, and how certain that is (must, may, if called).

    PATH is a file. For a directory or several paths, all files with something to show are printed one after another; in
    JSON they are one array.
    """
    finder = options.finder(configs, isolated, {}, target_tensorflow, trust)
    is_one = len(paths) == 1 and not os.path.isdir(paths[0])
    checker = Checker(finder, Catalogue(()))
    shown, failed = [], False
    stops_shown: set[plan_text.Stop] = set()
    try:
        files = list(paths) if is_one else discover(paths, finder)
        for file in files:
            text, complete = _plan(checker, file, output_format, events, options.use_color(color), is_one, stops_shown)
            failed = failed or not complete
            shown += [text] if text is not None else []
    except MissingPath as error:
        raise UserError(f"{error}: no such file or directory") from None
    except SettingsError as error:
        raise UserError(str(error)) from None
    options.say_each(finder.notes)
    if is_one or output_format != "json":
        click.echo("\n".join(shown), nl=output_format == "json" and bool(shown))
    else:
        click.echo(f"[{','.join(shown)}]")
    if not is_one and not shown and output_format != "json":
        click.echo(f"Nothing to show in {number(len(files), 'file')}.")
    if failed:
        sys.exit(1)


def _plan(
    checker: Checker,
    file: str,
    output_format: str,
    events: bool,
    color: bool,
    is_one: bool,
    stops_shown: set[plan_text.Stop],
) -> tuple[str | None, bool]:
    """(text, whether the whole file was read) of a plan; the text is None for one of several files that has nothing to
    show, or that cannot be read. `stops_shown` are those of earlier files. Raises UserError if the only
    file does not exist."""
    try:
        programs = checker.load(file)
        source = replace(programs.main, path=file)
        for part, broken in programs.broken:
            _say(file, part, broken)
        plan = checker.plan(programs.main)
    except OSError as error:
        message = f"{file}: {error.strerror or error}"
        if is_one:
            raise UserError(message) from None
        options.say(message)
        return None, False
    except Undecodable as error:
        options.say(f"{file}:{error.row}:{error.column}: {error.message}")
        return None, False
    except CannotParse as error:
        _say(file, programs.main, error)
        return None, False
    read = checker.files.read
    if not is_one and not (plan.events if events else plan_text.placed_notes(plan, source)):
        return None, not programs.broken

    def render() -> str:
        if output_format == "json":
            return (plan_events.render_json if events else plan_json.render)(plan, source, read)
        if events:
            return plan_events.render(plan, source, read)
        return plan_text.render(plan, source, read, color, stops_shown)

    return on_deep_stack(render), not programs.broken


def _say(file: str, source: Source, error: CannotParse) -> None:
    """Report a program or cell that cannot be parsed."""
    span = Span(file, error.row, error.column, error.row, error.column)
    shown = source.cells.in_cell(span)._replace(path=file) if source.cells is not None else span
    options.say(f"{place(shown)}: {error.message}")
