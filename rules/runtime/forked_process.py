"""GPU310."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.plugin import Plan, Report, Rule, Severity, confidence, events
from gpulint.plugin.queries import chain


class ForkedProcess(Rule):
    """Process forked after TensorFlow was initialised

    ## What it does
    Finds processes of `multiprocessing`, its pools and `ProcessPoolExecutor` that call a model or a `tf.function`,
    train, multiply matrices, or compute with a tensor of their parent, and are started after TensorFlow was
    initialised.

    ## Why is this bad
    On Linux, Python before 3.14 forks the process: the child inherits TensorFlow's state, but not its threads, and the
    first operation that needs them waits forever. A GPU that the parent uses cannot be used in the child either
    (measured on TensorFlow 2.21: a matrix product and a `tf.function` hang, small operations pass).

    ## Example
    ```python
    import multiprocessing

    import tensorflow as tf

    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(2)])


    def predict(rows):
        return model(rows).numpy()


    if __name__ == "__main__":
        with multiprocessing.Pool(4) as pool:
            pool.map(predict, [[[0.0] * 4]] * 8)
    ```

    ## Use instead
    ```python
    import multiprocessing

    import tensorflow as tf

    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(2)])


    def predict(rows):
        return model(rows).numpy()


    if __name__ == "__main__":
        with multiprocessing.get_context("spawn").Pool(4) as pool:
            pool.map(predict, [[[0.0] * 4]] * 8)
    ```

    ## What is not reported
    Processes that are started before TensorFlow is initialised, or that do not compute with it; programs that choose
    the start method; threads.

    ## At run time
    The process hangs. `gpulint probe` lists forks after TensorFlow was initialised (`forks`).
    """

    code = "GPU310"
    name = "forked-process"
    severity = Severity.WARNING
    any_of_names = frozenset({"Process", "Pool", "ProcessPoolExecutor"})
    why = "on Linux the forked process lacks TensorFlow's threads and hangs"
    instead = 'use `multiprocessing.get_context("spawn")`, or start the process before TensorFlow is used'

    def on_process_started(self, event: events.ProcessStarted, plan: Plan) -> Iterator[Report]:
        if event.state == "yes" and event.computes and "set_start_method" not in plan.referenced:
            yield Report(
                event.site,
                "a process that uses TensorFlow is forked after TensorFlow was initialised",
                confidence=confidence(event.where),
                related=(
                    *(((event.since, "TensorFlow is initialised here"),) if event.since is not None else ()),
                    *chain(event.where),
                ),
            )
