"""GPU402."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.plugin import Offer, Plan, Report, Rule, Severity, confidence, safe, unsafe, values
from gpulint.plugin.fixes import calls
from gpulint.plugin.queries import pipelines
from gpulint.plugin.words import DATASET_SOURCES, DATASET_WORDS, OPTION_WORDS, PREPARING_WORDS, STATEFUL_WORDS


class SequentialInput(Rule):
    """Pipeline that stays sequential

    ## What it does
    Finds `map` of a stateful function and `interleave` without `num_parallel_calls` in a training pipeline, and maps of
    any function where the program stops TensorFlow from making them parallel (or targets a release before 2.5). A
    pipeline that a function returns and that no training in the project reads counts as one if it is shuffled or
    randomly augmented. Also a training pipeline that ends in a synchronous step, without `prefetch`, where TensorFlow
    does not add one: the program has disabled that, or the targeted release is older than 2.11.

    ## Why is this bad
    One core prepares the data, however many the machine has. TensorFlow makes maps parallel by itself only if their
    function is stateless: random operations, Python functions, variables and tables are not. Measured on two cores: 1.8
    to 2.3 times the time for stateful functions, 0.94 to 1.02 for the others
    (`benchmarks/experiments/sequential_map.py`); 1.8 to 2.2 times for `interleave` (`sequential_interleave.py`).

    Without `prefetch`, the next batch is only prepared when the step asks for it: 1.75 to 1.86 times the time where
    both take the same. With the default options there is no difference (0.96 to 1.01,
    `benchmarks/experiments/prefetch.py`), contrary to what the guides say.

    ## Example
    ```python
    import tensorflow as tf


    def augment(image):
        image = tf.image.random_flip_left_right(image)
        return tf.image.random_brightness(image, 0.2)


    dataset = tf.data.Dataset.from_tensor_slices(tf.zeros((640, 8, 8, 3))).map(augment).batch(32)
    model = tf.keras.Sequential([tf.keras.layers.Conv2D(3, 3, padding="same")])
    model.compile(optimizer="sgd", loss="mse")
    model.fit(tf.data.Dataset.zip((dataset, dataset)))
    ```

    ## Use instead
    ```python
    import tensorflow as tf


    def augment(image):
        image = tf.image.random_flip_left_right(image)
        return tf.image.random_brightness(image, 0.2)


    dataset = tf.data.Dataset.from_tensor_slices(tf.zeros((640, 8, 8, 3)))
    dataset = dataset.map(augment, num_parallel_calls=tf.data.AUTOTUNE).batch(32)
    model = tf.keras.Sequential([tf.keras.layers.Conv2D(3, 3, padding="same")])
    model.compile(optimizer="sgd", loss="mse")
    model.fit(tf.data.Dataset.zip((dataset, dataset)))
    ```

    ## What is not reported
    Stateless functions with the default options, functions that are stateful only with some settings where the
    program's are unknown, `stateless_random_*`, trivial work (a random number or two, the slice that it selects, Python
    that chooses names), maps before a `cache`, layers with the same seed whose random numbers must match, unknown
    arguments, pipelines that only evaluation reads, and maps of Python functions, which GPU404 reports: Python's lock
    makes parallel calls of little use there. No `prefetch` with the default options on TensorFlow 2.11 and later, after
    a last step that runs ahead by itself (`num_parallel_calls`, or `map` directly followed by `batch`, which are
    fused), or where complete elements are only batched, shuffled or repeated behind one, or come out of a `cache` in
    memory; distributed datasets; small examples in memory that are only batched, shuffled or repeated.

    ## Fix
    Adds `num_parallel_calls=tf.data.AUTOTUNE`. Safe for stateless functions, and for random ones in a program that sets
    no seed: the elements keep their order. Unsafe otherwise: with a seed the numbers are no longer reproducible, calls
    of Python functions and uses of variables overlap, and `interleave` may change the order. Adding
    `.prefetch(tf.data.AUTOTUNE)` after the last step is safe: the elements and their order are the same.

    ## At run time
    The speed of the pipeline in a trial, and the gaps between steps.
    """

    code = "GPU402"
    name = "sequential-input"
    replaces = ("map-not-parallel",)
    severity = Severity.WARNING
    is_performance = True
    any_of_names = STATEFUL_WORDS | OPTION_WORDS | {".interleave("}
    all_of_name_sets = (
        frozenset({".map", ".interleave(", ".batch", ".shuffle"}) | OPTION_WORDS,
        PREPARING_WORDS,
        DATASET_SOURCES,
    )
    any_of_names_before = (pipelines.INJECTS_PREFETCH, DATASET_WORDS)
    yields_to = ("GPU404",)
    why = "a single CPU core prepares the data while the GPU sits idle"
    instead = "pass `num_parallel_calls=tf.data.AUTOTUNE`; the order of the elements stays the same"
    cost = "input 2 to 8× slower"

    def on_end(self, plan: Plan) -> Iterator[Report]:
        yield from _sequential_steps(plan)
        yield from _without_prefetch(plan)


def _sequential_steps(plan: Plan) -> Iterator[Report]:
    for event in pipelines.made_for_training(plan):
        parallel = pipelines.parallelizes_maps(event.dataset, plan)
        for chain in pipelines.chains(event.dataset):
            for step in pipelines.after_cache(chain):
                of_batches = pipelines.goes_over_batches(chain, step)
                effect = pipelines.effect_of(step, event)
                if (message := _sequential(step, effect, parallel, of_batches, plan)) is not None:
                    yield Report(
                        step.site,
                        message,
                        why=_IN_TURN if step.name == "interleave" else _STATEFUL if effect is not None else "",
                        instead=_help(step, effect),
                        confidence=confidence(event.where),
                        happens_at=event.site,
                        fix=_parallel(step, plan),
                        related=(
                            *(
                                [(effect.site, "this operation makes the function stateful")]
                                if effect is not None
                                else []
                            ),
                            pipelines.reader(event),
                        ),
                    )


def _without_prefetch(plan: Plan) -> Iterator[Report]:
    for event in pipelines.read_by_training(plan):
        if (last := pipelines.synchronous_end(event, plan)) is not None and not _is_prefetched(event.dataset):
            yield Report(
                last,
                "the pipeline does not prefetch",
                why="the next batch is prepared only when the step asks for it, while the GPU sits idle",
                instead="end the pipeline with `.prefetch(tf.data.AUTOTUNE)`",
                cost="up to 2× slower",
                confidence=confidence(event.where),
                happens_at=event.site,
                related=((event.site, "training reads the pipeline here"),),
                fix=safe(
                    "Add `.prefetch(tf.data.AUTOTUNE)`", calls.appended, last, ".prefetch(tensorflow.data.AUTOTUNE)"
                ),
            )


def _parallel(step: values.Step, plan: Plan) -> Offer:
    """Fix that makes a step parallel.

    Elements keep their order. Which of them gets which random number, or reaches a Python function or a variable first,
    may change.
    """
    argument = ("num_parallel_calls", "tensorflow.data.AUTOTUNE")
    message = "Add `num_parallel_calls=tf.data.AUTOTUNE`"
    if step.name == "interleave":
        return unsafe(f"{message}: the order of the elements may change", calls.with_argument, step.site, *argument)
    if all(effect.kind == "random" for effect in step.effects) and not (step.effects and plan.mentions("seed")):
        return safe(message, calls.with_argument, step.site, *argument)
    return unsafe(
        f"{message}: calls overlap, so the same seed may give other random numbers",
        calls.with_argument,
        step.site,
        *argument,
    )


REORDERS = "pass `num_parallel_calls=tf.data.AUTOTUNE`; the order of the elements may change"

_IN_TURN = "a single thread reads all sources in turn, whatever the `cycle_length`, while the GPU sits idle"

_HOLDS_GIL = "pass `num_parallel_calls=tf.data.AUTOTUNE`; Python code still holds the GIL, so the gain is smaller"

_STATEFUL = "TensorFlow does not parallelise a stateful function by itself: one CPU core prepares the data"


def _help(step: values.Step, effect: values.Effect | None) -> str:
    if step.name == "interleave":
        return REORDERS
    return _HOLDS_GIL if effect is not None and effect.kind == "python" else ""


def _sequential(
    step: values.Step, effect: values.Effect | None, parallel: bool, of_batches: bool, plan: Plan
) -> str | None:
    """Reason why a step is sequential, None if it is not or does too little for that to matter."""
    if step.name not in ("map", "interleave") or pipelines.is_parallel(step):
        return None
    if step.name == "interleave":
        return "`interleave` reads its sources sequentially"
    if effect is not None:
        return (
            None
            if _is_trivial(step, of_batches) or _keeps_in_step(step)
            else "`map` of a stateful function has no `num_parallel_calls`, so it runs sequentially"
        )
    little = TRIVIAL_OF_BATCHES if of_batches else TRIVIAL
    if parallel or step.operations <= little:
        return None
    is_old = plan.release_of_target < pipelines.PARALLEL_MAPS
    return (
        f"`map` runs sequentially on TensorFlow {plan.target}"
        if is_old
        else "`map` has no `num_parallel_calls`, and the dataset options turn off automatic parallelism"
    )


def _is_trivial(step: values.Step, of_batches: bool) -> bool:
    """Whether a map does hardly any work: a few random numbers, a lookup, a NumPy function on whole batches."""
    return step.operations <= TRIVIAL and all(
        effect.kind == "names"
        or (effect.kind == "array" and of_batches)
        or (effect.name.startswith(LIGHT) and effect.name not in HEAVY)
        for effect in step.effects
    )


def _keeps_in_step(step: values.Step) -> bool:
    """Whether layers with the same seed draw the same random numbers twice in a map (for an image and its mask).

    In parallel they would no longer match.
    """
    seeds = [effect.name.partition("#")[2] for effect in step.effects if "#" in effect.name]
    return len(seeds) > len(set(seeds))


TRIVIAL = 3
"""Maximum number of light operations in a map that is too cheap to report, beside those on shapes.

A map that reads a file, or decodes or scales an image, exceeds each limit.
"""

TRIVIAL_OF_BATCHES = 6
"""Maximum for maps over batches: a cast, a division and one-hot labels take 0.1 ms for 32 images (run on 2.2)."""

LIGHT = ("tensorflow.random.", "tensorflow.print", "tensorflow.timestamp", "tensorflow.lookup.")
"""Stateful operations of negligible cost."""

HEAVY = frozenset({"tensorflow.random.shuffle"})
"""Exception that processes all the data.

It takes 120 µs for 8,192 points on one core, a random number 25 µs (run on 2.21).
"""


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
