"""Steps wait for their input: advice for its kind."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate, product

from gpulint.linting.finding import Finding
from gpulint.probe.advice.advice import Candidate, Observed
from gpulint.probe.advice.causes.new_models import new_traces
from gpulint.probe.advice.causes.retracing import OF_PIPELINES
from gpulint.probe.advice.matching import finding_at, place_of, sentence
from gpulint.probe.advice.pipeline_ends import recurs
from gpulint.probe.advice.pipelines import CACHE, GENERATOR, INTERLEAVE, MAP, PARALLEL_MAP, stages
from gpulint.probe.agent.inputs import CLOSE, NEXT, OPEN
from gpulint.probe.agent.models import ARRAYS, DATASET, LIBRARY, LOADER, LOADERS, SEQUENCE
from gpulint.probe.agent.models import GENERATOR as KERAS_GENERATOR
from gpulint.probe.capture.records import Data, Where
from gpulint.probe.measures.peer_waits import peer_waits
from gpulint.probe.measures.time_spent import CODE, PartAt
from gpulint.probe.measures.time_words import duration
from gpulint.probe.measures.waiting import waits
from gpulint.probe.verdicts.evidence import NEAR

MANY = 3
"""Calls of `fit` on one line that are a loop."""

PARALLEL = "num_parallel_calls=tf.data.AUTOTUNE"

CACHED = "Keep what does not change between epochs with `cache()`, or do less for each element."

FED = 0.2
"""Threads that run Python of the program for the pipeline, on average, from which Python is what it waits for."""

LOADING = "GPU406"
"""The rule about Python that makes batches for `fit` in one thread."""

MOST = 0.8
"""Share of the waits that a few steps make up, and of all waits for input that those for elements do."""

SOME = 0.1
"""Share of the steps that are a few."""

WITHOUT_STEPS = ("evaluation", "prediction")
"""Phases in which nothing is trained."""

RULES = ("GPU404", "GPU402")
"""Rules about slow stages. Those about `prefetch` are not: TensorFlow prefetches by itself."""


def candidates(observed: Observed) -> Iterator[Candidate]:
    """Each line that waits for an input."""
    lines: dict[Where | None, list[PartAt]] = defaultdict(list)
    for one in observed.time.by_line:
        if one.name == "input":
            lines[one.where].append(one)
    for where, of_line in lines.items():
        if (calls := _fits(observed, where)) >= MANY and _epochs(observed, where) <= calls:
            if not new_traces(observed, where):  # a pipeline for each model is needed
                yield _rebuilt(observed, where, calls, of_line)
            continue
        for_elements = [one for one in of_line if one.detail == NEXT]
        seconds, count = sum(one.seconds for one in for_elements), sum(one.count for one in for_elements)
        seconds *= _own_share(observed, where)
        if count:
            evidence = _waited(observed, seconds, count)
            at, text, fix, code = _stage(observed, where, seconds / count, count)
            if fix == CACHED and (passes := _passes(observed, where)):
                seconds *= 1 - 1 / passes  # the first one fills the cache
            yield Candidate("input-bound", at, text, evidence, fix, {"input": seconds}, code)
        opened = sum(one.count for one in of_line if one.detail == OPEN)
        if opened and not observed.capture.simulated:  # the replicas share a CPU, which delays the end of a pipeline
            closes = recurs(observed.capture, where)
            between = [one for one in of_line if one.detail == OPEN or (one.detail == CLOSE and closes)]
            yield from _reopened(observed, where, between)
            yield from _validated(observed, where)


def _waited(observed: Observed, seconds: float, count: int) -> str:
    """How many steps waited, and how long: if few make up most of it, as where each epoch fills a buffer, those."""
    steps, each = observed.time.steps, observed.time.each
    waits = sorted((one.parts.get("input", 0.0) for one in each), reverse=True)
    total = observed.time.seconds_of("input")
    few = bisect_left([*accumulate(waits)], MOST * sum(waits)) + 1
    if len(each) == steps and few <= SOME * steps and seconds >= MOST * total:
        return f"{few:,} of {steps:,} steps waited for most of it, {duration(sum(waits[:few]) / few)} each."
    return f"{min(count, steps):,} of {steps:,} steps waited for it, {duration(seconds / count)} each."


def _own_share(observed: Observed, where: Where | None) -> float:
    """Share of the waits of a line that is not for the other workers of a cluster."""
    worker = next((one for task, one in observed.capture.trainers if task.name == observed.time.worker), None)
    if worker is None:
        return 1.0
    whole, peers = waits(worker).get(where), peer_waits(worker).get(where)
    return 1 - peers.waited / whole.waited if whole is not None and peers is not None and whole.waited else 1.0


def _waits_for_tuning(lines: list[PartAt]) -> str:
    """Advice, as a sentence, if closing pipelines takes most of these waits; else ""."""
    closing = sum(one.seconds for one in lines if one.detail == CLOSE)
    if 2 * closing <= sum(one.seconds for one in lines):
        return ""
    why = "the thread that autotunes a pipeline sometimes stops late"
    return f" Closing pipelines took {duration(closing)} in total: {why}. `options.autotune.enabled = False` avoids it."


def _validated(observed: Observed, where: Where | None) -> Iterator[Candidate]:
    """The evaluations of a call of `fit` open their own pipelines, of which the first is needed."""
    fits = _fits(observed, where)
    evaluations = sum(one.where == where and one.name in WITHOUT_STEPS for one in observed.time.phases)
    seconds, opened = _in_evaluations(observed, where, OPEN)
    if fits and opened and evaluations > fits:
        yield Candidate(
            "input-bound",
            where,
            "each evaluation opens its own pipeline",
            f"Opening it took {duration(seconds / evaluations)} each time, {evaluations:,} times.",
            "Evaluate less often: pass `validation_freq` to `fit`.",
            {"input": seconds * (evaluations - fits) / evaluations},
        )


def _fits(observed: Observed, where: Where | None) -> int:
    """Number of calls of `fit` on a line."""
    return sum(number for one, number in observed.capture.data.items() if one.where == where)


def _epochs(observed: Observed, where: Where | None) -> int:
    """Number of epochs that calls of `fit` on a line trained: each of a few folds or models has several."""
    return sum(one.where == where and one.name.startswith("epoch ") for one in observed.time.phases)


def _in_evaluations(observed: Observed, where: Where | None, detail: str) -> tuple[float, int]:
    """Seconds and number of the openings or ends of pipelines of a line during evaluations and predictions."""
    capture = observed.capture
    last = max((one.ended for one in capture.segments if one.steps), default=0.0)
    works = [
        work
        for one in capture.segments
        if one.began < last and one.stage in capture.stages and capture.stages[one.stage].name in WITHOUT_STEPS
        for work in one.work
        if (work.where, work.state, work.detail) == (where, "input", detail)
    ]
    return sum(work.seconds for work in works), sum(work.times for work in works)


def _of_epochs(observed: Observed, where: Where | None, line: PartAt) -> PartAt:
    """The part of a line of `fit` that belongs to its epochs, not to its evaluations."""
    seconds, number = _in_evaluations(observed, where, line.detail)
    return replace(line, seconds=max(line.seconds - seconds, 0.0), count=max(line.count - number, 0))


def _reopened(observed: Observed, where: Where | None, between: list[PartAt]) -> Iterator[Candidate]:
    """Each epoch begins with a new pipeline, and ends with the wait for what the old one is still doing. The first
    pipeline of a loop, or of a call of `fit` or `evaluate`, is needed; that of the first epoch of all was opened before
    the time began."""
    phases = observed.time.phases
    fits = _fits(observed, where)
    if fits:
        between = [_of_epochs(observed, where, one) for one in between]
    opened = sum(one.count for one in between if one.detail == OPEN)
    names = [one.name for one in phases if one.where == where and one.name in WITHOUT_STEPS] if not fits else []
    tests = len(names)
    is_first = bool(phases) and phases[0].where == where
    needed = opened // tests if tests else fits  # legacy Keras opens two for an evaluation
    again = opened - max(needed, 1) + is_first
    if again < 1:
        return
    text = "each epoch reopens the pipeline" if fits else "each pass over the dataset reopens its pipeline"
    fix = "Create the dataset once, iterate over its `repeat()`, and count the steps of an epoch."
    kind = next((one.kind for one in observed.capture.data if one.where == where), "")
    if kind in (LOADER, LIBRARY):
        whose = "a subclass of its class" if kind == LIBRARY else "the `PyDataset`"
        fix = (
            f"Return None from `num_batches` of {whose}, and pass `steps_per_epoch` to `fit`: one pipeline "
            "serves all epochs. The index then keeps counting: take it modulo the number of batches."
        )
    elif kind == SEQUENCE:
        fix = "Let `__len__` cover several epochs, and pass fewer `epochs` to `fit`."
    elif fits:
        fix = "Give `fit` a dataset that ends in `repeat()`, with `steps_per_epoch`: one pipeline serves all epochs."
    elif tests:
        text, fix = f"each {names[0]} opens its own pipeline", "Evaluate less often."
        if set(names) == {"prediction"}:
            fix = "Predict less often, or call the model itself: `model(x, training=False)` opens no pipeline."
    seconds = sum(one.seconds for one in between)
    saved = seconds * again / opened
    closes = any(one.detail == CLOSE for one in between)
    what = "Closing one and opening the next" if closes else "Opening one"
    took = f"{what} took {duration(seconds / opened)}" + (f" each time, {again:,} times" if again > 1 else "")
    epochs = _epochs(observed, where)
    if fits and again > epochs - fits > 0:  # Keras opens several for each epoch
        what = "Closing and opening" if closes else "Opening"
        took = f"{what} pipelines took {duration(saved / (epochs - fits))} per epoch"
    yield Candidate(
        "input-bound",
        where,
        text,
        f"{took}.{_waits_for_tuning(between)}",
        fix,
        {"input": saved},
    )


def _rebuilt(observed: Observed, where: Where | None, calls: int, lines: list[PartAt]) -> Candidate:
    """A loop that calls `fit`: most of the wait is for pipelines that are built."""
    at_line = [one for one in observed.time.by_line if one.where == where]
    traced = sum(one.seconds for one in at_line if one.name == "trace" and one.detail.startswith(OF_PIPELINES))
    python = sum(one.seconds for one in at_line if (one.name, one.detail) == ("python", CODE))
    waited = sum(one.seconds for one in lines)
    each = (waited + traced + python) / calls
    return Candidate(
        "input-bound",
        where,
        f"each of the {calls:,} calls of `fit` builds its own pipeline",
        f"Building it and waiting for it took {duration(each)} per call.{_waits_for_tuning(lines)}",
        "Call `fit` once with all data, or `train_on_batch` for each batch.",
        {"input": waited, "trace": traced, "python": python},
    )


def _stage(
    observed: Observed, where: Where | None, each: float, count: int
) -> tuple[Where | None, str, str, str | None]:
    """Stage that a line waits for, `each` seconds for each of `count` elements: its place, its problem, the fix, and
    the rule that found it."""
    given = next((one for one in observed.capture.data if one.where == where), None)
    if given is not None and given.kind in (*LOADERS, KERAS_GENERATOR):
        finding = finding_at(observed, (LOADING,), where, (0, NEAR))
        return where, *_of_loader(given), finding.code if finding is not None else None
    if given is not None and given.kind == ARRAYS:
        batch = f" of {given.batch}" if given.batch else ""
        text = f"`fit` slices each batch{batch} out of arrays"
        return where, text, "Use a larger `batch_size`, or arrays of a smaller dtype (float32, uint8).", None
    if given is None and _is_of_python(observed, where, each, count):
        return where, *_of_python(observed, where), None
    return _of_pipeline(observed, where)


def _is_of_python(observed: Observed, where: Where | None, each: float, count: int) -> bool:
    """Whether `next()` takes most of the wait of a loop in Python, not the pipeline behind it: by the time to get this
    process's part of a distributed dataset, else by what tf.data measures of its stages. Stages before `batch` have
    more elements than the loop."""
    elements, seconds = observed.capture.local_input.get(where, (0, 0.0))
    if not elements and _is_measured(observed, where):
        stages_there = [one for one in observed.time.pipeline if one.where == where]
        elements = count if stages_there else 0
        seconds = sum(one.total for one in stages_there)
    return bool(elements) and seconds / elements < each / 2


def _is_measured(observed: Observed, where: Where | None) -> bool:
    """Whether tf.data measures all stages. It does not see the datasets that a function makes for each element, as
    `from_generator` does."""
    names = [one.name for pipeline in observed.capture.pipelines.get(where, ()) for one in pipeline]
    return bool(names) and not any("FlatMap" in name or "Interleave" in name for name in names)


def _of_python(observed: Observed, where: Where | None) -> tuple[str, str]:
    replicas = max((len(one.sizes) for one in observed.capture.splits if one.where == where), default=0)
    fix = "Iterate over the dataset inside a `tf.function`, or pass its iterator to the step."
    if replicas > 1:
        return f"Python distributes each element to {replicas} replicas", fix
    return "Python takes longer to request an element than the pipeline takes to produce it", fix


def _of_loader(given: Data) -> tuple[str, str]:
    """Problem of batches that Python creates, and the fix."""
    if given.kind == KERAS_GENERATOR:
        text = "a Python generator produces one batch at a time"
        return text, "Replace it by a `PyDataset` with `workers=8`, or a `tf.data` pipeline."
    name = SEQUENCE if given.kind == SEQUENCE else LOADER
    if given.workers > 1:
        less = "" if given.kind == LIBRARY else ", or do less for each batch"
        return f"{given.workers} workers of the `{name}` cannot keep up with training", f"Give it more `workers`{less}."
    fix = "Pass `workers=8` to its constructor, and `use_multiprocessing=True` if it computes in Python."
    if given.kind == LIBRARY:  # whose constructor need not take them
        fix = "Set its `workers` to 8 before `fit`, and `use_multiprocessing` to True if it computes in Python."
    elif given.kind == SEQUENCE:
        fix = "Pass `workers=8` to `fit`, and `use_multiprocessing=True` if it computes in Python."
    return f"the `{name}` loads one batch at a time", fix


def _of_pipeline(observed: Observed, where: Where | None) -> tuple[Where | None, str, str, str | None]:
    pipelines = stages(observed.capture, where)
    for pipeline, rows, rule in product(pipelines, (0, NEAR), RULES):
        for stage in pipeline:
            finding = finding_at(observed, (rule,), stage.where, (rows,))
            if finding is not None:
                return place_of(finding), finding.message, _fix(finding), finding.code
    threads = sum(one.threads for one in observed.time.input_stages)
    python = threads if threads >= FED else 0.0
    slowest = next((one.name for one in observed.time.pipeline if one.where == where), "")
    is_cached = any(stage.kind == CACHE for pipeline in pipelines for stage in pipeline)
    can_cache = not is_cached and _passes(observed, where) != 1
    for pipeline in pipelines:
        by_kind = {one.kind: one.where for one in reversed(pipeline)}
        if slowest.startswith(("ParallelMap", "MapAndBatch")) and PARALLEL_MAP in by_kind:
            by_kind.pop(MAP, None)  # the sequential map is another, cheap one
            if python:
                text = "`map` runs Python for each element" + (", one thread at a time" if python <= 1 else "")
                other = "keep the elements with `cache()`" if can_cache else "prepare the data beforehand"
                fix = f"Use TensorFlow operations, or {other}."
                return by_kind[PARALLEL_MAP], text, fix, None
        if GENERATOR in by_kind:
            text = "`from_generator` takes its elements from Python, one at a time"
            return by_kind[GENERATOR], text, "Yield whole batches, or prepare the data beforehand (TFRecord).", None
        for kind, method in ((MAP, "map"), (INTERLEAVE, "interleave")):
            if kind in by_kind:
                fix = f"Pass `{PARALLEL}`" + (", or use TensorFlow operations instead of Python." if python else ".")
                return by_kind[kind], f"`{method}` processes one element at a time", fix, None
    is_fit = any(one.where == where and one.kind == DATASET for one in observed.capture.data)
    if not is_fit and any(len(one.sizes) > 1 for one in observed.capture.splits if one.where == where):
        return where, *_of_python(observed, where), None
    fix = CACHED if can_cache else "Do less for each element, or prepare the data beforehand."
    return where, f"the step waits for the dataset{' that `fit` reads' if is_fit else ''}", fix, None


def _passes(observed: Observed, where: Where | None) -> int | None:
    """How often a line iterates over its dataset; None if that is unknown, as within a function and after `repeat`."""
    names = {one.name for pipeline in observed.capture.pipelines.get(where, ()) for one in pipeline}
    if any(name.startswith("Repeat") for name in names):
        return None
    return sum(one.where == where and one.name not in WITHOUT_STEPS for one in observed.time.phases) or None


def _fix(finding: Finding) -> str:
    in_map = finding.code == "GPU404" and "generator" not in finding.message
    return f"Pass `{PARALLEL}` to `map`, or use TensorFlow operations." if in_map else sentence(finding.instead)
