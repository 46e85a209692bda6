"""Which operations have a kernel for GPUs, for which types, and which of their arguments stay in the host's memory.

A TensorFlow that is built with CUDA answers from its own registry. The wheel for CPUs lists hardly any kernel for GPUs
(296 operations of 1497 in 2.21), so there a table answers that was made from the CUDA wheel of TensorFlow 2.21
(`scripts/generate_gpu_kernels.py`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from gpulint import _version

Types = tuple[tuple[str, tuple[str, ...]], ...]
"""Attributes of an operation that say types → the types, as far as they are known."""


class Kernel(NamedTuple):
    """A kernel for GPUs. `types`: attribute → the types it is for; `host`: arguments that it keeps with the host."""

    types: Mapping[str, frozenset[str]]
    host: frozenset[str]

    def fits(self, types: Types) -> bool:
        """Whether it is for these types. What is not known fits."""
        return all(name not in self.types or set(given) <= self.types[name] for name, given in types)


class Kernels:
    """The kernels for GPUs, by operation. `registered` asks the registry of the TensorFlow that is loaded."""

    def __init__(self, registered: Callable[[str], tuple[Kernel, ...] | None] | None = None) -> None:
        self._registered = registered
        self._known: dict[str, tuple[Kernel, ...] | None] = {}
        self._table: dict[str, list[Any]] = {}
        self._sets: list[frozenset[str]] = []
        if registered is None:
            self._read()

    def of(self, op: str) -> tuple[Kernel, ...] | None:
        """The kernels of an operation; None for one that is not known, such as a function."""
        if op not in self._known:
            self._known[op] = self._registered(op) if self._registered is not None else self._listed(op)
        return self._known[op]

    def find(self, op: str, types: Types) -> Kernel | None:
        """The kernel that an operation has for types; the first that fits, as the registry prefers those for GPUs."""
        return next((kernel for kernel in self.of(op) or () if kernel.fits(types)), None)

    def attributes(self, op: str) -> tuple[str, ...]:
        """The attributes on which it depends which kernel there is."""
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
    """The kernel for GPUs that an entry of the registry (KernelDef) is; None for other devices, and for one that is
    only taken when an operation asks for it by a label. Kernels for DEFAULT serve GPUs, too."""
    if definition.device_type not in ("GPU", "DEFAULT") or definition.label:
        return None
    types = {
        constraint.name: frozenset(name_of_type(number) for number in constraint.allowed_values.list.type)
        for constraint in definition.constraint
    }
    return Kernel(types, frozenset(definition.host_memory_arg))
