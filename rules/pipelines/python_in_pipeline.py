"""GPU404."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from gpulint.plugin import Plan, Report, Rule, Severity, Site, confidence, values
from gpulint.plugin.queries import datasets_in, known, pipelines
from gpulint.plugin.words import PREPARING_WORDS, PYTHON_WORDS


class PythonInPipeline(Rule):
    """Python prepares every element

    ## What it does
    Finds `from_generator` of single elements (also within `interleave` and `flat_map`), and `py_function` and
    `numpy_function` in a sequential map, in a training pipeline (also in one that a function returns, if it is shuffled
    or randomly augmented).

    ## Why is this bad
    One Python interpreter with one lock feeds all GPUs. Measured: an element of `from_generator` takes 0.2 to 0.3 ms
    before its work begins (0.02 to 0.07 in batches of 32), and arithmetic in Python takes 2 to 7 times as long as in
    TensorFlow operations. Parallel calls only help work that releases the lock
    (`benchmarks/experiments/python_in_pipeline.py`).

    ## Example
    ```python
    import tensorflow as tf


    def samples():
        for number in range(100_000):
            yield [float(number), float(number % 7)]


    dataset = tf.data.Dataset.from_generator(samples, output_signature=tf.TensorSpec((2,))).batch(32)
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse")
    model.fit(tf.data.Dataset.zip((dataset, dataset)))
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    numbers = tf.data.Dataset.range(100_000)
    dataset = numbers.map(lambda n: tf.cast(tf.stack([n, n % 7]), tf.float32)).batch(32)
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse")
    model.fit(tf.data.Dataset.zip((dataset, dataset)))
    ```

    ## What is not reported
    Generators of whole batches that do little reading and computing per sample, also if `.batch(1)` follows; generators
    of names that a map reads (a string first, or one among integers, and the generator is not seen to read the files);
    a handful of elements; Python functions that process batches as whole arrays, that return names (`Tout` has
    `tf.string`), or that are in a map with `num_parallel_calls`; maps that call them only with some settings where the
    program's are unknown; maps before a `cache`; pipelines that only evaluation reads.

    ## At run time
    Steps that wait for input.
    """

    code = "GPU404"
    name = "python-in-pipeline"
    severity = Severity.WARNING
    is_performance = True
    any_of_names = PYTHON_WORDS
    all_of_name_sets = (PREPARING_WORDS,)
    why = "Python's GIL lets only one thread run at a time: one CPU core feeds all GPUs, which sit idle meanwhile"
    instead = "use TensorFlow operations, prepare the data beforehand (TFRecord), or `batch` before this step"
    cost = "input 2 to 7× slower"

    def on_end(self, plan: Plan) -> Iterator[Report]:
        for event in pipelines.made_for_training(plan):
            sources = list(datasets_in(event.dataset))
            for one, batched, mapped in _all(event.dataset):
                gives_names = one.gives_names and mapped
                fresh = pipelines.after_cache(one.steps)
                read = pipelines.reader(event)
                from_generator = one.source.endswith(".from_generator") and len(fresh) == len(one.steps)
                few = batched is not None and pipelines.yields_few(one) and any(one is source for source in sources)
                if from_generator and not few and not pipelines.is_toy(one) and not gives_names:
                    for_samples = one.work.for_samples() if one.work is not None else None
                    if batched is not None:
                        yield Report(
                            one.site,
                            "`from_generator` feeds the pipeline one element at a time from Python",
                            instead=_READ_FILES if mapped else _YIELD_BATCHES,
                            confidence=confidence(event.where),
                            happens_at=event.site,
                            related=((batched, "the elements are put into batches here"), read),
                        )
                    elif for_samples is not None:
                        yield Report(
                            one.site,
                            "a generator prepares its batches sample by sample",
                            instead=_PREPARE_BATCHES,
                            confidence=confidence(event.where),
                            happens_at=event.site,
                            related=((for_samples, "this line runs for every sample"), read),
                        )
                for step in fresh:
                    slow = ("python",) if pipelines.goes_over_batches(one.steps, step) else ("array", "python")
                    called = pipelines.effect_of(step, event, *slow)
                    if called is not None and not pipelines.is_parallel(step):
                        yield Report(
                            called.site,
                            f"{_FUNCTIONS.get(called.name, 'Python runs')} for every element, one at a time",
                            instead=f"{self.instead}; {_PARALLEL}",
                            confidence=confidence(event.where),
                            happens_at=event.site,
                            related=((step.site, "this transformation calls the function"), read),
                            supersedes=(step.site,),
                        )


_YIELD_BATCHES = (
    "yield whole batches from the generator and remove the later `batch`, or write the data to TFRecord files once and "
    "read those"
)

_READ_FILES = (
    "use `from_tensor_slices` if the data fits in memory; otherwise write it to TFRecord files once and read those"
)

_PREPARE_BATCHES = "prepare whole batches in the generator, or write the data to TFRecord files once and read those"

_PARALLEL = "`num_parallel_calls` helps only a function that releases the GIL, such as one that reads a file"

_FUNCTIONS = {f"tensorflow.{name}": f"`{name}` runs Python" for name in ("numpy_function", "py_function")}


def _maps_singly(dataset: values.Dataset) -> bool:
    """Whether a map gets the elements one by one. If a generator yields file names, the cost is reported for the map
    that reads the files."""
    singly = itertools.takewhile(lambda step: step.name not in pipelines.BATCHES, dataset.steps)
    return any(step.name in ("map", "interleave", "flat_map") for step in singly)


def _joins(step: values.Step) -> bool:
    """Whether a transformation puts several elements into a batch."""
    return step.name in pipelines.BATCHES and known(step.arguments.get("batch_size", 0)) != 1


def _all(dataset: values.Dataset) -> Iterator[tuple[values.Dataset, Site | None, bool]]:
    """A dataset, its inputs and the generators in it, each with the step that batches its elements later, and whether
    they are mapped one by one."""
    seen: set[tuple[int, bool, bool]] = set()
    pending: list[tuple[values.Dataset, Site | None, bool]] = [(dataset, None, False)]
    while pending:
        one, batched, mapped = pending.pop()
        reads = one.work is not None and one.work.reads
        joining = (step for step in one.steps if _joins(step) or (step.name in pipelines.BATCHES and reads))
        batched = next((step.site for step in joining), batched)
        is_singly = all(step.name not in pipelines.BATCHES for step in one.steps)
        mapped = (mapped and is_singly) or _maps_singly(one)
        if (id(one), batched is None, mapped) not in seen:
            seen.add((id(one), batched is None, mapped))
            yield one, batched, mapped
            steps = pipelines.after_cache(one.steps)
            inner = [made for step in steps for made in step.inner if made.source.endswith(".from_generator")]
            pending += [(given, batched, mapped) for given in reversed((*inner, *one.inputs))]
