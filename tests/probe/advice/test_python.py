"""Python between steps: reads of tensors, callbacks, calls of a model, checkpoints."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from gpulint.probe.advice.advise import advise
from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import (
    Data,
    Execution,
    ModelCall,
    Read,
    Sampled,
    Segment,
    SourceText,
    Stage,
    Steps,
    Where,
    Work,
)
from gpulint.probe.measures.time_spent import PartAt
from tests.probe.advice.seen import FITTED, HERE, THERE, capture, finding, first, phase
from tests.probe.advice.times import spent


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


def test_the_lines_of_a_function_that_steps_call_count_together() -> None:
    called = "def norms(g):\n    a = abs(g)\n    b = a.max()\n    return a + b\n"
    text = called + "\n\nfor g in data:\n    norms(g)\n    train()\n"
    at = {row: Where("/p/train.py", row) for row in range(1, 10)}
    seen = Capture(
        steps={("train", at[9]): Steps("train", at[9], 100, 1.0, 0.1)},
        sources={"/p/train.py": SourceText(0.0, "", text)},
        end={"status": 0},
    )
    lines = [PartAt("python", at[row], seconds, 9, "code") for row, seconds in ((2, 1.0), (3, 3.0), (8, 2.0))]
    one, two = advise(seen, (), spent({"python": 6.0, "launch": 4.0}, 100, lines))
    assert (one.where, one.text, one.seconds) == (at[3], "steps wait for Python in `norms`", pytest.approx(4.0))
    assert one.evidence == "It takes 40.0 ms of a 100 ms step, 75.0 % of it on this line."
    assert (two.where, two.text) == (at[8], "steps wait for Python on this line")
    moved = replace(seen, steps={("train", at[4]): Steps("train", at[4], 100, 1.0, 0.1)})
    texts = [one.text for one in advise(moved, (), spent({"python": 6.0, "launch": 4.0}, 100, lines))]
    assert set(texts) == {"steps wait for Python on this line"}, "the function is the training loop"


@pytest.mark.parametrize(("times", "is_told"), [(80, True), (10, False)])
def test_what_other_threads_run_while_a_line_waits_for_them_is_told(times: int, is_told: bool) -> None:
    waiting = Sampled(HERE, "python", "", "training")
    seen = capture(samples=Counter({waiting: 100, Sampled(THERE, "python", "", "outside"): times}))
    (one,) = advise(seen, (), spent({"python": 6.0, "launch": 4.0}, 100, [PartAt("python", HERE, 6.0, 100, "code")]))
    told = f"Meanwhile, other threads ran {THERE.in_short}."
    assert (told in one.evidence, one.fix.startswith("Do less there")) == (is_told, is_told)
    own = capture(samples=Counter({waiting: 100, Sampled(THERE, "launch", "", "outside"): 100}))
    (one,) = advise(own, (), spent({"python": 6.0, "launch": 4.0}, 100, [PartAt("python", HERE, 6.0, 100, "code")]))
    assert "Meanwhile" not in one.evidence


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
    assert "`histogram_freq`" in of_library.fix
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


def test_a_few_calls_of_a_model_are_no_loop() -> None:
    seen = capture(model_calls={ModelCall(THERE, "predict"): (2, 12.0)}, end={"status": 0, "seconds": 20.0})
    assert not advise(seen, [finding("GPU503", THERE)], spent({"launch": 0.5}))


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


def test_what_python_does_once_an_epoch_is_no_work_of_each_step() -> None:
    drawing = PartAt("python", THERE, 6.0, 300, "code", few=3)
    one = first(spent({"python": 6.0, "launch": 4.0}, by_line=[drawing]), capture())
    assert (one.cause, one.where, one.seconds) == ("slow-python", THERE, 6.0)
    assert one.evidence == "It takes 2.0 s each time, in 3 of 100 steps."
    assert one.fix == "Do it less often, or in a separate thread."
    callback = PartAt("python", HERE, 6.0, 3, "Drawing.on_epoch_end", few=3)
    assert first(spent({"python": 6.0, "launch": 4.0}, by_line=[callback]), FITTED).evidence == (
        "It takes 2.0 s each time, in 3 of 100 steps."
    )
