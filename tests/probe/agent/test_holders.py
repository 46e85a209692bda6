"""What holds memory, by device, group and line."""

from __future__ import annotations

import gc
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpulint.probe.agent.holders import FEW, GROWTH, Holder, Holders, array_bytes, group_of_tensor
from gpulint.probe.agent.writer import Writer
from gpulint.probe.capture.reader import read

WEIGHTS = Holder("GPU:0", "weights", None, "variable")
PYTHON = Holder("GPU:0", "python", ("train.py", 7), "MatMul")
OTHER = Holder("GPU:1", "python", ("train.py", 7), "MatMul")


class Owner:
    """Something that holds memory."""


def written(holders: Holders, folder: Path) -> list[Any]:
    path = folder / "capture.jsonl"
    path.write_text("")
    writer = Writer(str(path))
    writer.write("start", version=1)
    holders.write(writer)
    return sorted((one.device, one.group, one.bytes) for one in read(str(path)).holdings)


def test_the_peak_of_each_device_counts(tmp_path: Path) -> None:
    holders = Holders()
    model, first, second, apart = Owner(), Owner(), Owner(), Owner()
    holders.add(model, WEIGHTS, 100)
    holders.add(first, PYTHON, 50)
    holders.add(apart, OTHER, 7)
    del first
    holders.add(second, PYTHON, 20)
    assert written(holders, tmp_path) == [("GPU:0", "python", 50), ("GPU:0", "weights", 100), ("GPU:1", "python", 7)]


def test_the_peak_of_the_steps_counts_once_they_begin(tmp_path: Path) -> None:
    holders, model, initial = Holders(), Owner(), Owner()
    holders.add(initial, PYTHON, 300)
    del initial
    holders.add(model, WEIGHTS, 100)
    holders.begin()
    assert written(holders, tmp_path) == [("GPU:0", "weights", 100)]
    activation = Owner()
    holders.add(activation, PYTHON, 50)
    assert written(holders, tmp_path) == [("GPU:0", "python", 50), ("GPU:0", "weights", 100)]


def test_one_owner_counts_once(tmp_path: Path) -> None:
    holders, owner = Holders(), Owner()
    for _ in range(3):
        holders.add(owner, PYTHON, 50)
    assert written(holders, tmp_path) == [("GPU:0", "python", 50)]


def test_a_block_holds_as_long_as_it_runs(tmp_path: Path) -> None:
    holders, owner = Holders(), Owner()
    with holders.during(Holder("", "input", ("train.py", 9), "fit"), 500):
        pass
    with pytest.raises(ValueError, match="inside"), holders.during(PYTHON, 10):
        raise ValueError("inside")
    holders.add(owner, PYTHON, 9)
    assert written(holders, tmp_path) == [("", "input", 500), ("GPU:0", "python", 10)]


def test_a_buffer_holds_what_it_held_last(tmp_path: Path) -> None:
    holders, buffer = Holders(), Holder("CPU:0", "input", ("train.py", 5), "Shuffle")
    for size in (100, 900, 300, 0, 500):
        holders.level(buffer, size)
    assert holders._sums["CPU:0"] == 500
    assert written(holders, tmp_path) == [("CPU:0", "input", 900)]


def test_nothing_is_written_without_a_new_peak(tmp_path: Path) -> None:
    holders, owners = Holders(), [Owner() for _ in range(2)]
    holders.add(owners[0], PYTHON, 1000)
    assert written(holders, tmp_path) == [("GPU:0", "python", 1000)]
    holders.add(owners[1], PYTHON, 10)  # less than GROWTH
    assert written(holders, tmp_path) == []


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 1000)), max_size=40))
def test_the_recorded_peak_is_near_the_true_one(changes: list[tuple[int, int]]) -> None:
    holders, owners, sizes, peak = Holders(), {}, {}, 0
    for number, size in changes:
        if number in owners:
            del owners[number], sizes[number]
        else:
            owners[number], sizes[number] = Owner(), size
            holders.add(owners[number], PYTHON, size)
        peak = max(peak, sum(sizes.values()))
    recorded = sum(sum(one.values()) for one in holders._peaks.values())
    assert recorded <= peak <= GROWTH * recorded


def test_threads_may_add_and_drop() -> None:
    holders = Holders()

    def work() -> None:
        for _ in range(500):
            holders.add(Owner(), PYTHON, 1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()
    assert holders._sums == {"GPU:0": 0}


def test_arrays_are_found_in_nests() -> None:
    one = np.zeros((10, 4), np.float32)
    assert array_bytes(((one,), {"y": one, "z": [one, one]})) == 4 * 160
    assert array_bytes(("text", None, 3, [one] * (FEW + 1), object())) == 0


def test_elements_of_datasets_are_input() -> None:
    assert [group_of_tensor(op) for op in ("IteratorGetNext", "OptionalGetValue", "MatMul")] == [
        "input",
        "input",
        "python",
    ]
