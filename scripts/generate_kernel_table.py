"""Write gpulint/knowledge/kernels.json from the kernel registry of the CUDA-built TensorFlow wheel.

    python scripts/generate_kernel_table.py gpulint/knowledge/kernels.json

No GPU is needed: kernels are registered when the library is loaded. A public function is listed when each way through
it (read off its source and the sources of what it calls) runs an op that has no GPU kernel at all, or, for bare
wrappers, when their op has one only for some dtypes of the first input. What is known of ops themselves is in
gpu_kernels.json.
"""

from __future__ import annotations

import inspect
import json
import sys
from typing import Any

import tensorflow as tf
from called_operations import Called, operation
from generate_api_table import NO_OPS, OP_MODULES, rank, walk
from tensorflow.python.framework import dtypes, kernels
from tensorflow.python.framework.op_def_registry import get

GPU_TYPES = ("GPU", "DEFAULT")

MEANINGLESS = frozenset(
    ["print", "timestamp", "py_func", "EagerPyFunc", "Assert", "Print", "Identity", "IdentityN", "Const"]
)
"""Ops whose place says nothing of where the work is done."""

HEAVY = frozenset(["MatMul", "BatchMatMulV2", "BatchMatMulV3", "SparseMatMul", "Einsum", "Conv2D"])
"""Ops beside which one without a GPU kernel is not the work of a function."""


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
    called = Called(lambda op: op not in MEANINGLESS and gpu_dtypes(op) == set())
    table: dict[str, list[str]] = {}
    for names in groups.values():
        name = min(names, key=rank)
        module, _, last = name.rpartition(".")
        value = found[name]
        if isinstance(value, type) or module not in OP_MODULES or last in NO_OPS or module.startswith("keras"):
            continue
        op = operation(inspect.unwrap(value))
        allowed = gpu_dtypes(op) if op is not None and op not in MEANINGLESS else None
        if allowed is not None:
            table[name] = sorted(allowed)
        elif called.certain(value) and called.possible(value).isdisjoint(HEAVY):
            table[name] = []
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        content = {"tensorflow": tf.__version__, "gpu_dtypes": dict(sorted(table.items()))}
        json.dump(content, file, indent=0)
        file.write("\n")
    print(len(table), "functions,", sum(not dtypes for dtypes in table.values()), "without any GPU kernel")


if __name__ == "__main__":
    main()
