"""`gpulint version`."""

from __future__ import annotations

import json

import click

from gpulint._version import __version__


@click.command("version")
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", help="Form of the output.")
def command(output_format: str) -> None:
    """Show the version."""
    click.echo(json.dumps({"version": __version__}) if output_format == "json" else f"gpulint {__version__}")
