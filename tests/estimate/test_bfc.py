"""The allocator: rounding, best fit, splitting, coalescing, regions that double, limits."""

from __future__ import annotations

import pytest

from gpulint.estimate.memory.bfc import Bfc, Exhausted, rounded

MiB = 1 << 20


@pytest.mark.parametrize(("size", "expected"), [(0, 256), (1, 256), (256, 256), (257, 512)])
def test_sizes_are_rounded_up(size: int, expected: int) -> None:
    assert rounded(size) == expected


def test_regions_double_as_memory_grows() -> None:
    allocator = Bfc()
    allocator.allocate(1)
    assert allocator.regions == 2 * MiB
    allocator.allocate(2 * MiB)
    assert allocator.regions == 2 * MiB + 4 * MiB
    allocator.allocate(30 * MiB)
    assert allocator.regions == 6 * MiB + 32 * MiB


def test_without_growth_there_is_one_region() -> None:
    allocator = Bfc(limit=64 * MiB, grows=False)
    allocator.allocate(1)
    assert allocator.regions == 64 * MiB


def test_a_chunk_less_than_twice_as_large_is_given_whole() -> None:
    allocator = Bfc(limit=64 * MiB, grows=False)
    first = allocator.allocate(19 * MiB)
    allocator.allocate(256)
    allocator.free(first)
    assert allocator.allocate(10 * MiB).size == 19 * MiB
    assert allocator.in_use == 19 * MiB + 256


def test_a_chunk_twice_as_large_is_split() -> None:
    allocator = Bfc(limit=64 * MiB, grows=False)
    first = allocator.allocate(20 * MiB)
    allocator.allocate(256)
    allocator.free(first)
    assert allocator.allocate(10 * MiB).size == 10 * MiB


def test_a_chunk_larger_by_the_greatest_fragment_is_split() -> None:
    allocator = Bfc(limit=1024 * MiB, grows=False)
    first = allocator.allocate(400 * MiB)
    allocator.allocate(256)
    allocator.free(first)
    assert allocator.allocate(272 * MiB).size == 272 * MiB


def test_free_neighbours_become_one() -> None:
    allocator = Bfc(limit=64 * MiB, grows=False)
    chunks = [allocator.allocate(16 * MiB) for _ in range(4)]
    for index in (0, 2, 1):
        allocator.free(chunks[index])
    assert allocator.in_use == 16 * MiB
    assert allocator.allocate(48 * MiB).size == 48 * MiB


def test_the_smallest_chunk_that_fits_is_taken() -> None:
    allocator = Bfc(limit=256 * MiB, grows=False)
    large = allocator.allocate(40 * MiB)
    allocator.allocate(256)
    small = allocator.allocate(30 * MiB)
    allocator.allocate(256)
    allocator.free(large)
    allocator.free(small)
    assert allocator.allocate(20 * MiB).size == 30 * MiB


@pytest.mark.parametrize("grows", [True, False])
def test_what_does_not_fit_raises(grows: bool) -> None:
    allocator = Bfc(limit=16 * MiB, grows=grows)
    allocator.allocate(10 * MiB)
    with pytest.raises(Exhausted):
        allocator.allocate(10 * MiB)


def test_the_last_region_is_what_is_left() -> None:
    allocator = Bfc(limit=13 * MiB)
    allocator.allocate(8 * MiB)
    allocator.allocate(5 * MiB)
    assert allocator.regions == 13 * MiB
