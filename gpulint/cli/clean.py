"""`gpulint clean`."""

from __future__ import annotations

import os
from collections.abc import Iterator

import click

from gpulint.caching.store import clean, is_cache, refusal
from gpulint.cli import options
from gpulint.cli.options import UserError
from gpulint.output.escapes import printable
from gpulint.settings import CacheOutside, Settings

NAME = Settings().cache_dir


@click.command("clean")
@options.cache_directory
@options.configuration
def command(
    cache_dir: str, configs: tuple[str, ...], isolated: bool, target_tensorflow: str | None, trust: bool
) -> None:
    """Delete the caches of the working directory's project and of everything below that directory."""
    settings = options.finder(configs, isolated, {}, target_tensorflow, trust).of_directory(".")
    try:
        own = os.path.abspath(cache_dir) if cache_dir else settings.cache_directory
    except CacheOutside as error:
        raise UserError(str(error)) from None
    if os.path.lexists(own) and (reason := refusal(own)):
        raise UserError(reason)
    for directory in sorted({own, *_below(".")}):
        if is_cache(directory):
            click.echo(f"Removing {printable(directory)}")
            clean(directory)


def _below(top: str) -> Iterator[str]:
    for directory, names, _ in os.walk(top):
        if NAME in names:
            names.remove(NAME)
            yield os.path.abspath(os.path.join(directory, NAME))
