"""Is a variable that was created outside the scope of MirroredStrategy copied to each device in every step?

Yes, if an operation of the replicas reads it whole. Counted on TensorFlow 2.21 with three logical CPU devices, replicas
on the second and the third: a matrix product sends the whole variable to both devices in every step; `tf.gather` sends
the rows alone, as it runs on the device of the variable; nothing is sent of a variable that was created in the scope.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

ROWS = 4_000


def sent(variable: Any, strategy: Any, reads: Any) -> int:
    """How many tensors with the content of a variable the devices send each other in one step."""
    import tensorflow as tf
    from tensorflow.python.eager import context

    @tf.function
    def step(rows: Any) -> Any:
        return strategy.run(lambda: reads(variable, rows))

    rows = tf.range(8)
    step(rows)
    context.context().enable_run_metadata()
    step(rows)
    graphs = context.context().export_run_metadata().partition_graphs
    context.context().disable_run_metadata()
    names = Counter(node.input[0] for graph in graphs for node in graph.node if node.op == "_Send")
    return sum(count for name, count in names.items() if "ReadVariableOp" in name and "ctrl" not in name)


def main() -> None:
    import tensorflow as tf

    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 3)
    strategy = tf.distribute.MirroredStrategy(["CPU:1", "CPU:2"])
    outside = tf.Variable(tf.ones((ROWS, 100)))
    with strategy.scope():
        inside = tf.Variable(tf.ones((ROWS, 100)))
    ways = {
        "matmul": lambda variable, rows: tf.reduce_sum(tf.matmul(tf.one_hot(rows, ROWS), variable)),
        "gather": lambda variable, rows: tf.reduce_sum(tf.gather(variable, rows)),
    }
    for name, reads in ways.items():
        for where, variable in (("outside", outside), ("in", inside)):
            sent(variable, strategy, reads)  # TensorFlow records no graphs the first time that it is asked
            print(f"{name}, created {where} the scope: {sent(variable, strategy, reads)} copies in a step")


if __name__ == "__main__":
    main()
