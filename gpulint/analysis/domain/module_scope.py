"""Modules of the project under analysis."""

from __future__ import annotations

from typing import Any

from gpulint.places import Site
from gpulint.syntax import ir


class ModuleScope:
    """A module under analysis: its syntax and its global names."""

    __slots__ = ("globals", "graph_mode", "name", "path", "sites", "syntax")

    def __init__(self, syntax: ir.Module, name: str, graph_mode: bool) -> None:
        self.syntax = syntax
        self.path = syntax.path
        self.name = name
        self.globals: dict[str, Any] = {}
        self.sites: dict[int, Site] = {}
        """Sites of its nodes that were asked for, keyed by number."""
        self.graph_mode = graph_mode
        """Whether the file is TF1 graph-mode code."""
