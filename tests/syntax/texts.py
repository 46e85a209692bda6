"""Access to sources and lowered nodes for tests."""

from __future__ import annotations

import asyncio.tasks
import contextlib
import dataclasses
import fractions
import shlex
import textwrap
import typing
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from gpulint.sources.source import Source
from gpulint.syntax import ir, walk
from gpulint.syntax.parse import parse

LIBRARY: tuple[ModuleType, ...] = (asyncio.tasks, contextlib, dataclasses, fractions, shlex, typing)
"""Modules of the running Python's standard library: real code of some size."""


def source(text: str) -> Source:
    return Source("program.py", text.encode("utf-8", "surrogatepass"), text, "utf-8")


def library_source(module: ModuleType) -> Source:
    assert module.__file__ is not None
    path = Path(module.__file__)
    return Source(str(path), path.read_bytes(), path.read_text(encoding="utf-8"), "utf-8")


def lowered(text: str) -> ir.Module:
    return parse(source(textwrap.dedent(text)))


def statement(text: str) -> Any:
    """The only statement of a program."""
    (only,) = lowered(text).body
    return only


def expression(text: str) -> Any:
    return statement(text).value


def nodes(value: Any) -> Iterator[ir.Node]:
    """Every node, each before what it holds."""
    if isinstance(value, ir.Module):
        value = value.body
    pending = [value]
    while pending:
        value = pending.pop()
        if isinstance(value, tuple):
            pending.extend(reversed(value))
        elif isinstance(value, ir.Node):
            yield value
            pending.extend([getattr(value, name) for name in reversed(walk.fields(value))])
