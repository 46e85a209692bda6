"""`gpulint plan`."""

from __future__ import annotations

import sys

import click

from gpulint.cli import options
from gpulint.cli.options import UserError
from gpulint.linting.engine import Checker, on_deep_stack
from gpulint.linting.selection import Catalogue
from gpulint.output import plan_json, plan_text
from gpulint.sources.decoding import Undecodable, decode
from gpulint.syntax.parse import CannotParse


@click.command("plan")
@click.argument("file", type=click.Path())
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text")
@options.configuration
@options.color
def command(
    file: str,
    output_format: str,
    configs: tuple[str, ...],
    isolated: bool,
    target_tensorflow: str | None,
    color: str,
) -> None:
    """Show what gpulint believes a program will do.

    Under each line that matters: the scopes around it, what is made and on which devices, batches, the state of the
    runtime; and how sure that is (must, may, unknown).
    """
    finder = options.finder(configs, isolated, {}, target_tensorflow)
    try:
        with open(file, "rb") as opened:
            source = decode(file, opened.read())
        plan = Checker(finder, Catalogue(())).plan(source, finder.of_file(file))
    except OSError as error:
        raise UserError(f"{file}: {error.strerror or error}") from None
    except (Undecodable, CannotParse) as error:
        click.echo(f"gpulint: {file}:{error.row}:{error.column}: {error.message}", err=True)
        sys.exit(1)
    if output_format == "json":
        click.echo(on_deep_stack(lambda: plan_json.render(plan, source)))
    else:
        click.echo(on_deep_stack(lambda: plan_text.render(plan, source, options.use_color(color))), nl=False)
