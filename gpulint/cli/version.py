"""`gpulint version`."""

from __future__ import annotations

import json

import click

from gpulint import places
from gpulint._version import __version__


@click.command("version")
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", help="Output format.")
def command(output_format: str) -> None:
    """Show the version."""
    compiled = not str(places.__file__).endswith(".py")
    if output_format == "json":
        click.echo(json.dumps({"version": __version__, "compiled": compiled}))
    else:
        click.echo(f"gpulint {__version__}{' (compiled)' if compiled else ''}")
