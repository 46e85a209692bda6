"""Which operations have GPU kernels, for which types, and which of their arguments stay in host memory.

A TensorFlow built with CUDA has this in its registry. The CPU wheel registers few GPU kernels (296 operations of 1497
in 2.21), so a table generated from the CUDA wheel of TensorFlow 2.21 replaces it (`scripts/generate_gpu_kernels.py`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from gpulint import _version

Types = tuple[tuple[str, tuple[str, ...]], ...]
"""Type attributes of an operation → the types, as far as known."""


class Kernel(NamedTuple):
    """A GPU kernel. `types`: attribute → supported types; `host`: arguments kept in host memory."""

    types: Mapping[str, frozenset[str]]
    host: frozenset[str]

    def fits(self, types: Types) -> bool:
        """Whether it supports these types. Unknown types match."""
        return all(name not in self.types or set(given) <= self.types[name] for name, given in types)


class Kernels:
    """GPU kernels by operation. `registered` looks them up in the registry of the loaded TensorFlow."""

    def __init__(self, registered: Callable[[str], tuple[Kernel, ...] | None] | None = None) -> None:
        self._registered = registered
        self._known: dict[str, tuple[Kernel, ...] | None] = {}
        self._table: dict[str, list[Any]] = {}
        self._sets: list[frozenset[str]] = []
        if registered is None:
            self._read()

    def of(self, op: str) -> tuple[Kernel, ...] | None:
        """The kernels of an operation; None if it is unknown, such as a function."""
        if op not in self._known:
            self._known[op] = self._registered(op) if self._registered is not None else self._listed(op)
        return self._known[op]

    def find(self, op: str, types: Types) -> Kernel | None:
        """The first kernel that supports the types; the registry lists those for GPUs first."""
        return next((kernel for kernel in self.of(op) or () if kernel.fits(types)), None)

    def attributes(self, op: str) -> tuple[str, ...]:
        """Attributes that kernel selection depends on."""
        return tuple(sorted({name for kernel in self.of(op) or () for name in kernel.types}))

    def _read(self) -> None:
        path = os.path.join(os.path.dirname(_version.__file__), "knowledge", "gpu_kernels.json")
        with open(path, encoding="utf-8") as file:
            table = json.load(file)
        self._table = table["kernels"]
        self._sets = [frozenset(names.split()) for names in table["types"]]

    def _listed(self, op: str) -> tuple[Kernel, ...] | None:
        rows = self._table.get(op)
        if rows is None:
            return None
        return tuple(
            Kernel({name: self._sets[number] for name, number in types.items()}, frozenset(host))
            for types, host in rows
        )


def kernel_of(definition: Any, name_of_type: Callable[[int], str]) -> Kernel | None:
    """The GPU kernel in a registry entry (KernelDef); None for other devices, and for kernels that operations
    request by label. DEFAULT kernels also serve GPUs."""
    if definition.device_type not in ("GPU", "DEFAULT") or definition.label:
        return None
    types = {
        constraint.name: frozenset(name_of_type(number) for number in constraint.allowed_values.list.type)
        for constraint in definition.constraint
    }
    return Kernel(types, frozenset(definition.host_memory_arg))
