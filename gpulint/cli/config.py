"""`gpulint config`."""

from __future__ import annotations

import difflib

import click

from gpulint.cli.options import UserError
from gpulint.output import formats
from gpulint.settings import OPTIONS, Option, Settings


@click.command("config")
@click.argument("key", required=False)
def command(key: str | None) -> None:
    """Show the settings there are, or one of them."""
    if key is None:
        click.echo("\n".join(option.full for option in OPTIONS))
        return
    for option in OPTIONS:
        if key in (option.full, option.key):
            default = getattr(Settings(), option.field)
            click.echo(f"{option.full}\n\n{meaning(option)}\n\nType: {option.kind}\nDefault: {default!r}")
            return
    near = difflib.get_close_matches(key, [option.full for option in OPTIONS], 1)
    raise UserError(f"there is no setting `{key}`" + (f"; did you mean `{near[0]}`?" if near else ""))


def meaning(option: Option) -> str:
    """What a setting is for, with the values it can have where they are few."""
    if option.kind == "format":
        return f"{option.help} One of {', '.join(formats.NAMES)}."
    return option.help
