"""`check --watch`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import click

from gpulint.cli.extras import install
from gpulint.cli.options import UserError, say
from gpulint.sources.containment import relative_to

_SUFFIXES = (".py", ".ipynb", ".toml")


def repeat(paths: Sequence[str], check: Callable[[], object]) -> None:
    """Check now and whenever a file below the paths changes, until interrupted. Raises UserError."""
    try:
        import watchfiles
    except ImportError:
        raise UserError(f"--watch needs the package watchfiles: {install('watch')}") from None
    if "-" in paths:
        raise UserError("--watch cannot watch standard input")

    is_wanted = watchfiles.DefaultFilter()

    def is_source(change: Any, path: str) -> bool:
        return path.endswith(_SUFFIXES) and bool(is_wanted(change, path))

    watched = {path if os.path.exists(path) else "." for path in paths or (".",)}
    _once(check)
    for changes in watchfiles.watch(*watched, watch_filter=is_source, raise_interrupt=False):
        names = sorted({relative_to(path) for _, path in changes})
        click.clear()
        say(f"{', '.join(names)} changed")
        _once(check)


def _once(check: Callable[[], object]) -> None:
    try:
        check()
    except click.ClickException as error:
        error.show()
    except SystemExit:
        pass  # the exit status of one check does not end watching
    say("watching; stop with Ctrl-C")
