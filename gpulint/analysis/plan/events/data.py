"""Datasets, their batches, and loops."""

from __future__ import annotations

from dataclasses import dataclass

from gpulint.analysis.domain.context import Loop, Strategy
from gpulint.analysis.domain.values.base import Value
from gpulint.analysis.domain.values.datasets import Dataset
from gpulint.analysis.plan.events.base import Event
from gpulint.places import Site


@dataclass(eq=False, repr=False)
class DatasetBatched(Event):
    dataset: Dataset
    size: Value


@dataclass(eq=False, repr=False)
class SampleRead(Event):
    """Python calls a library function that reads a file or transforms an image, on the host. `name` is its canonical
    name."""

    name: str


@dataclass(eq=False, repr=False)
class DatasetConsumed(Event):
    """A finished pipeline is read. `how`: "fit", "evaluate" (also validation and prediction), "loop" (over which `loop`
    iterates), "next" or "elsewhere" (returned by a function that the program itself never calls)."""

    dataset: Dataset
    how: str
    loop: Site | None


@dataclass(eq=False, repr=False)
class TransformationDropped(Event):
    """The result of a dataset's method is not used. `name` is that of the method."""

    name: str


@dataclass(eq=False, repr=False)
class DatasetDistributed(Event):
    """A dataset is distributed. `how`: "experimental_distribute_dataset", "distribute_datasets_from_function" and so
    on."""

    strategy: Strategy
    dataset: Value
    how: str


@dataclass(eq=False, repr=False)
class GlobalSizeUsed(Event):
    """A size is treated as the size of the global batch: divided by the number of replicas, or passed as
    `global_batch_size` (`averages`)."""

    size: Value
    averages: bool = False


@dataclass(eq=False, repr=False)
class LoopEntered(Event):
    loop: Loop
