"""`gpulint plan`."""

from __future__ import annotations

import sys
from dataclasses import replace

import click

from gpulint.cli import options
from gpulint.cli.options import UserError
from gpulint.linting.deep_stack import on_deep_stack
from gpulint.linting.engine import Checker
from gpulint.linting.selection import Catalogue
from gpulint.output import plan_events, plan_json, plan_text
from gpulint.output.view import place
from gpulint.places import Span
from gpulint.sources.decoding import Undecodable
from gpulint.sources.source import Source
from gpulint.syntax.parse import CannotParse


@click.command("plan")
@click.argument("file", type=click.Path())
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", help="Form of the output.")
@click.option("--events", is_flag=True, help="Show every event that rules receive, with its fields.")
@options.configuration
@options.color
def command(
    file: str,
    output_format: str,
    events: bool,
    configs: tuple[str, ...],
    isolated: bool,
    target_tensorflow: str | None,
    trust: bool,
    color: str,
) -> None:
    """Show what gpulint believes a program will do.

    Under each line that matters: the scopes around it, what is made and on which devices, batches, the state of the
    runtime; and how sure that is (must, may, unknown).
    """
    finder = options.finder(configs, isolated, {}, target_tensorflow, trust)
    checker = Checker(finder, Catalogue(()))
    try:
        programs = checker.load(file)
        source = replace(programs.main, path=file)
        for part, broken in programs.broken:
            _say(file, part, broken)
        plan = checker.plan(programs.main)
    except OSError as error:
        raise UserError(f"{file}: {error.strerror or error}") from None
    except Undecodable as error:
        options.say(f"{file}:{error.row}:{error.column}: {error.message}")
        sys.exit(1)
    except CannotParse as error:
        _say(file, programs.main, error)
        sys.exit(1)
    options.say_each(finder.notes)
    if events:
        render = plan_events.render_json if output_format == "json" else plan_events.render
        click.echo(on_deep_stack(lambda: render(plan, source, checker.files.read)), nl=output_format == "json")
    elif output_format == "json":
        click.echo(on_deep_stack(lambda: plan_json.render(plan, source, checker.files.read)))
    else:
        text = on_deep_stack(lambda: plan_text.render(plan, source, checker.files.read, options.use_color(color)))
        click.echo(text, nl=False)
    if programs.broken:
        sys.exit(1)


def _say(file: str, source: Source, error: CannotParse) -> None:
    """Report a program or cell that cannot be parsed."""
    span = Span(file, error.row, error.column, error.row, error.column)
    shown = source.cells.in_cell(span)._replace(path=file) if source.cells is not None else span
    options.say(f"{place(shown)}: {error.message}")
