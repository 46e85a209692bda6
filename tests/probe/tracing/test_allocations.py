"""What held a device's memory at the peak of a window."""

from __future__ import annotations

from gpulint.probe.tracing.allocations import TOP, peaks, rows
from gpulint.probe.tracing.xspace import Allocation

PLACES = {"dense/MatMul": (0, 7), "conv/Relu": (0, 8)}


def took(address: int, size: int, in_use: int, op: str = "", temporary: bool = False) -> Allocation:
    return Allocation("GPU_0_bfc", address, address, size, in_use, op, temporary, False)


def freed(address: int, size: int, in_use: int) -> Allocation:
    return Allocation("GPU_0_bfc", address, address, size, in_use, "", False, True)


def test_what_lives_at_the_peak_counts() -> None:
    (peak,) = peaks(
        [
            took(1, 100, 1100, "dense/MatMul"),
            freed(99, 50, 1050),  # from before the window
            took(2, 40, 1090, "conv/Relu", temporary=True),
            freed(2, 40, 1050),
            took(3, 200, 1250, "step/conv/Relu"),
            took(4, 30, 1280, "gradient_tape/dense/MatMul/MatMul_1"),
            took(5, 10, 1290, "conv/Relu", temporary=True),
            took(6, 5, 1295, "adam/Square_2"),
            took(7, 60, 1355, "IteratorGetNext"),
            freed(1, 100, 1255),
        ]
    )
    assert (peak.device, peak.in_use, peak.before) == ("GPU:0", 1355, 950)
    assert rows([peak], PLACES) == [
        [
            "GPU:0",
            1355,
            950,
            [
                [0, 8, "activations", "step/conv/Relu", 200],
                [0, 7, "activations", "dense/MatMul", 100],
                [None, 0, "input", "IteratorGetNext", 60],
                [None, 0, "gradients", "gradient_tape/dense/MatMul/MatMul_1", 30],
                [0, 8, "workspace", "conv/Relu", 10],
                [None, 0, "workspace", "adam/Square_2", 5],
            ],
        ]
    ]


def test_an_address_is_used_again() -> None:
    (peak,) = peaks([took(1, 100, 100, "a"), freed(1, 100, 0), took(1, 300, 300, "b")])
    assert peak.held == {("b", "activations"): 300}


def test_each_device_has_its_own_peak_and_other_memory_none() -> None:
    found = [took(1, 100, 100, "a"), took(2, 7, 7, "b")._replace(allocator="GPU_1_bfc")]
    found += [took(3, 9, 9, "c")._replace(allocator=name) for name in ("gpu_host_bfc", "cpu", "")]
    found.append(took(4, 8, 8, "d")._replace(allocator="bfc_cpu_allocator_for_gpu"))
    assert [(one.device, one.in_use) for one in peaks(found)] == [("CPU:0", 8), ("GPU:0", 100), ("GPU:1", 7)]
    assert peaks([]) == []


def test_the_smallest_lines_are_added_up() -> None:
    number = TOP + 10
    found = [took(one, 10, 10 * (one + 1), f"op_{one}") for one in range(number)]
    ((_, in_use, before, lines),) = rows(peaks(found), {f"op_{one}": (0, one) for one in range(number)})
    assert (in_use, before, len(lines)) == (10 * number, 0, TOP + 1)
    assert lines[-1] == [None, 0, "activations", "", 100]
