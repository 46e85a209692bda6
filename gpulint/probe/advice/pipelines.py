"""The slow stages of the pipeline that a line reads, by the classes of its datasets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gpulint.probe.agent.models import DATASET
from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Transformation, Where

GENERATOR, MAP, PARALLEL_MAP, INTERLEAVE, CACHE = "generator", "map", "parallel map", "interleave", "cache"

_KINDS = {
    "MapDataset": MAP,
    "MapAndBatchDataset": PARALLEL_MAP,
    "ParallelMapDataset": PARALLEL_MAP,
    "ParallelMapDatasetV2": PARALLEL_MAP,
    "InterleaveDataset": INTERLEAVE,
    "CacheDataset": CACHE,
    "CacheDatasetV2": CACHE,
}
"""Class of a dataset, or the operation that builds it → kind of the stage."""

_FROM_GENERATOR = {"TensorDataset", "FlatMapDataset"}
"""`from_generator` flat-maps one element to those of the generator (2.16 and 2.21)."""


class Stage(NamedTuple):
    """A transformation, and the line that added it."""

    kind: str
    where: Where


def stages(capture: Capture, where: Where | None) -> list[list[Stage]]:
    """The stages of each pipeline that a line reads, in order. If it is not known, those of each pipeline of the
    program. What Keras builds around data that is no dataset is not the program's."""
    pipelines = capture.pipelines.get(where) or [one for found in capture.pipelines.values() for one in found]
    if not pipelines:
        ran = [one for one in capture.executions if one.where is not None]
        ran.sort(key=lambda one: (one.where.path, one.where.row) if one.where is not None else ("", 0))
        pipelines = [tuple(Transformation(one.op, one.where) for one in reversed(ran))]
    by_keras = {one.where for one in capture.data if one.kind != DATASET}
    return [_stages([one for one in pipeline if one.where not in by_keras]) for pipeline in pipelines]


def _stages(pipeline: Sequence[Transformation]) -> list[Stage]:
    by_line = _by_line(pipeline)
    found: list[Stage] = []
    for one in reversed(pipeline):
        kind = _KINDS.get(one.name)
        if one.name == "FlatMapDataset" and by_line[one.where] >= _FROM_GENERATOR:
            kind = GENERATOR
        if kind is not None and one.where is not None:
            found.append(Stage(kind, one.where))
    return found


def _by_line(pipeline: Iterable[Transformation]) -> dict[Where | None, set[str]]:
    names: dict[Where | None, set[str]] = defaultdict(set)
    for one in pipeline:
        names[one.where].add(one.name)
    return names
