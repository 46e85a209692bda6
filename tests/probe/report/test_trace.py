"""The trace of a run, read by Perfetto's trace processor."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import (
    Call,
    Card,
    Copy,
    Execution,
    Function,
    Happened,
    Sample,
    Segment,
    Steps,
    Strategy,
    TakenStep,
    Variable,
    Where,
)
from gpulint.probe.report import RunReport
from gpulint.probe.report.trace import render
from tests.cli.test_probe import probe
from tests.probe.report.trace_processor import Query, loaded

HOSTILE = 'a"\\ \x1b[31m\x00é<b>\u2028\udcff'
ROW = Where("/p/train.py", 7)
STEP = Steps("step", ROW, 0, 0.0, 0.0)
FUNCTION = Function("step", ROW, 3, False, "GPU:0", made=1)
COPY = Copy("_Send", "GPU:0", "GPU:1", ROW, "MatMul", "GPU:1", 4096, True, True)


def ran(**fields: Any) -> Capture:
    """Two GPUs on two cards, three traces, six steps of which three are recorded as a sum, copies."""
    return Capture(
        start={"t": 100.0, "command": ["python", "train.py", HOSTILE]},
        end={"seconds": 20.0, "status": 1},
        process={"pid": 7},
        tensorflow={"tensorflow": "2.21.0"},
        error=f"ValueError: {HOSTILE}",
        logical=("CPU:0", "GPU:0", "GPU:1"),
        executions=Counter({Execution(ROW, "MatMul", "", "GPU:0"): 12}),
        variables=[Variable("v", (4,), "float32", 16, "GPU:1", ROW)],
        phases=[(101.0, "build"), (104.0, "warm-up"), (106.0, "steps")],
        memory=[Sample(101.0 + t, "steps", {"GPU:0": (t, 2 * t), "GPU:1": (5, 5), "CPU:0": (1, 1)}) for t in range(4)],
        resident=[(101.0, 1 << 30), (110.0, 2 << 30)],
        cards=[Card(105.0, "0000:80:00.0", "Tesla K80", 11 << 30, 9 << 30, 8 << 30, 0, 50)],
        timeline=[
            Happened(
                102.0, Call("tf.config.set_soft_device_placement", {"0": "True", "x": HOSTILE}, "E: no", ROW), 1, 0.5
            ),
            Happened(103.0, Strategy(1, "MirroredStrategy", ("GPU:0", "GPU:1"), 2, ROW)),
            *(Happened(t, FUNCTION) for t in (104.0, 105.0, 106.0)),
            *(Happened(104.0 + t, STEP, 1, t and 1.0) for t in range(3)),
            Happened(110.0, STEP, 3, 3.0),
            Happened(111.0, COPY, 2),
            Happened(111.0, Copy("EagerCopy", "CPU:0", "GPU:1"), 40),
            Happened(112.0, Copy("_Send", "/job:worker/task:1/GPU:0", "GPU:0"), 1),
        ],
        **fields,
    )


def written(tmp_path: Path, capture: Capture) -> Path:
    path = tmp_path / "run.trace.json"
    path.write_text(render(RunReport(capture, [], 0)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def query(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Query]:
    """The trace of `ran()`, loaded once: the trace processor takes a second to start."""
    with loaded(written(tmp_path_factory.mktemp("trace"), ran())) as query:
        yield query


def slices(query: Query, where: str = "true") -> list[tuple[Any, ...]]:
    """(process, thread, name, begin in ms, duration in ms), in order."""
    return query(
        "select process.name as process, thread.name as thread, slice.name as name, round(slice.ts / 1e6, 3) as begin, "
        "round(slice.dur / 1e6, 3) as length from slice join thread_track on slice.track_id = thread_track.id "
        f"join thread using (utid) join process using (upid) where {where} order by slice.ts, slice.dur desc"
    )


def test_perfetto_has_a_process_for_the_program_and_each_device_and_card(query: Query) -> None:
    names = [name for (name,) in query("select name from process where pid > 0 order by pid")]
    assert names[0].startswith('program: python train.py a"\\ ')
    assert names[1:] == ["CPU:0", "GPU:0", "GPU:1", "card 0000:80:00.0", "/job:worker/task:1/GPU:0"]
    assert query("select name, value from stats where severity != 'info' and value > 0") == []


def test_perfetto_has_the_phases_steps_calls_traces_and_the_end(query: Query) -> None:
    drawn = slices(query, "process.pid = 1")
    by_thread: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for _, thread, *rest in drawn:
        by_thread[thread].append(tuple(rest))
    assert by_thread["phases"] == [
        ("build", 1000.0, 3000.0),
        ("warm-up", 4000.0, 2000.0),
        ("steps", 6000.0, 14000.0),
        ("the program ended", 20000.0, 0.0),
    ]
    assert sorted(by_thread["steps of step at /p/train.py:7"]) == [
        ("3 × step", 7000.0, 3000.0),
        ("step", 4000.0, 0.0),
        ("step", 4000.0, 1000.0),
        ("step", 5000.0, 1000.0),
    ]
    assert by_thread["configuration"] == [
        ("tf.config.set_soft_device_placement", 1500.0, 500.0),
        ("MirroredStrategy of 2", 3000.0, 0.0),
    ]
    assert by_thread["traces of functions"] == [
        ("trace of step", 4000.0, 0.0),
        ("retrace of step", 5000.0, 0.0),
        ("retrace of step", 6000.0, 0.0),
    ]


def test_perfetto_has_the_parts_of_each_step(tmp_path: Path) -> None:
    steps = [TakenStep(105.0 + n, {"input": 0.25, "launch": 0.5, "python": 0.25}, 0) for n in range(2)]
    segments = [Segment(0, 104.0, 106.0, 2, {"input": 0.5, "launch": 1.0, "python": 0.5}, 0, ())]
    capture = ran(steps_taken=steps, segments=segments)
    path = tmp_path / "run.trace.json"
    path.write_text(render(RunReport.of(capture, [], 0)), encoding="utf-8")
    with loaded(path) as query:
        drawn = slices(query, "thread.name = 'where the time of steps went'")
    assert [one[2:] for one in drawn] == [
        ("python", 4000.0, 250.0),
        ("input", 4250.0, 250.0),
        ("launch", 4500.0, 500.0),
        ("python", 5000.0, 250.0),
        ("input", 5250.0, 250.0),
        ("launch", 5500.0, 500.0),
    ]


def test_perfetto_has_what_each_element_is_about(query: Query) -> None:
    rows = query(
        "select slice.name as name, args.key as key, args.display_value as value from slice "
        "join args using (arg_set_id) "
        "where slice.name like 'tf.config%' or slice.name like 'to GPU:1 for 2%' or slice.name like '%step'"
    )
    about = {(name, key.removeprefix("args.")): value for name, key, value in rows}
    call, copy = "tf.config.set_soft_device_placement", "to GPU:1 for 2 × MatMul"
    assert about[call, "where"] == "/p/train.py:7"
    assert about[call, "arguments"].startswith('True, x=a"\\ ')
    assert about[call, "error"] == "E: no"
    assert about["3 × step", "step"] == "6"
    assert about["trace of step", "trace"] == "1"
    assert about[copy, "bytes"] == "4096"
    assert about[copy, "in each training step"] == "true"


def test_perfetto_has_arrows_from_device_to_device(query: Query) -> None:
    ends = query(
        "select a.name as source, b.name as target, pa.name as here, pb.name as there from flow "
        "join slice a on flow.slice_out = a.id join slice b on flow.slice_in = b.id "
        "join thread_track ta on a.track_id = ta.id join thread tha on ta.utid = tha.utid "
        "join process pa on tha.upid = pa.upid "
        "join thread_track tb on b.track_id = tb.id join thread thb on tb.utid = thb.utid "
        "join process pb on thb.upid = pb.upid order by a.ts, a.name"
    )
    assert sorted(ends) == [
        ("to GPU:0 for 1 × _Send", "from /job:worker/task:1/GPU:0 for 1 × _Send", "/job:worker/task:1/GPU:0", "GPU:0"),
        ("to GPU:1 for 2 × MatMul", "from GPU:0 for 2 × MatMul", "GPU:0", "GPU:1"),
        ("to GPU:1 for 40 × EagerCopy", "from CPU:0 for 40 × EagerCopy", "CPU:0", "GPU:1"),
    ]


def test_perfetto_has_the_memory_of_each_device(query: Query) -> None:
    rows = query(
        "select process.name as process, process_counter_track.name as name, counter.ts as ts, "
        "counter.value as value from counter "
        "join process_counter_track on counter.track_id = process_counter_track.id "
        "join process using (upid) order by ts"
    )
    curves: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for process, name, ts, value in rows:
        curves[process.partition(":")[0] if "program" in process else process, name].append((ts / 1e9, value))
    assert curves["GPU:0", "memory in use"] == [(1.0, 0), (2.0, 1), (3.0, 2), (4.0, 3)]
    assert curves["GPU:0", "memory peak of the phase"][-1] == (4.0, 6)
    assert curves["GPU:1", "memory in use"][-1] == (4.0, 5)
    assert curves["card 0000:80:00.0", "memory this program"] == [(5.0, 8 << 30)]
    assert curves["card 0000:80:00.0", "utilisation % busy"] == [(5.0, 50)]
    assert curves["program", "memory resident"] == [(1.0, 1 << 30), (10.0, 2 << 30)]


def test_a_simulation_is_labelled_and_has_no_times_of_steps(tmp_path: Path) -> None:
    with loaded(written(tmp_path, ran(simulated=2))) as query:
        names = [name for (name,) in query("select name from process where pid > 0 order by pid")]
        lengths = {name: length for _, thread, name, _, length in slices(query) if thread.startswith("steps of")}
        counters = {name for (name,) in query("select name from process_counter_track")}
        told = [name for _, _, name, begin, _ in slices(query) if begin == 0]
    assert names[0].startswith("program (simulated GPUs): ")
    assert names[1:4] == ["CPU:0", "GPU:0 (simulated)", "GPU:1 (simulated)"]
    assert lengths == {"step": 0.0, "3 × step": 0.0}
    assert {"memory (estimate) in use", "memory in use"} <= counters
    assert told[0].startswith("SIMULATED GPUs")


def test_a_run_of_which_nothing_is_known_is_a_trace(tmp_path: Path) -> None:
    with loaded(written(tmp_path, Capture(process={"pid": 1}))) as query:
        assert slices(query) == []


moments = st.floats(100, 200, allow_nan=False)
lasting = st.floats(0, 50, allow_nan=False)
happenings = st.one_of(
    st.builds(Happened, moments, st.sampled_from([STEP, STEP._replace(name="other")]), st.integers(1, 9), lasting),
    st.builds(Happened, moments, st.just(Call("tf.config.x", {}, "", None)), st.just(1), lasting),
    st.builds(
        Happened, moments, st.sampled_from([COPY, COPY._replace(source="GPU:1", target="GPU:0")]), st.integers(1, 9)
    ),
    st.builds(Happened, moments, st.just(FUNCTION)),
)


@given(st.lists(happenings, max_size=30))
def test_slices_of_a_thread_never_overlap_and_no_arrow_goes_back(timeline: list[Happened]) -> None:
    events = json.loads(render(RunReport(Capture(start={"t": 100.0}, timeline=timeline), [], 0)))["traceEvents"]
    ends: dict[int, float] = defaultdict(float)
    for one in events:
        if one["ph"] == "X":
            assert one["ts"] >= ends[one["tid"]]
            assert one["dur"] >= 0
            ends[one["tid"]] = one["ts"] + one["dur"] - 0.0005
    begun = {one["id"]: one["ts"] for one in events if one["ph"] == "s"}
    arrived = {one["id"]: one["ts"] for one in events if one["ph"] == "f"}
    assert begun.keys() == arrived.keys()
    assert all(begun[number] <= arrived[number] for number in begun)
    assert len(begun) == sum(isinstance(one.what, Copy) for one in timeline)


TRAINED = """import tensorflow as tf
cpu, = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
with tf.device("CPU:1"):
    w = tf.Variable(tf.random.normal((512, 512)))

@tf.function
def step(x):
    with tf.GradientTape() as tape:
        with tf.device("CPU:1"):
            loss = tf.reduce_mean(tf.matmul(x, w))
    w.assign_sub(0.01 * tape.gradient(loss, w))

for size in [32] * 10 + [16, 8] + [32] * 28:
    step(tf.random.normal((size, 512)))
"""


@pytest.mark.tensorflow
def test_a_run_has_its_steps_retraces_copies_and_memory(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAINED)
    done = probe(tmp_path, "--trace", "a.json", "--capture", "run.jsonl", "train.py")
    assert done.returncode == 0, done.stderr
    with loaded(tmp_path / "a.json") as query:
        assert query("select name from process where pid > 0 order by pid") == [
            ("program: python train.py",),
            ("CPU:0",),
            ("CPU:1",),
        ]
        drawn = slices(query)
        arrows = query("select count(*) as many from flow")
        peak = query(
            "select max(value) as most from counter join counter_track t on track_id = t.id where name like '%in use'"
        )
        problems = query("select name, value from stats where severity != 'info' and value > 0")
    kinds = Counter((thread, name) for _, thread, name, _, _ in drawn)
    assert kinds["steps of step at train.py:15", "step"] == 40
    assert kinds["traces of functions", "trace of step"] == 1
    assert kinds["traces of functions", "retrace of step"] == 2
    assert kinds["configuration", "tf.config.set_logical_device_configuration"] == 1
    assert [name for _, thread, name, *_ in drawn if thread == "phases"] == ["build", "warm-up", "steps"]
    assert arrows[0][0] > 0
    assert peak[0][0] >= 512 * 512 * 4
    assert problems == []
    probe(tmp_path, "--trace", "b.json", "--replay", "run.jsonl")
    assert (tmp_path / "b.json").read_bytes() == (tmp_path / "a.json").read_bytes()


@pytest.mark.tensorflow
def test_simulated_gpus_have_arrows_and_no_speed(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        TRAINED.replace("CPU:1", "GPU:1").replace("cpu, =", "_ =").replace("tf.config.set_l", "# ")
    )
    done = probe(tmp_path, "--simulate-gpus", "2", "--trace", "a.json", "train.py")
    assert done.returncode in (0, 1), done.stderr
    with loaded(tmp_path / "a.json") as query:
        names = [name for (name,) in query("select name from process where pid > 1 order by pid")]
        lengths = {length for _, thread, _, _, length in slices(query) if thread.startswith("steps of")}
        targets = {name for _, _, name, _, _ in slices(query, "slice.name like 'to %'")}
    assert names == ["CPU:0", "GPU:0 (simulated)", "GPU:1 (simulated)"]
    assert lengths == {0.0}
    assert any(name.startswith("to GPU:1") for name in targets)
