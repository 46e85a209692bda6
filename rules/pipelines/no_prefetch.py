"""GPU401."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.plugin import Plan, Report, Rule, Severity, confidence, safe, values
from gpulint.plugin.fixes import calls
from gpulint.plugin.queries import pipelines
from gpulint.plugin.words import DATASET_WORDS, OPTION_WORDS


class NoPrefetch(Rule):
    """Pipeline without prefetching

    ## What it does
    Finds a training pipeline that ends in a synchronous step, without `prefetch`, where TensorFlow does not add one:
    the program has disabled that, or the targeted release is older than 2.11.

    ## Why is this bad
    The next batch is only prepared when the step asks for it: the GPU waits for the host, then the host for the GPU.
    Measured where both take the same time: 1.75 to 1.86 times as long. By default there is no difference (0.96 to 1.01,
    `benchmarks/experiments/prefetch.py`), contrary to what the guides say.

    ## Example
    ```python
    import tensorflow as tf

    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = False
    examples = tf.data.Dataset.from_tensor_slices((tf.zeros((4096, 4)), tf.zeros((4096, 1))))
    dataset = examples.with_options(options).shuffle(4096).batch(32)
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
    dataset = examples.with_options(options).shuffle(4096).batch(32).prefetch(tf.data.AUTOTUNE)
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse")
    model.fit(dataset)
    ```

    ## What is not reported
    Every pipeline with the default options on TensorFlow 2.11 and later; a last step that runs ahead by itself
    (`num_parallel_calls`, or `map` directly followed by `batch`, which are fused); a `prefetch` after which complete
    elements are only batched, shuffled or repeated; distributed datasets; pipelines that only evaluation reads.

    ## Fix
    Safe: adds `.prefetch(tf.data.AUTOTUNE)` after the last step. The elements and their order are the same.

    ## At run time
    The gaps between steps.
    """

    code = "GPU401"
    name = "no-prefetch"
    severity = Severity.WARNING
    is_performance = True
    any_of_names = OPTION_WORDS
    any_of_names_before = (pipelines.INJECTS_PREFETCH, DATASET_WORDS)
    yields_to = ("GPU405",)
    why = "the next batch is prepared only when the step asks for it"
    instead = "end the pipeline with `.prefetch(tf.data.AUTOTUNE)`, or let TensorFlow prefetch"
    cost = "up to 1.9 × slower"

    def on_end(self, plan: Plan) -> Iterator[Report]:
        for event in pipelines.read_by_training(plan):
            if (last := pipelines.synchronous_end(event, plan)) is not None and not _is_prefetched(event.dataset):
                yield Report(
                    last,
                    "the pipeline does not prefetch",
                    confidence=confidence(event.where),
                    happens_at=event.site,
                    related=((event.site, "training reads it here"),),
                    fix=safe(
                        "Add `.prefetch(tf.data.AUTOTUNE)`", calls.appended, last, ".prefetch(tensorflow.data.AUTOTUNE)"
                    ),
                )


def _is_prefetched(dataset: values.Dataset) -> bool:
    """Whether elements are prefetched before steps that only batch and order them.

    A map without operations only names the parts of an element.
    """
    steps = [step for step in dataset.steps if step.name != "map" or step.effects or step.operations]
    names = [step.name for step in steps]
    work = [step for step in steps if step.name not in pipelines.NEUTRAL]
    if work and pipelines.is_parallel(work[-1]):
        return True
    return "prefetch" in names and _FINISHED.issuperset(names[len(names) - names[::-1].index("prefetch") :])


_FINISHED = pipelines.NEUTRAL | {"batch", "padded_batch", "repeat", "shuffle", "skip", "take"}
