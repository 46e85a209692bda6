"""The stages of the program's tf.data pipelines, from the operations that built them."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Where

GENERATOR, MAP, PARALLEL_MAP, INTERLEAVE, CACHE = "generator", "map", "parallel map", "interleave", "cache"

_OPERATIONS = {
    "MapDataset": MAP,
    "MapAndBatchDataset": PARALLEL_MAP,
    "ParallelMapDataset": PARALLEL_MAP,
    "ParallelMapDatasetV2": PARALLEL_MAP,
    "InterleaveDataset": INTERLEAVE,
    "CacheDataset": CACHE,
    "CacheDatasetV2": CACHE,
}

_FROM_GENERATOR = {"TensorDataset", "FlatMapDataset"}
"""`from_generator` flat-maps one element to those of the generator (2.16 and 2.21)."""


class Stage(NamedTuple):
    """A transformation, and the line that added it."""

    kind: str
    where: Where


def stages(capture: Capture) -> list[Stage]:
    """In the order of the lines. What Keras builds around data that is no dataset is not the program's."""
    by_keras = {one.where for one in capture.data}
    operations: dict[Where, set[str]] = defaultdict(set)
    for ran in capture.executions:
        if ran.where is not None and ran.where not in by_keras:
            operations[ran.where].add(ran.op)
    found = [Stage(GENERATOR, where) for where, ops in operations.items() if ops >= _FROM_GENERATOR]
    found += [
        Stage(_OPERATIONS[op], where) for where, ops in operations.items() for op in sorted(ops) if op in _OPERATIONS
    ]
    return sorted(found, key=lambda one: (one.where.path, one.where.cell or 0, one.where.row))
