"""Traces and compilations beyond the first are lost time."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from gpulint.probe.advice.advise import advise
from gpulint.probe.capture.records import Data, Function, ModelCall, Retrace, Where
from gpulint.probe.measures.time_spent import PartAt, Tracing
from tests.probe.advice.seen import HERE, THERE, TRACED, capture, finding, first, tracing
from tests.probe.advice.times import spent


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
    larger = Counter({Retrace(HERE, "train", True, "shape", "x", "(1, 28) → (64, 28)"): 1})
    assert first(time, capture(retraces=larger)).fix.startswith("Give it an `input_signature`")
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


def test_the_evaluations_of_a_fit_are_no_calls_of_a_loop() -> None:
    """Two models, each trained with `validation_data`."""
    tracings = [tracing("step", "trace", 4, 8.0, 0)]
    time = spent({"trace": 8.0, "launch": 4.0}, by_line=[PartAt("trace", THERE, 8.0, 4, "step")], tracings=tracings)
    calls = {ModelCall(THERE, "evaluate"): (2, 3.0), ModelCall(THERE, "fit"): (2, 15.0)}
    assert not advise(capture(model_calls=calls, data=Counter({Data(THERE, "dataset", 0, 0): 2})), (), time)
    many = [tracing("step", "trace", 8, 8.0, 0)]
    calls = {ModelCall(THERE, "evaluate"): (4, 3.0), ModelCall(THERE, "fit"): (4, 15.0)}
    (one,) = advise(capture(model_calls=calls), (), replace(time, tracings=tuple(many)))
    assert one.text == "each of the 4 calls of `fit` traces its model"


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


@pytest.mark.parametrize(
    ("shapes", "fix"),
    [
        ("(None,), (None, 28)", "drop_remainder=True"),
        ("(None, None)", "Pad"),
        ("(8, 4), (8,)", "Pad"),
        ("(None, 8, None)", "Pad"),
    ],
)
def test_a_smaller_last_batch_is_dropped(shapes: str, fix: str) -> None:
    again = tracing("train", "xla", 2, 8.0, 1, shapes)
    one = first(spent({"trace": 8.0, "launch": 2.0}, by_line=[TRACED], tracings=[again]), capture())
    assert fix in one.fix


def test_compiling_before_the_first_step_ends_costs_the_run() -> None:
    seen = capture(end={"status": 0, "seconds": 60.0})
    time = spent({"trace": 0.5, "launch": 9.5}, by_line=[PartAt("trace", HERE, 0.5, 1, "train")])
    (one,) = advise(seen, (), replace(time, tracings=(tracing("train", "xla", 1, 30.5, 0),)))
    assert (one.cause, one.is_outside, one.seconds) == ("recompiling", True, 30.5)
    assert not advise(seen, (), replace(time, tracings=(tracing("train", "xla", 1, 2.0, 0),))), "it pays"


def test_a_function_that_is_traced_again_outside_training_costs_the_run() -> None:
    seen = capture(end={"status": 0, "seconds": 20.0})
    time = spent({"launch": 0.5}, tracings=[Tracing("score", THERE, "trace", 11, 6.0, (), 10, 5.0)])
    (one,) = advise(seen, [finding("GPU504", THERE)], time)
    assert (one.cause, one.where, one.seconds) == ("retracing", THERE, 5.0)
    assert one.outside == ("11 traces of `score`", 6.0, 5.0)
    assert one.is_outside
    assert not advise(seen, (), time), "without a finding, another shape may be what the program needs"
