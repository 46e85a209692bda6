"""Advice on waiting for input fits what is waited for."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from gpulint.probe.advice.advice import Advice
from gpulint.probe.advice.advise import advise
from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Data, Execution, Segment, Split, Stage, Transformation, Where, Work
from gpulint.probe.measures.time_spent import InputStage, PartAt, PipelineStage, TimeSpent
from tests.probe.advice.seen import HERE, OTHER, THERE, WAITING, capture, finding, first, input_at, opened, phase
from tests.probe.advice.times import spent


def built(*operations: tuple[str, Where]) -> Counter[Execution]:
    return Counter({Execution(where, op, "", "CPU:0"): 1 for op, where in operations})


@pytest.mark.parametrize(
    ("seen", "where", "fix"),
    [
        (capture(data=Counter({Data(HERE, "PyDataset", 1, 0): 1})), HERE, "`workers=8`"),
        (capture(data=Counter({Data(HERE, "PyDataset", 4, 0): 1})), HERE, "more `workers`"),
        (capture(data=Counter({Data(HERE, "PyDataset of a library", 1, 0): 1})), HERE, "Set its `workers` to 8"),
        (capture(data=Counter({Data(HERE, "Sequence", 1, 0): 1})), HERE, "Pass `workers=8` to `fit`"),
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
        ("PyDataset of a library", "Return None from `num_batches` of a subclass of its class, and pass"),
        ("Sequence", "Let `__len__` cover several epochs"),
        ("PyDataset", "Return None from `num_batches` of the `PyDataset`, and pass `steps_per_epoch`"),
        (None, "Create the dataset once, iterate over its `repeat()`"),
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
    passed = "each epoch reopens the pipeline" if kind else "each pass over the dataset reopens its pipeline"
    assert one.text == passed
    assert one.evidence == "Closing one and opening the next took 1.2 s each time, 4 times."
    assert fix in one.fix


def test_a_long_wait_for_the_end_of_pipelines_names_the_thread_that_tunes_them() -> None:
    lines = [PartAt("input", HERE, 1.0, 4, "iter"), PartAt("input", HERE, 9.0, 4, "end of a pipeline")]
    time = spent({"input": 10.0, "launch": 5.0}, 100, lines, phases=[phase("epoch 1", HERE)])
    for fits in (1, 4):
        (one,) = advise(capture(data=Counter({Data(HERE, "dataset", 0, 0): fits})), (), time)
        assert "Closing pipelines took 9.0 s in total" in one.evidence
        assert "`options.autotune.enabled = False`" in one.evidence


def test_the_first_pipeline_of_a_loop_is_needed() -> None:
    """That of the first epoch of all was opened before the first step ended, when the time begins."""
    before = [phase("epoch 1", THERE)]
    once = spent({"input": 4.0, "launch": 5.0}, 100, opened(HERE, 1), phases=before)
    assert not advise(capture(), (), once)
    fits = capture(data=Counter({Data(HERE, "dataset", 0, 0): 2}))
    twice = spent({"input": 4.0, "launch": 5.0}, 100, opened(HERE, 2), phases=before)
    assert not advise(fits, (), twice), "two calls of `fit` need two"
    assert first(twice, capture()).seconds == pytest.approx(2.0)


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


def test_the_pipelines_of_evaluations_are_not_those_of_epochs() -> None:
    """`repeat()` saves those of the epochs alone."""
    phases = [phase(name, HERE) for name in ("epoch 1", "evaluation", "epoch 2", "evaluation", "epoch 3")]
    stages = {number: Stage(one.name, HERE) for number, one in enumerate(phases)}

    def run(epochs: float, evaluations: float) -> list[Advice]:
        took = {2: epochs / 2, 4: epochs / 2, 1: evaluations / 2, 3: evaluations / 2}
        segments = [
            Segment(number, number, number + 1.0, 1, {}, 0, (Work(HERE, "input", "iter", seconds, 1),))
            for number, seconds in took.items()
        ]
        seen = capture(data=Counter({Data(HERE, "arrays", 0, 32): 1}), stages=stages, segments=segments)
        lines = [PartAt("input", HERE, epochs + evaluations, 4, "iter")]
        return list(advise(seen, (), spent({"input": 8.0, "launch": 8.0}, 100, lines, phases=phases)))

    (one,) = run(4.0, 0.2)
    assert (one.text, one.seconds) == ("each epoch reopens the pipeline", pytest.approx(4.0))
    assert one.evidence == "Opening one took 2.0 s each time, 2 times."
    (one,) = run(0.2, 6.0)
    assert (one.text, one.seconds) == ("each evaluation opens its own pipeline", pytest.approx(3.0))
    assert one.evidence == "Opening it took 3.0 s each time, 2 times."
    assert "`validation_freq`" in one.fix


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


@pytest.mark.parametrize(
    ("passes", "repeats", "fix", "share"),
    [
        (0, False, "`cache()`", 1.0),
        (1, False, "prepare the data beforehand", 1.0),
        (4, False, "`cache()`", 0.75),
        (1, True, "`cache()`", 1.0),
    ],
)
def test_a_cache_saves_what_comes_after_the_first_epoch(passes: int, repeats: bool, fix: str, share: float) -> None:
    names = ["BatchDataset", "ParallelMapDataset", *["RepeatDataset"] * repeats]
    seen = capture(pipelines={HERE: [tuple(Transformation(name, THERE) for name in names)]})
    one = first(replace(WAITING, phases=tuple(phase("loop", HERE) for _ in range(passes))), seen)
    assert fix in one.fix
    assert one.seconds == pytest.approx(9.0 * share)


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


def test_waits_of_few_steps_are_no_rate() -> None:
    each = [one._replace(parts={"input": 2.9 if one.number in (1, 40, 80) else 0.003}) for one in WAITING.each]
    seen = capture(executions=built(("MapDataset", THERE)))
    assert first(replace(WAITING, each=tuple(each)), seen).evidence == (
        "3 of 100 steps waited for most of it, 2.9 s each."
    )


def test_folds_with_several_epochs_each_are_not_to_be_one_call_of_fit() -> None:
    """Each fold needs its own pipeline; those of its later epochs are not needed."""
    seen = capture(data=Counter({Data(HERE, "arrays", 0, 32): 4}))
    lines = [*opened(HERE, 12), PartAt("trace", HERE, 1.0, 12, "Dataset_map")]
    folds = [phase(f"epoch {number}", HERE) for _ in range(4) for number in (1, 2, 3)]
    one = first(spent({"input": 4.0, "trace": 1.0, "launch": 1.0}, by_line=lines, phases=folds), seen)
    assert one.text == "each epoch reopens the pipeline"
    alone = [phase("epoch 1", HERE) for _ in range(4)]
    once = first(spent({"input": 4.0, "trace": 1.0, "launch": 1.0}, by_line=lines, phases=alone), seen)
    assert once.text == "each of the 4 calls of `fit` builds its own pipeline"
