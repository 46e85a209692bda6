"""Each cause is found at its line, and only where curing it gains time."""

from __future__ import annotations

import pkgutil
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from gpulint.linting.finding import Finding, Severity
from gpulint.places import Span
from gpulint.probe.advice import causes
from gpulint.probe.advice.advice import CAUSES, Advice
from gpulint.probe.advice.advise import advise
from gpulint.probe.advice.words import gain, with_gain
from gpulint.probe.agent.gradients import EAGER_STEP
from gpulint.probe.capture.contents import Capture, Log, Member
from gpulint.probe.capture.records import (
    Copy,
    Data,
    EagerCost,
    Execution,
    Function,
    ModelCall,
    Node,
    Pace,
    Read,
    Retrace,
    Segment,
    Split,
    Stage,
    Steps,
    Strategy,
    Task,
    Transformation,
    Where,
    Work,
)
from gpulint.probe.measures.holders import Held, Holder
from gpulint.probe.measures.time_spent import InputStage, PartAt, PhaseTime, PipelineStage, TimeSpent, Tracing
from tests.probe.advice.times import spent

HERE = Where("/p/train.py", 20)
THERE = Where("/p/train.py", 6)
OTHER = Where("/p/data.py", 3)
GPUS = ("CPU:0", "GPU:0", "GPU:1")


def capture(**contents: Any) -> Capture:
    taken = {("train", HERE): Steps("train", HERE, 100, 1.0, 0.1)}
    return Capture(**{"logical": ("CPU:0", "GPU:0"), "steps": taken, "end": {"status": 0}, **contents})


def finding(code: str, where: Where, message: str = "message", instead: str = "instead") -> Finding:
    span = Span(where.path, where.row, 1, where.row, 9)
    return Finding(code, code.lower(), Severity.WARNING, span, message, instead=instead)


def first(time: TimeSpent, seen: Capture, *findings: Finding) -> Advice:
    return advise(seen, findings, time)[0]


def phase(name: str, where: Where) -> PhaseTime:
    return PhaseTime(name, 0.0, 1.0, 10, (), where)


def input_at(where: Where | None, seconds: float = 9.0, count: int = 100) -> PartAt:
    return PartAt("input", where, seconds, count, "next")


# ---------------------------------------------------------------------------------------------- input-bound


WAITING = spent({"input": 9.0, "launch": 1.0}, by_line=[input_at(HERE)])


def built(*operations: tuple[str, Where]) -> Counter[Execution]:
    return Counter({Execution(where, op, "", "CPU:0"): 1 for op, where in operations})


@pytest.mark.parametrize(
    ("seen", "where", "fix"),
    [
        (capture(data=Counter({Data(HERE, "PyDataset", 1, 0): 1})), HERE, "`workers=8`"),
        (capture(data=Counter({Data(HERE, "PyDataset", 4, 0): 1})), HERE, "more `workers`"),
        (capture(data=Counter({Data(HERE, "generator", 0, 0): 1})), HERE, "a `PyDataset` with `workers=8`"),
        (capture(data=Counter({Data(HERE, "arrays", 0, 32): 1})), HERE, "larger `batch_size`"),
        (capture(executions=built(("MapDataset", THERE))), THERE, "`num_parallel_calls=tf.data.AUTOTUNE`"),
        (capture(executions=built(("InterleaveDataset", THERE))), THERE, "`num_parallel_calls=tf.data.AUTOTUNE`"),
        (capture(executions=built(("TensorDataset", THERE), ("FlatMapDataset", THERE))), THERE, "Yield whole batches"),
        (capture(executions=built(("ParallelMapDatasetV2", THERE))), HERE, "`cache()`"),
        (capture(executions=built(("ParallelMapDatasetV2", THERE), ("CacheDatasetV2", THERE))), HERE, "Do less"),
    ],
)
def test_the_advice_for_input_fits_its_source(seen: Capture, where: Where, fix: str) -> None:
    one = first(WAITING, seen)
    assert (one.cause, one.where) == ("input-bound", where)
    assert fix in one.fix
    assert "prefetch" not in one.fix + one.text
    assert one.speedup == pytest.approx(10)
    assert one.evidence == "100 of 100 steps waited for it, 90.0 ms each."


@pytest.mark.parametrize(
    ("kind", "fix"),
    [
        ("arrays", "a dataset that ends in `repeat()`, with `steps_per_epoch`"),
        ("dataset", "a dataset that ends in `repeat()`, with `steps_per_epoch`"),
        ("PyDataset", "Return None from `num_batches` of the `PyDataset`, and pass `steps_per_epoch`"),
        (None, "Iterate over `dataset.repeat()` once"),
    ],
)
def test_opening_and_closing_pipelines_is_no_wait_for_elements(kind: str | None, fix: str) -> None:
    lines = [
        PartAt("input", HERE, 3.0, 4, "iter"),
        PartAt("input", HERE, 2.0, 9, "end of a pipeline"),
        input_at(HERE, 0.1),
    ]
    time = spent({"input": 5.1, "launch": 5.0}, 100, lines, phases=[phase("epoch 1", HERE)])
    (one,) = advise(capture(data=Counter({Data(HERE, kind, 0, 32): 1} if kind else {})), (), time)
    assert (one.cause, one.where, one.seconds) == ("input-bound", HERE, pytest.approx(5.0))
    assert one.text == "each epoch reopens the pipeline"
    assert one.evidence == "Closing one and opening the next took 1.2 s each time, 4 times."
    assert fix in one.fix


def test_a_long_wait_for_the_end_of_pipelines_names_the_thread_that_tunes_them() -> None:
    lines = [PartAt("input", HERE, 1.0, 4, "iter"), PartAt("input", HERE, 9.0, 4, "end of a pipeline")]
    time = spent({"input": 10.0, "launch": 5.0}, 100, lines, phases=[phase("epoch 1", HERE)])
    for fits in (1, 4):
        (one,) = advise(capture(data=Counter({Data(HERE, "dataset", 0, 0): fits})), (), time)
        assert "Closing pipelines took 9.0 s in total" in one.evidence
        assert "`options.autotune.enabled = False`" in one.evidence


def opened(where: Where, times: int) -> list[PartAt]:
    return [PartAt("input", where, 4.0, times, "iter")]


def test_the_first_pipeline_of_a_loop_is_needed() -> None:
    """That of the first epoch of all was opened before the first step ended, when the time begins."""
    before = [phase("epoch 1", THERE)]
    once = spent({"input": 4.0, "launch": 5.0}, 100, opened(HERE, 1), phases=before)
    assert not advise(capture(), (), once)
    fits = capture(data=Counter({Data(HERE, "dataset", 0, 0): 2}))
    twice = spent({"input": 4.0, "launch": 5.0}, 100, opened(HERE, 2), phases=before)
    assert not advise(fits, (), twice), "two calls of `fit` need two"
    assert first(twice, capture()).seconds == pytest.approx(2.0)


def test_ignored_causes_are_left_out() -> None:
    time = spent({"input": 4.0, "launch": 5.0}, 100, opened(HERE, 4))
    (one,) = advise(capture(), (), time, ignored=("retracing",))
    assert not advise(capture(), (), time, ignored=("retracing", one.cause))


def test_an_evaluation_is_no_epoch() -> None:
    phases = [phase("epoch 1", THERE), phase("evaluation", HERE)]
    for each in (1, 2):
        assert not advise(capture(), (), spent({"input": 4.0, "launch": 5.0}, 100, opened(HERE, each), phases=phases))
    several = spent({"input": 4.0, "launch": 5.0}, 100, opened(HERE, 4), phases=[*phases, phase("evaluation", HERE)])
    one = first(several, capture())
    assert (one.text, one.fix) == ("each evaluation opens its own pipeline", "Evaluate less often.")
    assert one.seconds == pytest.approx(2.0)
    phases = [phase("epoch 1", THERE), *[phase("prediction", HERE)] * 2]
    one = first(spent({"input": 4.0, "launch": 5.0}, 100, opened(HERE, 2), phases=phases), capture())
    assert one.text == "each prediction opens its own pipeline"
    assert "`model(x, training=False)` opens no pipeline" in one.fix


def test_what_next_takes_in_python_is_not_blamed_on_the_pipeline() -> None:
    """WAITING: 90 ms for each element."""
    slow_to_hand_out = "Python takes longer to request an element than the pipeline takes to produce it"
    local = capture(local_input={HERE: (100, 3.0)}, splits=Counter({Split(HERE, (8,)): 100}))
    assert first(WAITING, local).text == slow_to_hand_out
    assert first(WAITING, capture(local_input={HERE: (100, 8.0)})).text == "the step waits for the dataset"

    def read(*names: str) -> Capture:
        return capture(pipelines={HERE: [tuple(Transformation(name, THERE) for name in names)]})

    def with_stage(seconds: float, elements: int = 100) -> TimeSpent:
        stages = [PipelineStage(HERE, "Map", elements, seconds, 1.0)]
        return spent({"input": 9.0, "launch": 1.0}, by_line=[input_at(HERE)], pipeline=stages)

    assert first(with_stage(0.001), read("MapDataset")).text == slow_to_hand_out
    assert first(with_stage(0.08), read("MapDataset")).where == THERE
    assert first(with_stage(0.02, elements=400), read("BatchDataset", "MapDataset")).where == THERE  # four in a batch
    assert "from_generator" in first(with_stage(0.001), read("BatchDataset", "FlatMapDataset", "TensorDataset")).text
    fit = capture(data=Counter({Data(HERE, "dataset", 0, 0): 1}))
    assert first(with_stage(0.001), fit).text == "the step waits for the dataset that `fit` reads"


@pytest.mark.parametrize(
    ("slowest", "threads", "other", "where", "fix"),
    [
        ("ParallelMapV2", 0.0, "BatchDataset", HERE, "`cache()`"),
        (
            "ParallelMapV2",
            0.9,
            "BatchDataset",
            OTHER,
            "Use TensorFlow operations, or keep the elements with `cache()`.",
        ),
        ("ParallelMapV2", 0.9, "CacheDataset", OTHER, "Use TensorFlow operations, or prepare the data beforehand."),
        ("Map", 0.0, "BatchDataset", THERE, "Pass `num_parallel_calls=tf.data.AUTOTUNE`."),
        ("Map", 0.9, "BatchDataset", THERE, "or use TensorFlow operations instead of Python."),
    ],
)
def test_the_slowest_map_is_blamed_and_python_does_not_run_in_parallel(
    slowest: str, threads: float, other: str, where: Where, fix: str
) -> None:
    pipeline = (
        Transformation(other, HERE),
        Transformation("MapDataset", THERE),
        Transformation("ParallelMapDataset", OTHER),
    )
    stages = [PipelineStage(HERE, slowest, 100, 0.08, 1.0), PipelineStage(HERE, "BatchV2", 100, 0.001, 1.0)]
    time = spent({"input": 9.0, "launch": 1.0}, by_line=[input_at(HERE)], pipeline=stages)
    time = replace(time, input_stages=(InputStage(OTHER, threads),))
    one = first(time, capture(pipelines={HERE: [pipeline]}))
    assert one.where == where
    assert fix in one.fix


def test_a_pipeline_that_is_only_closed_is_no_advice() -> None:
    time = spent({"input": 5.0, "launch": 5.0}, 100, [PartAt("input", HERE, 5.0, 1, "end of a pipeline")])
    assert not advise(capture(), (), time)


def test_the_rule_about_loaders_gives_its_code() -> None:
    seen = capture(data=Counter({Data(HERE, "generator", 0, 0): 1}))
    one = first(WAITING, seen, finding("GPU406", HERE))
    assert (one.code, one.where) == ("GPU406", HERE)
    assert "workers" in one.fix


def test_what_keras_builds_around_arrays_is_not_the_programs_pipeline() -> None:
    seen = capture(executions=built(("MapDataset", HERE)), data=Counter({Data(HERE, "arrays", 0, 0): 1}))
    assert "batch_size" in first(WAITING, seen).fix


def test_a_finding_about_the_pipeline_gives_its_code_and_line() -> None:
    seen = capture(executions=built(("MapDataset", THERE)))
    both = (finding("GPU402", THERE), finding("GPU404", THERE, "Python is called for each element"))
    one = first(WAITING, seen, *both)
    assert (one.code, one.where, one.text) == ("GPU404", THERE, "Python is called for each element")
    assert "num_parallel_calls" in one.fix


def test_a_loop_of_fits_is_to_become_one() -> None:
    lines = [
        PartAt("input", HERE, 6.0, 46, "iter"),
        PartAt("trace", HERE, 2.0, 23, "Dataset_map_grab_batch"),
        PartAt("python", HERE, 1.0, 23, "code"),
        PartAt("python", THERE, 1.0, 23, "code"),
    ]
    time = spent({"input": 6.0, "trace": 2.0, "python": 2.0}, 23, lines)
    one = first(time, capture(data=Counter({Data(HERE, "arrays", 0, 0): 23})))
    assert (one.cause, one.where) == ("input-bound", HERE)
    assert one.seconds == pytest.approx(9.0)
    assert "`fit` once" in one.fix


def test_the_pipeline_of_the_line_that_waits_is_blamed() -> None:
    other = Where("/p/train.py", 3)
    pipelines = {
        HERE: [(Transformation("BatchDataset", THERE), Transformation("MapDataset", THERE))],
        other: [(Transformation("FlatMapDataset", other), Transformation("TensorDataset", other))],
    }
    found = (finding("GPU404", other, "a generator yields single elements"), finding("GPU402", THERE, "sequential"))
    one = first(WAITING, capture(pipelines=pipelines), *found)
    assert (one.code, one.where) == ("GPU402", THERE)


def test_a_loop_over_a_distributed_dataset_without_a_slow_stage_waits_for_python() -> None:
    handed_out = Counter({Split(HERE, (8, 8, 8, 8)): 100})
    one = first(WAITING, capture(splits=handed_out))
    assert (one.where, one.text) == (HERE, "Python distributes each element to 4 replicas")
    assert "`tf.function`" in one.fix
    slow = capture(splits=handed_out, executions=built(("MapDataset", THERE)))
    assert first(WAITING, slow).where == THERE


def test_two_loops_that_wait_are_two_pieces_of_advice() -> None:
    time = spent({"input": 9.0, "launch": 1.0}, by_line=[input_at(HERE, 6.0), input_at(THERE, 3.0)])
    assert [one.where for one in advise(capture(), (), time)] == [HERE, THERE]


# --------------------------------------------------------------------------------------------- launch-bound


def test_a_step_whose_operations_outlast_the_gpu_is_launch_bound() -> None:
    time = spent({"gpu": 1.0, "launch": 3.0}, busy={"GPU:0": 0.25}, operations=919, launch_cost=4.5e-6)
    one = first(time, capture())
    assert (one.cause, one.where, one.speedup) == ("launch-bound", HERE, 4.0)
    assert one.text == "`train` keeps the GPU busy for 10.0 ms of 40.0 ms"
    assert "919 operations" in one.evidence
    assert "jit_compile=True" in one.fix
    assert "16" not in one.fix, "mixed precision brings a launch-bound step nothing"


def test_a_compiled_step_is_not_to_be_compiled() -> None:
    time = spent({"gpu": 1.0, "launch": 3.0}, busy={"GPU:0": 0.25})
    assert "jit_compile" not in first(time, capture(compiled={"train": HERE})).fix


def test_on_a_cpu_only_operations_that_do_nothing_are_launch_bound() -> None:
    small = spent({"launch": 5.0}, operations=8000, launch_cost=6e-6)
    one = first(small, capture(logical=("CPU:0",)))
    assert one.cause == "launch-bound"
    assert one.seconds == pytest.approx(4.0)
    assert "On a GPU" in one.evidence
    large = spent({"launch": 50.0}, operations=8000, launch_cost=60e-6)
    assert not advise(capture(logical=("CPU:0",)), (), large)


def test_few_operations_are_not_launch_bound() -> None:
    time = spent({"launch": 0.01, "python": 0.01}, operations=20, launch_cost=5e-6)
    assert not advise(capture(logical=("CPU:0",)), (), time)


# ----------------------------------------------------------------------------------------------- eager-step


FITTED = capture(data=Counter({Data(HERE, "arrays", 0, 32): 1}))


def eager(operations: int) -> Capture:
    return capture(
        steps={(EAGER_STEP, HERE): Steps(EAGER_STEP, HERE, 100, 1.0, 0.1)},
        taken=Counter({"steps": 100}),
        eager=Counter({("steps", "MatMul"): 100 * operations, ("steps", "Const"): 10_000}),
    )


def test_a_step_of_many_eager_operations_is_to_be_traced() -> None:
    lines = [PartAt("launch", HERE, 7.0, 9, "eager operations"), PartAt("python", HERE, 1.0, 9, "code")]
    time = spent({"gpu": 0.05, "launch": 7.0, "python": 3.0}, 100, lines, {"GPU:0": 0.005}, 487)
    one = first(time, eager(487), finding("GPU508", HERE))
    assert (one.cause, one.code, one.where) == ("eager-step", "GPU508", HERE)
    assert one.text == "Python runs 487 operations of each step one at a time"
    assert one.seconds == pytest.approx(8.0)


def test_eagerness_that_was_left_on_is_blamed_on_the_line_that_left_it() -> None:
    time = spent({"launch": 1.0}, operations=487, launch_cost=30e-6)
    one = first(time, eager(487), finding("GPU506", Where("/p/train.py", 18), instead="leave it out"))
    assert (one.code, one.where, one.fix) == ("GPU506", Where("/p/train.py", 18), "Leave it out.")


@pytest.mark.parametrize(
    ("cost", "seconds"),
    [
        (None, 8.8),
        (EagerCost(100, 40e-6, 35e-6), 8.0),
        (EagerCost(100, 40e-6, 35e-6, 50e-6), 4.0),
        (EagerCost(100, 0.01, 0.01, 0.01), 3.0),
    ],
)
def test_what_eager_operations_compute_is_left(cost: EagerCost | None, seconds: float) -> None:
    """Early captures do not say how long they compute. Launching 100,000 operations takes at most 3 s eagerly, and at
    least 0.2 s in a traced step."""
    time = spent({"launch": 9.0}, operations=1000)
    assert first(time, replace(eager(1000), eager_cost=cost)).seconds == pytest.approx(seconds)


def test_rare_eager_operations_that_take_long_are_found_at_their_line() -> None:
    """Gradients that a function computes, and that are applied after every fourth step."""
    lines = [PartAt("launch", THERE, 2.0, 9, "eager operations"), PartAt("python", THERE, 60.0, 9, "code")]
    time = spent({"launch": 30.0, "python": 60.0}, 100, [*lines, PartAt("launch", HERE, 28.0, 100, "train")])
    seen = replace(eager(66), steps={("train", HERE): Steps("train", HERE, 100, 1.0, 0.1, busy=25, operations=6600)})
    one = first(time, seen)
    assert (one.cause, one.where) == ("eager-step", THERE)
    assert one.text == "Python runs 66 operations around each step one at a time"
    assert one.seconds == pytest.approx(62.0)
    assert "into that of the step" in one.fix
    seldom = {("train", HERE): Steps("train", HERE, 20, 1.0, 0.1, busy=5, operations=6600)}
    for other in (replace(seen, steps=seldom), replace(seen, data=FITTED.data)):
        assert all(one.cause != "eager-step" for one in advise(other, (), time))


def test_a_few_large_eager_operations_are_no_advice() -> None:
    assert not advise(eager(10), (), spent({"launch": 100.0}, operations=10, launch_cost=0.1))
    assert not advise(eager(100), (), spent({"launch": 100.0}, operations=100, launch_cost=0.01))


# ----------------------------------------------------------------------------- tracing, reads, checkpoints


TRACED = PartAt("trace", HERE, 8.0, 9, "train")


def tracing(name: str, kind: str, count: int, seconds: float, again: int, *causes: str) -> Tracing:
    """Traces or compilations of equal duration."""
    return Tracing(name, THERE, kind, count, seconds, causes, again, seconds * again / count)


def test_all_traces_but_the_first_are_lost_time() -> None:
    retraced = tracing("train", "trace", 10, 5.0, 9, "shape of `x`")
    time = spent({"trace": 5.0, "launch": 5.0}, by_line=[TRACED], tracings=[retraced])
    one = first(time, capture())
    assert (one.cause, one.where, one.seconds) == ("retracing", THERE, 4.5)
    assert one.text == "`train` is traced 10 times"
    assert one.evidence.endswith("each time: shape of `x`.")
    assert "input_signature" in one.fix
    before_the_first_step = spent({"launch": 5.0}, tracings=[retraced])
    assert not advise(capture(), (), before_the_first_step)


def test_the_most_frequent_cause_of_retraces_is_named() -> None:
    value = "8 ×: the Python value of `rate` changed, first 0.1 → 0.2"
    retraced = tracing("train", "trace", 10, 5.0, 9, value, "1 ×: the shape of `x` changed")
    one = first(spent({"trace": 5.0, "launch": 5.0}, by_line=[TRACED], tracings=[retraced]), capture())
    assert one.evidence.endswith("each time: the Python value of `rate` changed, first 0.1 → 0.2.")


def test_collecting_garbage_during_traces_is_part_of_them() -> None:
    lines = [PartAt("trace", THERE, 6.0, 9, "train"), PartAt("trace", None, 2.0, 9, "garbage collection")]
    time = spent({"trace": 8.0, "launch": 1.0}, by_line=lines, tracings=[tracing("train", "trace", 10, 10.0, 9)])
    assert first(time, capture()).seconds == pytest.approx(8.0)


def test_several_functions_that_are_traced_once_each_lose_nothing() -> None:
    """Keras has two functions of that name: one for training, one for evaluation."""
    once = tracing("train", "trace", 2, 5.0, 0)
    assert not advise(capture(), (), spent({"trace": 5.0, "launch": 5.0}, by_line=[TRACED], tracings=[once]))
    compiled = tracing("train", "xla", 2, 5.0, 0)
    assert not advise(capture(), (), spent({"trace": 5.0, "launch": 15.0}, by_line=[TRACED], tracings=[compiled]))


@pytest.mark.parametrize("name", ["Dataset_map_decode", "_remote_next_func"])
def test_functions_that_a_pipeline_calls_are_not_retraced_by_the_program(name: str) -> None:
    traced = PartAt("trace", HERE, 8.0, 9, name)
    tracings = [tracing(name, "trace", 10, 5.0, 9)]
    found = advise(capture(), (), spent({"trace": 5.0, "launch": 5.0}, by_line=[traced], tracings=tracings))
    assert not [one for one in found if one.cause == "retracing"]


def test_a_last_batch_that_is_smaller_is_to_be_dropped() -> None:
    """The arguments that change together are one thought."""
    time = spent(
        {"trace": 5.0, "launch": 5.0}, by_line=[TRACED], tracings=[tracing("train", "trace", 2, 5.0, 1, "1 ×: a shape")]
    )
    retraces = [
        Retrace(HERE, "train", True, "shape", f"inputs[{n}]", f"(64{rest}) → (16{rest})")
        for n, rest in ((0, ", 28"), (1, ","))
    ]
    one = first(time, capture(retraces=Counter(retraces)))
    assert one.evidence == "The second trace took 2.5 s: a shape."
    assert one.fix.startswith("Make all batches the same size (`batch(…, drop_remainder=True)`), or give it")
    assert one.fix.endswith("the shape of `inputs[0]` and `inputs[1]` changes, or `reduce_retracing=True`.")
    varying = Counter([*retraces, Retrace(HERE, "train", True, "shape", "inputs[2]", "(64, 9) → (64, 8)")])
    assert first(time, capture(retraces=varying)).fix.startswith("Give it an `input_signature`")


def test_models_that_a_loop_creates_are_traced_each_time() -> None:
    """A loop over folds: `fit` in one line, `evaluate` in the next. Each model needs a pipeline of its own."""
    tests = Where(THERE.path, THERE.row + 1)
    by_line = [
        PartAt("trace", THERE, 8.0, 10, "step"),
        PartAt("trace", tests, 2.0, 10, "step"),
        PartAt("trace", THERE, 1.0, 10, "Dataset_map_grab_batch"),
        PartAt("input", THERE, 5.0, 10, "open"),
    ]
    tracings = [tracing("step", "trace", 20, 8.4, 0), Tracing("step", tests, "trace", 10, 2.0, (), 0, 0.0)]
    time = spent({"trace": 11.0, "input": 5.0, "launch": 4.0}, by_line=by_line, tracings=tracings)
    calls = {ModelCall(THERE, "fit"): (10, 15.0), ModelCall(tests, "evaluate"): (10, 3.0)}
    data = Counter({Data(THERE, "arrays", 0, 32): 10})
    found = advise(capture(model_calls=calls, data=data), [finding("GPU305", THERE)], time)
    assert [(one.cause, one.code, one.where) for one in found] == [("new-models", "GPU305", THERE)]
    assert found[0].seconds == pytest.approx(10.0 * 9 / 10)
    assert found[0].text == "each of the 10 calls of `fit` traces its model"
    assert "`set_weights`" in found[0].fix
    without_rule = advise(capture(model_calls=calls, data=data), (), time)
    assert [(one.code, one.where) for one in without_rule] == [(None, THERE), (None, tests)]
    alike = {ModelCall(THERE, "fit"): (21, 15.0)}
    (opened,) = advise(capture(model_calls=alike, data=Counter({Data(THERE, "arrays", 0, 32): 21})), (), time)
    assert opened.cause == "input-bound", "one model is traced once"


def test_the_fix_of_retracing_fits_what_changes() -> None:
    tracings = [tracing("train", "trace", 10, 5.0, 9)]
    time = spent({"trace": 5.0, "launch": 5.0}, by_line=[TRACED], tracings=tracings)
    made = {("train", THERE): Function("train", THERE, 10, False, "CPU:0", 10)}
    assert first(time, capture(functions=made)).fix == "Create the function once, before the loop."
    assert "Pad" in first(time, capture(data=Counter({Data(THERE, "dataset", 0, 0): 1}))).fix
    assert first(time, capture(), finding("GPU504", THERE, instead="pass a tensor")).fix == "Pass a tensor."


def test_compilations_are_distinguished_from_traces() -> None:
    again = tracing("train", "xla", 4, 8.0, 3)
    one = first(spent({"trace": 8.0, "launch": 2.0}, by_line=[TRACED], tracings=[again]), capture())
    assert (one.cause, one.where, one.seconds) == ("recompiling", THERE, 6.0)
    called = [PartAt("trace", THERE, 0.1, 1, "train"), PartAt("trace", HERE, 7.9, 3, "train")]  # traced, and compiled
    assert first(spent({"trace": 8.0, "launch": 2.0}, by_line=called, tracings=[again]), capture()).seconds == 6.0
    once = tracing("train", "xla", 1, 8.0, 0)
    assert (
        first(spent({"trace": 8.0, "launch": 2.0}, by_line=[TRACED], tracings=[once]), capture()).cause == "recompiling"
    )
    assert not advise(capture(), (), spent({"trace": 8.0, "launch": 20.0}, tracings=[once]))


def test_a_read_is_blamed_by_what_it_costs() -> None:
    read = PartAt("python", THERE, 4.0, 100, "read")
    time = spent({"python": 5.0, "launch": 5.0}, by_line=[read, PartAt("python", HERE, 1.0, 100, "")])
    one = first(time, capture(), finding("GPU501", THERE))
    assert (one.cause, one.code, one.where, one.seconds) == ("host-reads", "GPU501", THERE, 4.0)
    fit = {"data": Counter({Data(THERE, "dataset", 0, 0): 1})}
    assert "host-reads" not in [one.cause for one in advise(capture(**fit), (), time)], "Keras's own"
    by_program = capture(**fit, step_reads={Read(THERE, "CPU:0"): (90, 100)})
    assert first(time, by_program).cause == "host-reads"
    converted = capture(reads=Counter({Read(HERE, "CPU:0"): 2}))
    assert "host-reads" not in [one.cause for one in advise(converted, (), time)], "TensorFlow's own"
    more = replace(time, by_line=(*time.by_line, PartAt("trace", THERE, 0.5, 2, "read")))
    (once,) = (one for one in advise(by_program, (), more) if one.cause == "host-reads")
    assert once.evidence.startswith("102 reads in 100 steps")
    free = PartAt("python", THERE, 0.001, 100, "read")
    assert not advise(capture(), (finding("GPU501", THERE),), spent({"python": 1.0, "launch": 9.0}, by_line=[free]))


def test_reading_a_variable_is_no_step_of_eager_operations() -> None:
    """`v.numpy()` launches the read of the variable, and what follows on its line needs the value."""
    busy = Steps("train", HERE, 100, 1.0, 0.1, busy=100, operations=4800)
    seen = capture(
        steps={("train", HERE): busy},
        taken=Counter({"steps": 100}),
        eager=Counter({("steps", "ReadVariableOp"): 4800}),
        executions=Counter({Execution(THERE, "ReadVariableOp", "", "CPU:0"): 4800}),
    )
    lines = [
        PartAt("python", THERE, 2.0, 4800, "read"),
        PartAt("python", THERE, 3.0, 300, "code"),
        PartAt("launch", THERE, 4.0, 4800, "eager operations"),
        PartAt("launch", HERE, 5.0, 100, "train"),
    ]
    time = spent({"python": 5.0, "launch": 9.0}, by_line=lines, operations=50, launch_cost=30e-6)
    (one,) = advise(seen, (), time)
    assert (one.cause, one.where, one.seconds) == ("host-reads", THERE, pytest.approx(9.0))


def test_a_slow_callback_or_line_of_the_loop_is_named() -> None:
    lines = [
        PartAt("python", THERE, 4.0, 100, "Plot.on_train_batch_end"),
        PartAt("python", HERE, 3.0, 80, "code"),
        PartAt("python", None, 3.0, 80, "callback"),
    ]
    time = spent({"python": 10.0, "launch": 10.0}, by_line=lines)
    callback, line = advise(capture(), (), time)
    assert (callback.cause, callback.where, callback.seconds) == ("slow-python", THERE, 4.0)
    assert callback.text == "steps wait for `Plot.on_train_batch_end`"
    assert callback.evidence == "It takes 40.0 ms of a 200 ms step."
    assert (line.cause, line.where, line.seconds) == ("slow-python", HERE, 3.0)
    board = replace(time, by_line=(*lines, PartAt("python", HERE, 3.0, 9, "TensorBoard.on_epoch_end")))
    of_fit = capture(data=Counter({Data(HERE, "dataset", 0, 0): 1}))
    _, of_library = advise(of_fit, (), board)
    assert (of_library.where, of_library.text) == (HERE, "steps wait for `TensorBoard.on_epoch_end`")
    assert of_library.fix == "Let this callback do less, or less often."
    assert [one.where for one in advise(of_fit, (), time)] == [THERE], "the Python of `fit` is Keras's"


PREDICTED = {ModelCall(THERE, "predict"): (60, 12.0)}


def predicting(stage: int, began: float, steps: int = 0) -> Segment:
    work = () if steps else (Work(THERE, "launch", "predict", 0.1, 1), Work(THERE, "trace", "map", 0.5, 1))
    return Segment(stage, began, began + 1.0, steps, {"python": 1.0}, 0, work)


def replace_work(segment: Segment, times: int) -> Segment:
    return segment._replace(work=tuple(one._replace(times=times) for one in segment.work))


def test_calls_of_a_model_in_a_loop_cost_the_run_what_they_do_not_compute() -> None:
    stages = {number: Stage("prediction", THERE) for number in (1, 2)}
    segments = [predicting(0, 0.0, 10), predicting(1, 1.0), predicting(2, 2.0)]
    seen = capture(model_calls=PREDICTED, stages=stages, segments=segments, end={"status": 0, "seconds": 20.0})
    time = spent({"launch": 0.5})
    (one,) = advise(seen, [finding("GPU503", THERE, instead="predict all at once")], time)
    assert (one.cause, one.where, one.code) == ("repeated-calls", THERE, "GPU503")
    assert one.text == "`predict` is called 60 times, 200 ms each"
    assert one.evidence == "The calls took 12.0 s, of which computing took 200 ms."
    assert one.outside is not None
    assert one.outside[:2] == ("60 `predict` calls", 12.0)
    assert one.seconds == pytest.approx(11.8 * 59 / 60)
    assert one.speedup == pytest.approx(20.0 / (20.0 - one.seconds))
    assert one.is_outside
    assert not advise(seen, (), time), "the number of samples of a call is not known"
    (no_training,) = advise(seen, [finding("GPU503", THERE)], None)
    assert no_training.is_outside


def test_calls_of_a_model_between_training_steps_are_part_of_the_training_time() -> None:
    stages = {number: Stage("prediction", THERE) for number in (1, 2)}
    segments = [predicting(1, 0.0), predicting(2, 1.0), predicting(0, 2.0, 10)]
    seen = capture(model_calls=PREDICTED, stages=stages, segments=segments, end={"status": 0, "seconds": 20.0})
    lines = [PartAt("trace", THERE, 1.0, 60, "map")]
    time = spent({"launch": 2.0, "python": 11.0, "trace": 1.0}, by_line=lines)
    (one,) = advise(seen, [finding("GPU503", THERE)], time)
    assert not one.is_outside
    assert one.seconds == pytest.approx(11.8 * 59 / 60)
    assert one.speedup == pytest.approx(14.0 / (14.0 - one.seconds))
    (unknown,) = advise(seen, (), time)
    assert (unknown.cause, unknown.code, unknown.seconds) == ("repeated-calls", None, one.seconds), "one batch a call"
    assert "`model.predict_on_batch(x)`" in unknown.fix
    many = [replace_work(one, 200) for one in segments]
    assert not advise(replace(seen, segments=many), (), time), "each call predicts many batches"


def test_a_function_that_is_traced_again_outside_training_costs_the_run() -> None:
    seen = capture(end={"status": 0, "seconds": 20.0})
    time = spent({"launch": 0.5}, tracings=[Tracing("score", THERE, "trace", 11, 6.0, (), 10, 5.0)])
    (one,) = advise(seen, [finding("GPU504", THERE)], time)
    assert (one.cause, one.where, one.seconds) == ("retracing", THERE, 5.0)
    assert one.outside == ("11 traces of `score`", 6.0, 5.0)
    assert one.is_outside
    assert not advise(seen, (), time), "without a finding, another shape may be what the program needs"


def test_a_few_calls_of_a_model_are_no_loop() -> None:
    seen = capture(model_calls={ModelCall(THERE, "predict"): (2, 12.0)}, end={"status": 0, "seconds": 20.0})
    assert not advise(seen, [finding("GPU503", THERE)], spent({"launch": 0.5}))


def test_a_rehearsal_promises_no_gain() -> None:
    time = spent({"input": 9.0, "launch": 1.0}, by_line=[input_at(HERE)])
    (one,) = advise(capture(simulated=2), (), time)
    assert one.gained == {"seconds": None, "speedup": None}
    assert gain(one, is_first=True) == ""
    assert with_gain(one, is_first=True) == one.text


def test_a_rehearsal_says_first_what_gpus_would_show() -> None:
    """Replicas that share a CPU wait, and end pipelines late."""
    nodes = Counter({Node(HERE, "MatMul", "", "GPU:0", "", "float16", "step"): 4})
    seen = capture(logical=GPUS, nodes=nodes, simulated=2)
    time = spent({"input": 90.0, "launch": 10.0}, by_line=[input_at(HERE, 80.0), *opened(HERE, 4)])
    assert [one.cause for one in advise(seen, (), time)] == ["idle-device", "input-bound"]
    assert not advise(capture(simulated=2), (), spent({"input": 4.0, "launch": 5.0}, 100, opened(HERE, 4)))


@pytest.mark.parametrize(
    ("detail", "seen", "fix"),
    [
        ("train.Checkpoint.write", capture(), "`CheckpointOptions(enable_async=True)`"),
        ("train.CheckpointManager.save", capture(), "`CheckpointOptions(enable_async=True)`"),
        ("Model.save", FITTED, '`save_freq="epoch"`'),
        ("Model.save", capture(), "Save less often."),
    ],
)
def test_the_advice_for_checkpoints_fits_what_writes_them(detail: str, seen: Capture, fix: str) -> None:
    lines = [PartAt("checkpoint", HERE, 4.0, 100, detail)]
    (one,) = advise(seen, (), spent({"checkpoint": 4.0, "launch": 4.0}, by_line=lines))
    assert fix in one.fix


def test_a_checkpoint_of_each_epoch_is_already_written_after_epochs() -> None:
    lines = [PartAt("checkpoint", HERE, 4.0, 2, "Model.save")]
    phases = [phase("epoch 1", HERE), phase("epoch 2", HERE)]
    (one,) = advise(FITTED, (), spent({"checkpoint": 4.0, "launch": 4.0}, by_line=lines, phases=phases))
    assert one.fix.startswith("Save less often than after every epoch")


def test_checkpoints_and_summaries_are_advised_apart() -> None:
    saves = PartAt("checkpoint", HERE, 4.0, 100, "train.Checkpoint.save")
    lines = [saves, PartAt("checkpoint", THERE, 2.0, 100, "summary")]
    advice = advise(capture(), (), spent({"checkpoint": 6.0, "launch": 4.0}, by_line=lines))
    assert [(one.cause, one.where) for one in advice] == [("checkpoints", HERE), ("checkpoints", THERE)]
    assert "async" in advice[0].fix
    assert "every hundred steps" in advice[1].fix


# ---------------------------------------------------------------------------------------- devices, clusters


def test_copies_are_blamed_on_the_line_that_moves_most() -> None:
    moved = Copy("_Send", "GPU:1", "GPU:0", THERE, "MatMul", "", 1 << 20, in_step=True)
    reduced = Copy("_Send", "GPU:1", "GPU:0", HERE, "AddN", "", 1 << 30, in_step=True, reduces=True)
    seen = capture(logical=GPUS, copies=Counter({moved: 2, reduced: 5}))
    one = first(spent({"copy": 5.0, "gpu": 5.0}, busy={"GPU:0": 0.5}), seen)
    assert (one.cause, one.where, one.seconds) == ("copies", THERE, 5.0)
    assert one.evidence.startswith("2 copies of 2 MiB in each step, GPU:1 to GPU:0")
    assert not advise(seen, (), spent({"gpu": 5.0, "launch": 0.01}, busy={"GPU:0": 0.99}))


def test_of_several_lines_with_copies_the_largest_is_blamed_for_its_share() -> None:
    large = Copy("_Send", "GPU:1", "GPU:0", THERE, "MatMul", "", 3 << 20, in_step=True)
    small = Copy("_Send", "GPU:1", "GPU:0", HERE, "MatMul", "", 1 << 20, in_step=True)
    seen = capture(logical=GPUS, copies=Counter({small: 1, large: 1}))
    one = first(spent({"copy": 4.0, "gpu": 6.0}, busy={"GPU:0": 0.6}), seen)
    assert (one.where, one.seconds) == (THERE, 3.0)


def test_copies_of_a_rehearsal_have_the_share_that_they_would_have_on_gpus() -> None:
    moved = Copy("_Send", "GPU:1", "GPU:0", THERE, "MatMul", "", 20_000_000, in_step=True)
    fed = Copy("_Send", "CPU:0", "GPU:0", HERE, "MatMul", "", 1 << 30, in_step=True)
    seen = capture(logical=GPUS, copies=Counter({moved: 1, fed: 1}), simulated=2)
    one = first(spent({"launch": 8.0, "python": 2.0}, operations=38.0), seen)
    assert (one.cause, one.where) == ("copies", THERE)
    assert one.seconds == pytest.approx(8.0 * 0.81)  # 810 µs of copying beside 190 µs of launching
    assert "GPU:1 to GPU:0. On real GPUs copying takes at least 810 µs, launching the step 190 µs" in one.evidence
    launched = advise(seen, (), spent({"launch": 8.0, "python": 2.0}, operations=100_000.0))
    assert [one.cause for one in launched] == ["launch-bound"]


def test_a_gpu_without_work_would_share_it() -> None:
    nodes = Counter({Node(HERE, "MatMul", "", "GPU:0", "", "float16", "step"): 4})
    seen = capture(logical=GPUS, nodes=nodes, strategies=[Strategy(1, "MirroredStrategy", GPUS[1:], 2, THERE)])
    one = first(spent({"gpu": 9.0, "python": 1.0}, busy={"GPU:0": 0.9, "GPU:1": 0.0}), seen)
    assert (one.cause, one.where, one.text) == ("idle-device", THERE, "GPU:1 has no work")
    assert one.seconds == pytest.approx(4.5)
    rehearsed = capture(logical=GPUS, nodes=nodes, simulated=2)
    assert first(spent({"launch": 9.0, "python": 1.0}), rehearsed, finding("GPU101", THERE)).code == "GPU101"


def test_the_slowest_worker_is_named_at_its_slowest_line() -> None:
    def worker(index: int, between: float) -> Member:
        return Member(Task("worker", index), capture(paces=[Pace(100, 0.01, between)]))

    members = (worker(0, 0.01), worker(1, 0.2), worker(2, 0.01))
    one = first(spent({"launch": 20.0, "python": 1.0}), capture(members=members))
    assert (one.cause, one.text) == ("straggler", "the other workers wait for worker 1")
    assert one.seconds == pytest.approx(19.0, abs=0.01)
    alike = tuple(worker(index, 0.01) for index in range(3))
    assert not advise(capture(members=alike), (), spent({"launch": 20.0, "python": 1.0}))


def heavy(dtype: str) -> Capture:
    return capture(nodes=Counter({Node(THERE, "MatMul", "", "GPU:0", "", dtype, "step"): 4}))


def test_fewer_bits_are_for_gpus_that_are_busy_computing() -> None:
    busy = spent({"gpu": 9.0, "launch": 1.0}, busy={"GPU:0": 0.9})
    one = first(busy, heavy("float32"))
    assert (one.cause, one.where, one.seconds) == ("precision", THERE, 4.5)
    assert not [one for one in advise(heavy("bfloat16"), (), busy) if one.cause == "precision"]
    idle = spent({"gpu": 0.4, "launch": 0.6}, busy={"GPU:0": 0.4})
    assert {one.cause for one in advise(heavy("float32"), (), idle)} == {"launch-bound"}


def test_float64_is_slow_everywhere() -> None:
    one = first(spent({"launch": 10.0}), heavy("float64"), finding("GPU604", HERE, instead="train in float32"))
    assert (one.cause, one.code, one.where, one.seconds) == ("precision", "GPU604", HERE, 5.0)


# -------------------------------------------------------------------------------------------------- memory


OOM = (
    "ResourceExhaustedError: OOM when allocating tensor with shape[64,1024,1024] and type float on "
    "/job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc"
)


def test_a_program_without_memory_needs_that_first() -> None:
    one = advise(capture(error=OOM, error_at=THERE), (), None)[0]
    assert (one.cause, one.where, one.text) == ("out-of-memory", THERE, "GPU:0 has no memory left for 256 MiB")
    assert one.seconds == 0


def test_memory_that_python_keeps_is_not_the_batchs() -> None:
    who = (Holder("GPU:0", "python", THERE, 600), Holder("GPU:0", "weights", HERE, 400))
    seen, full = capture(error=OOM, error_at=THERE), Held("GPU:0", 1000, None, None, None, who)
    assert advise(seen, (), None, [full])[0].fix.startswith("Keep no tensor of a step longer than the step")
    assert advise(seen, (), None, [full._replace(holders=who[1:])])[0].fix.startswith("Use a smaller batch")


def test_allocations_that_are_retried_are_lost_time() -> None:
    lines = [f"Allocator (GPU_0_bfc) ran out of memory trying to allocate {n}.00GiB" for n in range(3)]
    seen = capture(logs={"stderr": Log(messages=lines)})
    assert advise(seen, (), None)[0].cause == "out-of-memory"
    one = first(spent({"launch": 40.0}), seen)
    assert (one.cause, one.seconds) == ("out-of-memory", 30.0)


# --------------------------------------------------------------------------------------------------- nothing


def test_a_run_without_a_cause_gets_no_advice() -> None:
    time = spent({"gpu": 9.6, "launch": 0.1, "input": 0.1, "python": 0.2}, busy={"GPU:0": 0.96})
    assert not advise(heavy("bfloat16"), (), time)
    assert not advise(capture(logical=("CPU:0",)), (), spent({"launch": 9.9, "python": 0.1}))
    assert not advise(Capture(), (), None)


def test_each_cause_of_the_contract_has_a_module() -> None:
    assert {one.name.replace("_", "-") for one in pkgutil.iter_modules(causes.__path__)} == set(CAUSES)
