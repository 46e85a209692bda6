"""Durations, shares and parts of the time in words."""

from __future__ import annotations

import pytest

from gpulint.probe.measures.time_words import between_steps, duration, part_name, percent


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 µs"),
        (0.00085, "850 µs"),
        (0.0798, "79.8 ms"),
        (0.99996, "1000 ms"),
        (5.42, "5.4 s"),
        (99.4, "99.4 s"),
        (200, "3 min 20 s"),
        (3599.6, "1 h 0 min"),
        (7500, "2 h 5 min"),
    ],
)
def test_a_duration_has_three_digits(seconds: float, words: str) -> None:
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("share", "words"), [(0, "0 %"), (0.0004, "< 0.1 %"), (0.008, "0.8 %"), (0.946, "94.6 %"), (1, "100 %")]
)
def test_a_share_is_a_percentage(share: float, words: str) -> None:
    assert percent(share) == words


def test_on_a_cpu_a_function_computes_where_it_launches() -> None:
    assert part_name("launch", on_gpu=True) == "Launching operations"
    assert part_name("launch", on_gpu=False) == "Running operations"


def test_time_between_steps_is_told_where_the_mean_step_would_surprise() -> None:
    assert between_steps(90.0, 100.0, 27) == "between steps 3.3 s on average"
    assert between_steps(5.0, 100.0, 27) == ""
    assert between_steps(0.0, 0.0, 0) == ""
