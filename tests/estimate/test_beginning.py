"""Memory before the first step: what initializers leave."""

from __future__ import annotations

from gpulint.estimate.graph import Group, StepGraph, Tensor
from gpulint.estimate.memory.beginning import initialized
from gpulint.estimate.memory.bfc import Bfc
from tests.estimate.made import Graph

MiB = 1 << 20


def step(*variables: tuple[int, Group, int], device: str = "GPU:0") -> StepGraph:
    """A step of variables with bytes, group and rank."""
    graph = Graph()
    for size, group, rank in variables:
        graph.variable(Tensor("float32", (size // 4, *[1] * (rank - 1))), device, group)
    return graph.step()


def test_random_numbers_are_computed_in_memory_of_their_own() -> None:
    allocator = Bfc()
    (_, chunk), *_ = initialized(step((16 * MiB, "weights", 2)), "GPU:0", allocator)
    assert chunk.size == allocator.in_use == 16 * MiB
    assert allocator.regions == (2 + 16 + 16 + 32) * MiB  # as a Dense network on an H200


def test_vectors_and_slots_are_filled_in_place() -> None:
    for one in step((16 * MiB, "weights", 1)), step((16 * MiB, "slots", 2)):
        allocator = Bfc()
        list(initialized(one, "GPU:0", allocator))
        assert allocator.regions == (2 + 16) * MiB


def test_weights_take_the_memory_that_earlier_initializers_freed() -> None:
    allocator = Bfc()
    slots: tuple[int, Group, int] = (16 * MiB, "slots", 2)
    list(initialized(step((16 * MiB, "weights", 2), slots, slots), "GPU:0", allocator))
    assert allocator.in_use == 48 * MiB
    assert allocator.regions == (2 + 16 + 16 + 32) * MiB


def test_variables_of_another_device_are_elsewhere() -> None:
    allocator = Bfc()
    assert not list(initialized(step((MiB, "weights", 2), device="GPU:1"), "GPU:0", allocator))
    assert allocator.in_use == 0
