"""Steps wait for their input: advice for its kind."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gpulint.probe.advice.advice import Candidate, Observed
from gpulint.probe.advice.matching import finding_of, place_of, sentence
from gpulint.probe.advice.pipelines import CACHE, GENERATOR, INTERLEAVE, MAP, stages
from gpulint.probe.agent.models import ARRAYS, DATASET, LOADER
from gpulint.probe.agent.models import GENERATOR as KERAS_GENERATOR
from gpulint.probe.capture.records import Where
from gpulint.probe.measures.time_spent import PartAt
from gpulint.probe.measures.time_words import duration

PARALLEL = "num_parallel_calls=tf.data.AUTOTUNE"

RULES = ("GPU404", "GPU402")
"""Rules about slow stages. Those about `prefetch` are not: TensorFlow prefetches by itself."""


def candidates(observed: Observed) -> Iterator[Candidate]:
    """Each line that waits for an input."""
    lines: dict[Where | None, list[PartAt]] = defaultdict(list)
    for one in observed.time.by_line:
        if one.name == "input":
            lines[one.where].append(one)
    for where, waits in lines.items():
        seconds, count = sum(one.seconds for one in waits), sum(one.count for one in waits)
        steps = observed.time.steps
        evidence = f"{min(count, steps):,} of {steps:,} steps waited for it, {duration(seconds / max(count, 1))} each."
        at, text, fix, code = _stage(observed, where)
        yield Candidate("input-bound", at, text, evidence, fix, {"input": seconds}, code)


def _stage(observed: Observed, where: Where | None) -> tuple[Where | None, str, str, str | None]:
    """What the line waits for: its place, what is wrong with it, the fix, and the rule that found it."""
    given = next((one for one in observed.capture.data if one.where == where), None)
    if given is not None and given.kind == LOADER:
        if given.workers > 1:
            text = f"{given.workers} workers of the `PyDataset` cannot keep up with training"
            return where, text, "Give it more `workers`, or do less for each batch.", None
        text = "the `PyDataset` loads one batch after the other"
        return where, text, "Pass `workers=8` to its constructor; `use_multiprocessing=True` for work in Python.", None
    if given is not None and given.kind == KERAS_GENERATOR:
        text = "a Python generator makes one batch after the other"
        return where, text, "Make it a `PyDataset` with `workers=8`, or a `tf.data` pipeline.", None
    if given is not None and given.kind == ARRAYS:
        batch = f" of {given.batch}" if given.batch else ""
        text = f"batches{batch} are cut out of arrays"
        return where, text, "Use a larger `batch_size`: each batch costs about the same.", None
    return _of_pipeline(observed, where)


def _of_pipeline(observed: Observed, where: Where | None) -> tuple[Where | None, str, str, str | None]:
    built = {one.where for one in stages(observed.capture)}
    finding = finding_of(observed, RULES, where.path if where is not None else None)
    if finding is not None:
        at, related = place_of(finding), [one for one in built if one.path == finding.span.path]
        in_map = finding.code == "GPU404" and "generator" not in finding.message
        fix = f"Give `map` `{PARALLEL}`, or use TensorFlow operations." if in_map else sentence(finding.instead)
        if related or not built:
            return at, finding.message, fix, finding.code
    by_kind = {one.kind: one.where for one in reversed(stages(observed.capture))}
    if GENERATOR in by_kind:
        text = "`from_generator` takes its elements from Python, one after the other"
        return by_kind[GENERATOR], text, "Yield whole batches, or prepare the data beforehand (TFRecord).", None
    for kind, method in ((MAP, "map"), (INTERLEAVE, "interleave")):
        if kind in by_kind:
            return by_kind[kind], f"`{method}` prepares one element after the other", f"Give it `{PARALLEL}`.", None
    known = "dataset" if where is None or not _is_fit(observed, where) else "dataset that `fit` reads"
    fix = "Do less for each element, or prepare the data beforehand."
    if CACHE not in by_kind:
        fix = "Keep what does not change between epochs with `cache()`, or do less for each element."
    return where, f"the {known} is slower than the step", fix, None


def _is_fit(observed: Observed, where: Where) -> bool:
    return any(one.where == where and one.kind == DATASET for one in observed.capture.data)
