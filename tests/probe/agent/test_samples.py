"""Looking at the stacks of threads changes nothing in the program that is looked at."""

from __future__ import annotations

import gc
import json
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpulint.probe.agent.guard import Guard
from gpulint.probe.agent.places import Places
from gpulint.probe.agent.position import Position
from gpulint.probe.agent.samples import Samples
from gpulint.probe.agent.states import INPUT, LAUNCH, PYTHON, States
from gpulint.probe.agent.writer import Writer


class Tensor:
    """What a frame of the program holds."""


@pytest.fixture(autouse=True)
def _uncollected() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


def failed(where: str, error: BaseException) -> None:
    raise AssertionError(where) from error


@pytest.mark.parametrize("state", [INPUT, LAUNCH, PYTHON])
def test_a_sample_keeps_nothing_of_the_frames_it_saw(state: int) -> None:
    states = States()
    samples = Samples(Places(), states, Guard(failed))
    if state != PYTHON:
        states.enter(state, None, "")
    look = threading.Thread(target=samples._look)

    def work() -> weakref.ref[Tensor]:
        held = Tensor()
        look.start()
        look.join()
        return weakref.ref(held)

    assert work()() is None


def test_the_position_keeps_nothing_of_the_frames_it_saw(tmp_path: Path) -> None:
    writer, position = Writer(str(tmp_path / "run.jsonl")), Position(Places())

    def work() -> weakref.ref[Tensor]:
        held = Tensor()
        position.write(writer)
        return weakref.ref(held)

    kept = work()
    writer.close()
    assert kept() is None


def test_samples_tell_in_how_many_steps_a_line_ran(tmp_path: Path) -> None:
    states = States()
    samples = Samples(Places(), states, Guard(failed))
    for count in (1, 3, 2):
        states.stepped(0)
        for _ in range(count):
            samples._sample()
    states.stepped(0)
    writer = Writer(str(tmp_path / "capture.jsonl"))
    samples.write(writer)
    writer.close()
    records = map(json.loads, (tmp_path / "capture.jsonl").read_text().splitlines())
    (record,) = (one for one in records if one["kind"] == "samples")
    assert [row[-2:] for row in record["rows"]] == [[6, 3]]


def test_what_other_threads_run_is_seen_while_the_training_thread_waits_for_them(tmp_path: Path) -> None:
    states = States()
    states.stepped(0)
    samples = Samples(Places(), states, Guard(failed))
    looked: list[bool] = []
    is_ready = threading.Event()

    def busy() -> None:
        is_ready.set()
        while not looked:
            pass

    def look() -> None:
        is_ready.wait()
        samples._look()
        looked.append(True)

    threads = [threading.Thread(target=one) for one in (busy, look)]
    for one in threads:
        one.start()
    threads[0].join()
    threads[1].join()
    states.stepped(0)
    writer = Writer(str(tmp_path / "run.jsonl"))
    samples.write(writer)
    writer.close()
    rows = [
        row for line in (tmp_path / "run.jsonl").read_text().splitlines() for row in json.loads(line).get("rows", ())
    ]
    first = busy.__code__.co_firstlineno
    assert [row[1] for row in rows if row[4] == "outside" and row[2] == "python"]
    assert all(first < row[1] <= first + 3 for row in rows if row[4] == "outside")
