"""Sizes of memory on the command line."""

from __future__ import annotations

import re

import click

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B", re.IGNORECASE)
_LEAST = 1 << 20


def size(context: click.Context, option: click.Parameter, value: str | None) -> int | None:
    """A number and a unit, `16GiB`, `1.5GB` or `800MiB`, as bytes: KiB counts in 1024, kB in 1000. For the `callback`
    of an option. Raises click.BadParameter for anything else, and for less than 1 MiB."""
    if value is None:
        return None
    found = _SIZE.fullmatch(value.strip())
    if found is None:
        raise click.BadParameter(f"{value!r} is no size: write a number and a unit, such as 16GiB or 800MB")
    number, unit, binary = found.groups()
    bytes_ = int(float(number) * (1024 if binary else 1000) ** " KMGT".index(unit.upper() or " "))
    if bytes_ < _LEAST:
        raise click.BadParameter(f"{value!r} is too little: a GPU has 1MiB at least")
    return bytes_
