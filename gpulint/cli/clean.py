"""`gpulint clean`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import click

from gpulint.caching.store import is_cache
from gpulint.cli import options
from gpulint.settings import Settings

NAME = Settings().cache_dir


@click.command("clean")
@options.cache_directory
@options.configuration
def command(cache_dir: str, configs: tuple[str, ...], isolated: bool, target_tensorflow: str | None) -> None:
    """Delete the caches of the working directory's project and of everything below that directory."""
    settings = options.finder(configs, isolated, {}, target_tensorflow).of_directory(".")
    wanted = {os.path.abspath(cache_dir) if cache_dir else settings.cache_directory, *_below(".")}
    for directory in sorted(wanted):
        if is_cache(directory):
            click.echo(f"Removing {directory}")
            shutil.rmtree(directory, ignore_errors=True)


def _below(top: str) -> Iterator[str]:
    for directory, names, _ in os.walk(top):
        if NAME in names:
            names.remove(NAME)
            yield os.path.abspath(os.path.join(directory, NAME))
