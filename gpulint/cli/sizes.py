"""Sizes of memory and of machines on the command line."""

from __future__ import annotations

import click

from gpulint.probe.measures.sizes import in_bytes

MAX_GPUS = 128
"""Maximum number of GPUs of a rehearsal: no machine has more, and with thousands a step takes hours."""

MAX_LOCAL_WORKERS = 64
"""Maximum number of workers on this machine: each is a process with its own TensorFlow."""

_LEAST = 1 << 20


def size(context: click.Context, option: click.Parameter, value: str | None) -> int | None:
    """A number and a unit as bytes. For the `callback` of an option. Raises click.BadParameter for anything else, and
    for less than 1 MiB."""
    if value is None:
        return None
    try:
        bytes_ = in_bytes(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    if bytes_ < _LEAST:
        raise click.BadParameter(f"{value!r} is too little: a GPU has 1MiB at least")
    return bytes_
