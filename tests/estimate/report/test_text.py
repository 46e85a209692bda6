"""The estimate for a terminal."""

from __future__ import annotations

from gpulint.estimate.report import render
from tests.estimate.report.made import estimate


def shown(**look: int) -> list[str]:
    return render("text", estimate(), **look).splitlines()


def test_the_answer_comes_first() -> None:
    first, _, answer, *_ = shown()
    assert first == "train.py:7 train_step · batch 64 · float32 · estimated, no step was run"
    assert answer == "The step fits on H200; it does not fit on memory=8GiB."


def test_a_row_for_each_card() -> None:
    lines = shown()
    head = next(number for number, line in enumerate(lines) if line.startswith("GPU "))
    assert lines[head].split("  ")[-1].strip() == "bound by"
    h200, own = (" ".join(lines[head + number].split()) for number in (1, 2))
    assert h200 == "H200 yes 9.5 GiB 138 GiB 10 GiB 11 GiB 1,100 451 µs memory"
    assert own == "memory=8GiB no 9.5 GiB 5.7 GiB 10 GiB 11 GiB 45 64 µs launch"


def test_who_holds_the_memory() -> None:
    text = "\n".join(shown())
    assert (
        "Memory at the peak of 9.5 GiB; up to 512 MiB less if the allocator finds a chunk of the right size each time"
        in text
    )
    assert "  activations                8 GiB  " + "█" * 34 + " 84.2 %" in text
    assert "train.py:10 (dense) activations" in text
    assert "train.ipynb:cell 3:11 weights" in text
    assert "(unknown line) optimizer slots" in text
    assert "  1  Mixed precision saves 2 GiB (21 %)." in text


def test_what_bounds_the_time() -> None:
    text = "\n".join(shown())
    assert "Time of a step: lower bounds, not predictions" in text
    assert "    launch       64 µs  █" in text
    assert "Memory-bound: kernels move 2 GiB per step, which takes at least 451 µs." in text
    assert "Launch-bound: the host needs 64 µs for 2 operations; the card's speed is unknown" in text
    assert "8 GPUs: at most" in text
    assert "8 GPUs: unknown, as the speed of the link is not given" in text
    assert "Lines with the greatest bounds, on H200" in text


def test_what_is_left_out_is_reported() -> None:
    text = "\n".join(shown())
    assert "1 operation without a cost model counts nothing: FFT." in text
    assert "The program runs this step eagerly" in text
    assert (
        "one of several steps, and the only one estimated: train_generator (train.py:30) takes or applies gradients"
        in text
    )
    assert "Unknown dimensions: x[1] (state them with --shape)." in text
    assert text.endswith("Memory: liveness.")


def test_it_keeps_to_the_width() -> None:
    assert max(map(len, shown(width=80))) <= 80


def test_an_unknown_memory_is_called_unknown() -> None:
    text = render("text", estimate(with_memory=False))
    assert "The step may or may not fit on H200 and memory=8GiB." in text
    assert "Memory at the peak" not in text


def test_colors() -> None:
    assert "\x1b[" in render("text", estimate(), True)
    assert "\x1b[" not in render("text", estimate(), False)
