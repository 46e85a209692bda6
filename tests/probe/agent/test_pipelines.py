"""Lines of the stages of a dataset."""

from __future__ import annotations

import pytest

from gpulint.probe.agent.guard import Guard
from gpulint.probe.agent.hooks import Hooks
from gpulint.probe.agent.pipelines import Pipelines
from gpulint.probe.agent.places import Places
from gpulint.probe.agent.writer import Writer


class Dataset:
    def __init__(self, *inputs: Dataset) -> None:
        self._read = inputs

    def _inputs(self) -> list[Dataset]:
        return list(self._read)


class _ShuffleDataset(Dataset): ...


class _ParallelMapDataset(Dataset): ...


class CacheDataset(Dataset): ...


@pytest.fixture
def pipelines(tmp_path: object) -> Pipelines:
    fault = Guard(lambda where, error: pytest.fail(f"{where}: {error}"))
    return Pipelines(Writer(f"{tmp_path}/capture.jsonl"), Places(), Hooks(), fault)


def test_a_stage_is_found_by_its_name_in_the_model(pipelines: Pipelines) -> None:
    mapped = _ParallelMapDataset(Dataset())
    shuffled = _ShuffleDataset(mapped)
    cached = CacheDataset(shuffled)
    pipelines._made.update({mapped: ("a.py", 1), shuffled: ("a.py", 2), cached: ("a.py", 3)})
    found = [pipelines.place_of(cached, name) for name in ("ParallelMapV2", "Shuffle", "MemoryCacheImpl", "BatchV2")]
    assert found == [("a.py", 1), ("a.py", 2), ("a.py", 3), None]
