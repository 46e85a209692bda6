"""GPU409."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.plugin import Plan, Report, Rule, Severity, Site, confidence, events, unsafe
from gpulint.plugin.fixes import calls
from gpulint.plugin.words import DATASET_SOURCES


class DiscardedTransformation(Rule):
    """Transformation of a dataset without effect

    ## What it does
    Finds calls such as `dataset.shuffle(1000)` and `dataset.prefetch(1)` whose result is not used.

    ## Why is this bad
    Datasets do not change: each method returns a new one. The program trains as if the line were not there, in the
    order of the files, without batches, or without the options.

    ## Example
    ```python
    import tensorflow as tf

    dataset = tf.data.Dataset.range(10_000)
    dataset.shuffle(10_000)
    for batch in dataset.batch(32):
        print(batch)
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    dataset = tf.data.Dataset.range(10_000)
    dataset = dataset.shuffle(10_000)
    for batch in dataset.batch(32):
        print(batch)
    ```

    ## What is not reported
    Methods that do something by themselves, such as `save`; calls of functions that return a dataset.

    ## Fix
    Unsafe: assigns the result to the variable or attribute that the method is called on. The program then trains with
    the transformation.

    ## At run time
    Not visible at run time.
    """

    code = "GPU409"
    name = "discarded-transformation"
    severity = Severity.WARNING
    any_of_names = DATASET_SOURCES
    all_of_name_sets = (
        frozenset(
            {
                ".apply(",
                ".batch(",
                ".cache(",
                ".concatenate(",
                ".filter(",
                ".map(",
                ".padded_batch(",
                ".prefetch(",
                ".repeat(",
            }
        )
        | {".shard(", ".shuffle(", ".skip(", ".take(", ".unbatch(", ".with_options("},
    )
    why = "every dataset method returns a new dataset and leaves the original unchanged: this line has no effect"
    instead = "assign the result: `dataset = dataset.shuffle(…)`"

    def on_transformation_dropped(self, event: events.TransformationDropped, plan: Plan) -> Iterator[Report]:
        yield Report(
            event.site,
            f"the result of `{event.name}` is not used",
            instead=f"assign the result: `{self._assigned(event.site) or f'dataset = dataset.{event.name}(…)'}`",
            confidence=confidence(event.where),
            fix=unsafe(f"Assign the result: `{event.name}` then takes effect", calls.assigned, event.site),
        )

    def _assigned(self, call: Site) -> str:
        """The statement that keeps the result of a method of a variable, "" if that is long."""
        code = self.short(call, "")
        name = code.partition(".")[0]
        return f"{name} = {code}" if name.isidentifier() else ""
