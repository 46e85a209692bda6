"""Calls in which XLA compiles, by what they take; without TensorFlow."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gpulint.probe.agent import tracing
from gpulint.probe.agent.guard import Guard
from gpulint.probe.agent.places import Places
from gpulint.probe.agent.states import States
from gpulint.probe.agent.tracing import BUSY, Tracings
from gpulint.probe.agent.writer import Writer

FIT = ("train.py", 9)


class Clock:
    """Time that passes in calls only. `share`: how much of it the process computes."""

    computed, share = 0.0, 1.0

    def __init__(self) -> None:
        self.began = self.now = time.perf_counter() + 100

    def perf_counter(self) -> float:
        return self.now

    def process_time(self) -> float:
        return self.computed

    def passes(self, seconds: float) -> None:
        self.now += seconds
        self.computed += self.share * seconds


def failed(where: str, error: BaseException) -> None:
    raise AssertionError(where) from error


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(tracing, "time", found)
    return found


@dataclass
class Tensor:
    shape: tuple[int | None, ...]


@dataclass
class Elements:
    element_spec: tuple[Tensor, ...]


def of_calls(clock: Clock, path: Path, *calls: float, arguments: tuple[Any, ...] = ()) -> tuple[list[Any], States]:
    """The row of a function with a compiled one inside, of calls that take so many seconds."""
    states = States()
    states.stepped(0)
    tracings = Tracings(Places(), states, Guard(failed), compiled=())
    tracings.containing.add("fit")
    for seconds in calls:
        tracings.began("fit", FIT, arguments)
        clock.passes(seconds)
        tracings.ended("fit", FIT, arguments)
    writer = Writer(str(path))
    tracings.write(writer)
    writer.close()
    rows = [row for line in path.read_text().splitlines() for row in json.loads(line).get("rows", ())]
    return (rows[0] if rows else []), states


def test_a_call_that_takes_much_longer_than_usual_has_compiled(clock: Clock, tmp_path: Path) -> None:
    row, _ = of_calls(clock, tmp_path / "c.jsonl", *[0.01] * 5, 2.01, *[0.01] * 5)
    assert row[3:6] == ["xla", 1, 2.0]


def test_calls_that_compile_one_after_the_other_are_recognised_by_those_that_follow(
    clock: Clock, tmp_path: Path
) -> None:
    """Batches of new shapes come first: until then, what a compilation takes is usual."""
    row, states = of_calls(clock, tmp_path / "c.jsonl", *[2.01] * 12, *[0.01] * 24)
    assert row[3:6] == ["xla", 12, 24.0]
    moved = [one for one in states._moved if one.detail == "fit"]
    assert [one.began for one in moved] == pytest.approx([clock.began + 2.01 * number for number in range(12)])


@pytest.mark.parametrize("share", [1.0, 0.01])
def test_a_function_that_is_always_slow_or_waits_compiles_nothing(clock: Clock, tmp_path: Path, share: float) -> None:
    clock.share = share
    slow = [0.01] * 24 if share < BUSY else [2.0] * 24
    row, _ = of_calls(clock, tmp_path / "c.jsonl", *[2.0] * 12, *slow)
    assert row == []


@pytest.mark.parametrize(
    ("shape", "times"), [((32, 8), 0), ((None, 8), 1), ((None, None), 4)], ids=["fixed", "open batch", "open length"]
)
def test_calls_slow_down_on_a_busy_machine(
    clock: Clock, tmp_path: Path, shape: tuple[int | None, ...], times: int
) -> None:
    """There are no more compilations than the elements of the iterator can have new shapes."""
    elements = Elements((Tensor(shape),))
    row, _ = of_calls(clock, tmp_path / "c.jsonl", *[0.01] * 5, *[0.2] * 4, *[0.01] * 5, arguments=(elements,))
    assert (row[4] if row else 0) == times


def test_xla_compiles_a_function_only_for_shapes_that_it_has_not_seen(clock: Clock, tmp_path: Path) -> None:
    """Its first shape is new, too, since no trace is seen here."""
    path = tmp_path / "c.jsonl"
    states = States()
    states.stepped(0)
    tracings = Tracings(Places(), states, Guard(failed), compiled={"step"})
    tracings.containing.add("step")
    for length, seconds in ((8, 0.01), (8, 0.01), (8, 0.01), (8, 2.0), (9, 1.0), (9, 0.01), (8, 2.0)):
        tracings.began("step", FIT, ())
        clock.passes(seconds)
        tracings.ended("step", FIT, (Tensor((length,)),))
    writer = Writer(str(path))
    tracings.write(writer)
    writer.close()
    rows = [row for line in path.read_text().splitlines() for row in json.loads(line).get("rows", ())]
    assert [row[4:7] for row in rows] == [[2, pytest.approx(1.0), ["(8,)", "(9,)"]]]
