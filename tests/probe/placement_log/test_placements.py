"""Counts of placements."""

from __future__ import annotations

import pytest

from gpulint.probe.placement_log.counts import Placements, short_device
from gpulint.probe.placement_log.records import Execution, Hint, Placement
from tests.probe.placement_log.logs import RECORDINGS, parse

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("/job:localhost/replica:0/task:0/device:GPU:12", "GPU:12"),
        ("/job:localhost/replica:0/task:0/gpu:1", "GPU:1"),
        ("/gpu:0", "GPU:0"),
        ("/cpu:0", "CPU:0"),
        ("/device:GPU:1", "GPU:1"),
        ("/job:localhost/replica:0/task:0/device:XLA_CPU:0", "XLA_CPU:0"),
        ("/job:worker/replica:0/task:1/device:GPU:0", "/job:worker/task:1/GPU:0"),
        ("/job:ps/replica:0/task:0/cpu:0", "/job:ps/task:0/CPU:0"),
        ("nonsense", "nonsense"),
    ],
)
def test_every_spelling_of_a_device_has_one_name(name: str, short: str) -> None:
    assert short_device(name) == short


def test_places_are_counted_by_op_and_by_node() -> None:
    sums = Placements()
    sums.add([Placement("x", "Add", CPU), Placement("x", "Add", "/cpu:0"), Placement("y", "", CPU, whole=False)])
    sums.add([Execution("MatMul", CPU), Hint("driver", "failed call to cuInit")])
    assert sums.placed == {("Add", "CPU:0"): 2, ("", "CPU:0"): 1}
    assert sums.ran == {("MatMul", "CPU:0"): 1}
    assert sums.nodes == {"x": {("Add", "CPU:0"): 2}}
    assert sums.devices == {"CPU:0": 4}


def test_memory_goes_with_what_is_distinct() -> None:
    sums = Placements()
    for _ in range(20):
        sums.add(parse(RECORDINGS["2.21-mirrored.stdout"]).records)
    nodes, places = len(sums.nodes), len(sums.placed)
    sums.add(parse(RECORDINGS["2.21-mirrored.stdout"]).records)
    assert (len(sums.nodes), len(sums.placed)) == (nodes, places)
    assert set(sums.devices) == {"CPU:0", "CPU:1"}
