"""The states of the training thread, without TensorFlow."""

from __future__ import annotations

import gc
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from gpulint.probe.agent.garbage import GARBAGE, Garbage
from gpulint.probe.agent.inputs import CLOSE, Inputs, _Call, _Inside
from gpulint.probe.agent.states import CHECKPOINT, INPUT, LAUNCH, PYTHON, STATES, TRACE, States
from gpulint.probe.agent.writer import Writer
from gpulint.probe.capture.reader import read
from gpulint.probe.capture.records import Where
from gpulint.probe.measures.time_spent import time_spent

LINE = ("train.py", 7)


def records(states: States, path: Path) -> list[dict[str, object]]:
    writer = Writer(str(path))
    writer.write("start", version=1)
    states.write(writer)
    writer.close()
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_states_of_a_step_add_up_to_its_time(tmp_path: Path) -> None:
    states = States()
    states.stepped(0)
    for number in range(5):
        states.enter(INPUT, LINE, "next")
        states.leave()
        states.enter(LAUNCH, LINE, "step")
        states.enter(TRACE, LINE, "step")
        time.sleep(0.001)
        states.leave()
        states.stepped(3 * number)
        states.leave()
    time.sleep(0.001)
    states.close()
    capture_path = tmp_path / "run.jsonl"
    records(states, capture_path)
    capture = read(str(capture_path))
    assert sum(one.steps for one in capture.segments) == 5
    for one in capture.segments:
        assert sum(one.seconds.values()) == pytest.approx(one.ended - one.began, abs=1e-4)
    found = time_spent(capture)
    assert found is not None
    assert found.seconds_of("trace") >= 0.005
    assert found.seconds_of("other") < 1e-4


def test_a_read_within_a_read_and_what_a_save_reads_and_runs_are_one_piece_of_work(tmp_path: Path) -> None:
    states = States()
    states.stepped(0)
    states.enter(PYTHON, LINE, "read")
    states.enter(PYTHON, LINE, "read")
    states.leave()
    states.leave()
    states.enter(CHECKPOINT, LINE, "Model.save")
    assert not states.enter(PYTHON, LINE, "read")
    assert not states.enter(LAUNCH, LINE, "step")
    states.leave()
    states.stepped(0)
    states.close()
    capture_path = tmp_path / "run.jsonl"
    records(states, capture_path)
    done = {(one.state, one.detail): one.times for segment in read(str(capture_path)).segments for one in segment.work}
    assert done[("python", "read")] == 1
    assert done[("checkpoint", "Model.save")] == 1
    assert ("launch", "step") not in done


def test_nothing_is_counted_before_the_first_step(tmp_path: Path) -> None:
    states = States()
    states.enter(TRACE, LINE, "step")
    time.sleep(0.002)
    states.leave()
    states.moves(LINE, INPUT, "next", 0.0, 1.0, 1.0)
    states.stepped(0)
    states.stepped(0)
    states.close()
    found = [one for one in records(states, tmp_path / "run.jsonl") if one["kind"] in ("time", "inside")]
    assert all(one["kind"] == "time" and "trace" not in str(one["work"]) for one in found)


def test_what_was_done_until_the_first_step_ended_is_apart(tmp_path: Path) -> None:
    states = States()
    states.enter(TRACE, LINE, "step")
    time.sleep(0.002)
    states.leave()
    states.stepped(0)
    time.sleep(0.001)
    states.stepped(0)
    states.close()
    records(states, tmp_path / "run.jsonl")
    found = time_spent(read(str(tmp_path / "run.jsonl")))
    assert found is not None
    assert found.first is not None
    assert found.first.seconds_of("trace") >= 0.002
    assert [(one.name, one.where, one.detail) for one in found.first.by_line[:1]] == [("trace", Where(*LINE), "step")]
    assert sum(one.seconds for one in found.first.parts) == pytest.approx(found.first.seconds, abs=1e-4)
    assert found.seconds_of("trace") == 0


def test_python_is_counted_in_the_thread_that_trains(tmp_path: Path) -> None:
    states = States()
    states.enter(LAUNCH, LINE, "prepare")
    states.leave()

    def train() -> None:
        states.stepped(0)
        time.sleep(0.01)
        states.stepped(0)
        states.close()

    thread = threading.Thread(target=train)
    thread.start()
    thread.join()
    records(states, tmp_path / "run.jsonl")
    found = time_spent(read(str(tmp_path / "run.jsonl")))
    assert found is not None
    assert found.seconds_of("python") >= 0.01


def test_other_threads_have_no_states() -> None:
    states = States()
    entered: list[bool] = []
    thread = threading.Thread(target=lambda: entered.append(states.enter(PYTHON)))
    thread.start()
    thread.join()
    assert entered == [False]


def test_the_thread_that_takes_the_first_step_is_the_one_that_counts() -> None:
    states = States()

    def train() -> None:
        states.stepped(0)
        assert states.is_here

    thread = threading.Thread(target=train)
    thread.start()
    thread.join()
    assert not states.is_here
    states.stepped(0)  # evaluates beside it
    assert not states.is_here


# ------------------------------------------------------------------ waits inside functions


def inside(*calls: tuple[float, float]) -> _Inside:
    one = _Inside(threading.Event(), LINE)
    for began, ended in calls:
        call = _Call(began)
        call.ended = ended
        one.calls.append(call)
    return one


def waits(rows: list[tuple[float, float, float, int]]) -> list[float]:
    return [round(row[2], 6) for row in rows]


def test_the_wait_of_a_call_is_what_the_gap_leaves() -> None:
    one = inside((0, 0.9), (1, 1.9), (2, 2.9))
    assert waits(one.settle(3, [400_000, 100_000], False)) == [0.6, 0.9]
    assert [call.began for call in one.calls] == [2]
    one.calls += inside((3, 3.5), (4, 0)).calls  # nothing was left in the last
    assert waits(one.settle(4, [400_000, 100_000, 300_000, 500_000], True)) == [0.7, 0.5]


def test_the_wait_of_the_last_call_is_estimated() -> None:
    one = inside((0, 0.9), (1, 1.9), (2, 2.8))
    assert waits(one.settle(3, [400_000, 400_000], True)) == [0.6, 0.6, 0.5]


def test_a_call_may_read_several_elements() -> None:
    one = inside((0, 0.9), (1, 1.9), (2, 2.9))
    assert waits(one.settle(6, [100_000, 200_000, 100_000, 300_000, 100_000], False)) == [0.7, 0.6]
    assert one.each == 2


def test_a_gap_of_more_than_ten_seconds_is_not_remembered() -> None:
    one = inside((0, 0.9), (1, 12.9), (13, 13.9), (14, 14.9))  # the second call compiles for 11.9 s
    assert waits(one.settle(4, [400_000, 300_000], False)) == [0.6, 0, 0.7]


def test_only_the_last_hundred_gaps_are_remembered() -> None:
    one = inside(*((number, number + 0.9) for number in range(64)))
    gaps = [100_000 + number for number in range(63)]
    assert len(one.settle(64, gaps, False)) == 63
    one.calls += inside(*((number, number + 0.9) for number in range(64, 128))).calls
    gaps = [*gaps, *(300_000 + number for number in range(64))][-100:]
    assert waits(one.settle(128, gaps, False)) == [round(0.7 - number / 1e6, 6) for number in range(64)]


def test_a_loop_that_is_left_early_waits_on_average() -> None:
    one = inside((0, 0.9), (1, 1.9), (2, 2.9))
    ((began, ended, waited, elements),) = one.settle(4, [100_000, 100_000, 100_000], False)
    assert (began, ended, elements) == (0, 2, 3)
    assert waited == pytest.approx(1.7)


def test_a_first_run_has_no_known_wait() -> None:
    one = inside((0, 0.9), (1, 1.9))
    one.calls[0].is_first = True
    assert waits(one.settle(2, [100_000], False)) == [0]


class Pipelines:
    """In place of the iterators that a program has deleted."""

    ended = 0
    ended_at: tuple[str, int] | None = None


class Cycle:
    """Only the garbage collector deletes it."""

    def __init__(self, on_delete: Callable[[], None]) -> None:
        self.itself, self.on_delete = self, on_delete

    def __del__(self) -> None:
        time.sleep(0.02)
        self.on_delete()


@pytest.mark.parametrize("ends_pipeline", [False, True])
@pytest.mark.parametrize("state", [LAUNCH, TRACE])
def test_a_garbage_collection_is_distinguished_from_what_it_interrupts(
    state: int, ends_pipeline: bool, tmp_path: Path
) -> None:
    states, pipelines = States(), Pipelines()
    garbage = Garbage(states, cast("Inputs", pipelines))

    def ended() -> None:
        pipelines.ended += ends_pipeline
        pipelines.ended_at = LINE

    garbage.watch()
    try:
        gc.collect()
        states.stepped(0)
        states.enter(state, LINE, "step")
        Cycle(ended)
        gc.collect()
        states.leave()
        states.stepped(0)
        states.close()
    finally:
        garbage.forget()
    (row,) = [one for one in records(states, tmp_path / "run.jsonl") if one["kind"] == "time" and one["steps"]]
    work = {(one[2], one[3]): one[4] for one in cast("list[list[Any]]", row["work"])}
    kind = ("input", CLOSE) if ends_pipeline else (STATES[PYTHON if state == LAUNCH else state], GARBAGE)
    assert work[kind] >= 0.02
    assert work[STATES[state], "step"] < 0.02
    seconds = cast("dict[str, float]", row["seconds"])
    assert sum(seconds.values()) == pytest.approx(cast("float", row["ended"]) - cast("float", row["began"]), abs=1e-4)


def test_a_garbage_collection_while_a_step_is_added_up_changes_no_state() -> None:
    states = States()
    states._is_adding_up = True
    assert not states.enter(PYTHON)


def test_what_a_collection_interrupted_has_no_negative_time() -> None:
    states = States()
    states.stepped(0)
    before = states.since
    states._account(states._stack[-1], before - 1.0)
    assert states.since == before
