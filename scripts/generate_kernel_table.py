"""Write gpulint/knowledge/kernels.json from the kernel registry of the CUDA-built TensorFlow wheel.

    python scripts/generate_kernel_table.py gpulint/knowledge/kernels.json

No GPU is needed: kernels are registered when the library is loaded. A public function is listed when the ops that it
calls (read off its source) have no GPU kernel at all, or, for bare wrappers, only for some dtypes of the first input.
What is known of ops themselves is in gpu_kernels.json.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from typing import Any

import tensorflow as tf
from generate_api_table import NO_OPS, OP_MODULES, rank, walk
from tensorflow.python.framework import dtypes, kernels
from tensorflow.python.framework.op_def_registry import get

GPU_TYPES = ("GPU", "DEFAULT")

_CALLS = re.compile(r"\b(\w+_ops|ops)\.(\w+)\(")

HARMLESS = frozenset(["convert_to_tensor", "name_scope", "convert_n_to_tensor_or_indexed_slices"])
"""Functions of the ops modules that a wrapper may call beside its op."""

MEANINGLESS = frozenset(
    ["print", "timestamp", "py_func", "EagerPyFunc", "Assert", "Print", "Identity", "IdentityN", "Const"]
)
"""Ops whose place says nothing of where the work is done."""


def op_names() -> dict[str, str]:
    """Python name of a generated wrapper → op name."""
    names = {}
    for kernel in kernels.get_all_registered_kernels().kernel:
        names[re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", kernel.op).lower()] = kernel.op
    return names


def ops_of(function: Any, wrappers: dict[str, str]) -> tuple[set[str], bool]:
    """The ops that a public function runs and whether it is a bare wrapper of one.

    None where its source calls anything but generated wrappers: what such a function runs is not known.
    """
    function = inspect.unwrap(function)
    if ".gen_" in getattr(function, "__module__", ""):
        return ({wrappers[function.__name__]} if function.__name__ in wrappers else set()), True
    try:
        source = inspect.getsource(function)
    except (OSError, TypeError):
        return set(), False
    calls = [(module, name) for module, name in _CALLS.findall(source) if name not in HARMLESS]
    if not all(module.startswith("gen_") for module, _ in calls):
        return set(), False
    return {wrappers[name] for _, name in calls if name in wrappers}, False


def gpu_dtypes(op: str) -> set[str] | None:
    """The dtypes of the op's first input for which there is a GPU kernel; None for any."""
    definition = get(op)
    type_attribute = definition.input_arg[0].type_attr if definition is not None and definition.input_arg else ""
    if type_attribute != "T":
        type_attribute = ""
    allowed: set[str] = set()
    for kernel in kernels.get_registered_kernels_for_op(op).kernel:
        if kernel.device_type not in GPU_TYPES:
            continue
        own = [c for c in kernel.constraint if c.name == type_attribute]
        if not own:
            return None
        allowed |= {dtypes.as_dtype(number).name for number in own[0].allowed_values.list.type}
    return allowed


def main() -> None:
    found: dict[str, Any] = {}
    walk(tf, "", found, set())
    groups: dict[int, list[str]] = {}
    for name, value in found.items():
        groups.setdefault(id(value), []).append(name)
    wrappers = op_names()
    table: dict[str, list[str]] = {}
    for names in groups.values():
        name = min(names, key=rank)
        module, _, last = name.rpartition(".")
        value = found[name]
        if isinstance(value, type) or module not in OP_MODULES or last in NO_OPS or module.startswith("keras"):
            continue
        ops, bare = ops_of(value, wrappers)
        ops -= MEANINGLESS
        if not ops:
            continue
        known = [gpu_dtypes(op) for op in ops]
        if any(one is None for one in known):
            continue
        allowed = set().union(*(one for one in known if one is not None))
        if bare or not allowed:
            table[name] = sorted(allowed)
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        content = {"tensorflow": tf.__version__, "gpu_dtypes": dict(sorted(table.items()))}
        json.dump(content, file, indent=0)
        file.write("\n")
    print(len(table), "functions,", sum(not dtypes for dtypes in table.values()), "without any GPU kernel")


if __name__ == "__main__":
    main()
