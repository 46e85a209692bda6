"""GPU405."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.plugin import Draft, Edit, Plan, Refused, Report, Rule, Severity, Site, confidence, unsafe
from gpulint.plugin.fixes import calls
from gpulint.plugin.queries import pipelines
from gpulint.plugin.words import DATASET_WORDS, OPTION_WORDS


class PrefetchNotLast(Rule):
    """Prefetch that is not the last step

    ## What it does
    Finds a training pipeline with a `prefetch` before `batch` or `map` and none at the end.

    ## Why is this bad
    Before `batch`, each element is handed from one thread to another on its own, and the buffer holds elements, not
    batches: measured on 200,000 small ones, 1.6 times the CPU time. And where TensorFlow adds no `prefetch` at the end,
    the steps after this one run while the training step waits: 1.86 times the time with a slow last step and
    `inject_prefetch` off. With the default options and large elements it costs nothing, so the rule is off by default
    (`benchmarks/experiments/prefetch_not_last.py`).

    ## Example
    ```python
    import tensorflow as tf

    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = False
    examples = tf.data.Dataset.from_tensor_slices((tf.zeros((4096, 4)), tf.zeros((4096, 1))))
    dataset = examples.with_options(options).prefetch(2).batch(32)
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse")
    model.fit(dataset)
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = False
    examples = tf.data.Dataset.from_tensor_slices((tf.zeros((4096, 4)), tf.zeros((4096, 1))))
    dataset = examples.with_options(options).batch(32).prefetch(2)
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse")
    model.fit(dataset)
    ```

    ## What is not reported
    A second `prefetch` at the end, distributed datasets, pipelines that only evaluation reads, a `map` after the
    `prefetch` where TensorFlow adds one at the end (2.11 and later, by default).

    ## Fix
    Unsafe: moves the `prefetch` after the last step, or adds one there. The buffer in memory then holds whole batches.

    ## At run time
    The gaps between steps.
    """

    code = "GPU405"
    name = "prefetch-not-last"
    severity = Severity.INFO
    is_performance = True
    on_by_default = False
    any_of_names = OPTION_WORDS
    any_of_names_before = (pipelines.INJECTS_PREFETCH, DATASET_WORDS)
    why = "the training step waits for the transformations after it"
    instead = "move it to the end of the pipeline, or add another one there"
    cost = "up to 1.9 × slower"

    def on_end(self, plan: Plan) -> Iterator[Report]:
        for event in pipelines.read_by_training(plan):
            steps = [step for step in event.dataset.steps if step.name not in pipelines.NEUTRAL]
            early = max((index for index, step in enumerate(steps) if step.name == "prefetch"), default=None)
            if early is None or early == len(steps) - 1 or pipelines.is_distributed(event, plan):
                continue
            waited_for = pipelines.synchronous_end(event, plan)
            batched = any(step.name in _BATCHES for step in steps[early + 1 :])
            if waited_for is None and not (batched and steps[-1].name in (*_BATCHES, "map")):
                continue
            last = waited_for or steps[-1].site
            yield Report(
                steps[early].site,
                "`prefetch` is not the last transformation",
                why="" if waited_for is not None else _OF_ELEMENTS,
                confidence=confidence(event.where),
                happens_at=event.site,
                related=((last, "this step comes after it"),),
                supersedes=(last,),
                fix=unsafe("Prefetch at the end: whole batches wait in memory", _at_end, steps[early].site, last),
            )


_BATCHES = ("batch", "padded_batch", "ragged_batch")

_OF_ELEMENTS = "the buffer holds single elements, not batches"


def _at_end(draft: Draft, prefetch: Site, last: Site) -> list[Edit]:
    """Move the prefetch after the last step, or add another one if that step is in another statement."""
    try:
        return calls.moved_in_chain(draft, prefetch, last, before=False)
    except Refused:
        return calls.appended(draft, last, ".prefetch(tensorflow.data.AUTOTUNE)")
