"""Write gpulint/knowledge/gpu_kernels.json from the kernel registry of the CUDA-built TensorFlow wheel.

    python scripts/generate_gpu_kernels.py gpulint/knowledge/gpu_kernels.json

No GPU is needed: kernels are registered when the library is loaded. `kernels` has a row for each kernel of each
operation that can run on a GPU: types by attribute, as numbers into `types`, and the arguments that stay in the host's
memory. Rows that differ in one attribute only are one; an operation without rows runs on the CPU only. Operations that
oneDNN puts into graphs are left out: no program names them. `first` has the first input of the operations of which it
decides where they run: the attribute that says its type, and its name.
"""

from __future__ import annotations

import json
import sys

import tensorflow as tf
from tensorflow.python.framework import dtypes, kernels, op_def_registry

from gpulint.probe.agent.simulation.kernels import Kernel, kernel_of


def joined(found: list[Kernel]) -> list[Kernel]:
    """The same kernels in fewer rows."""
    rows = list(found)
    index = 0
    while index < len(rows):
        mate = next((row for row in rows[index + 1 :] if differ_in_one(rows[index], row)), None)
        if mate is None:
            index += 1
            continue
        types = {name: rows[index].types[name] | mate.types[name] for name in mate.types}
        rows[index] = Kernel(types, mate.host)
        rows.remove(mate)
        index = 0
    return rows


def differ_in_one(one: Kernel, other: Kernel) -> bool:
    if one.host != other.host or one.types.keys() != other.types.keys():
        return False
    return sum(one.types[name] != other.types[name] for name in one.types) <= 1


def first_input(op: str, rows: list[Kernel]) -> tuple[str, str] | None:
    """Attribute and name of the first input, where every kernel says for which types of it it is."""
    definition = op_def_registry.get(op)
    first = definition.input_arg[0] if definition is not None and definition.input_arg else None
    if first is None or not rows or not all(first.type_attr in row.types for row in rows):
        return None
    return first.type_attr, first.name


def main() -> None:
    assert tf.test.is_built_with_cuda(), "this needs the CUDA-built wheel"
    found: dict[str, list[Kernel]] = {}
    entries = kernels.get_all_registered_kernels().kernel
    for entry in sorted(entries, key=lambda one: (one.op, one.device_type != "GPU")):
        if entry.op.lstrip("_").startswith("Mkl"):
            continue
        rows = found.setdefault(entry.op, [])
        kernel = kernel_of(entry, lambda number: str(dtypes.as_dtype(number).name))
        if kernel is not None and kernel not in rows:
            rows.append(kernel)
    found = {op: joined(rows) for op, rows in found.items()}
    sets = sorted({types for rows in found.values() for row in rows for types in row.types.values()}, key=sorted)
    table = {
        op: [[{name: sets.index(types) for name, types in sorted(row.types.items())}, sorted(row.host)] for row in rows]
        for op, rows in sorted(found.items())
    }
    inputs = {op: first_input(op, rows) for op, rows in sorted(found.items())}
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        rows = ",\n".join(f"{json.dumps(op)}: {json.dumps(row, separators=(',', ':'))}" for op, row in table.items())
        lists = ",\n".join(json.dumps(" ".join(sorted(types))) for types in sets)
        firsts = ",\n".join(f"{json.dumps(op)}: {json.dumps(first)}" for op, first in inputs.items() if first)
        head = f'"tensorflow": "{tf.__version__}",\n"types": [\n{lists}\n]'
        file.write(f'{{\n{head},\n"first": {{\n{firsts}\n}},\n"kernels": {{\n{rows}\n}}\n}}\n')


if __name__ == "__main__":
    main()
