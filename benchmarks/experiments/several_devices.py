"""What does a step copy if it adds tensors of two devices (GPU102), or if replicas update one variable (GPU213)?

Counted on TensorFlow 2.21 with two logical CPU devices: the sum sends one of the tensors whole, 4 MB here, each step.
A variable that was created outside the scope has one copy, to which the other replica sends its value. Created in the
scope, it has a copy on each device, and the strategy's reduction sends as much: what differs is the value (GPU213).
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

SIZE = 1_000


def sent(step: Callable[[], object]) -> dict[str, int]:
    """Operations whose results the devices send each other in the first call."""
    from tensorflow.python.eager import context

    context.context().enable_run_metadata()
    step()
    graphs = context.context().export_run_metadata().partition_graphs
    context.context().disable_run_metadata()
    nodes = [node for graph in graphs for node in graph.node]
    by_name = {node.name: node for node in nodes}
    sources = (by_name.get(node.input[0].partition(":")[0]) for node in nodes if node.op == "_Send")
    return dict(Counter(source.op for source in sources if source is not None))


def main() -> None:
    import tensorflow as tf

    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    sent(tf.function(lambda: tf.zeros(())))  # TensorFlow records no graphs the first time that it is asked

    @tf.function
    def across(x: tf.Tensor) -> tf.Tensor:
        with tf.device("CPU:0"):
            left = tf.matmul(x, x)
        with tf.device("CPU:1"):
            right = tf.matmul(x, x + 1.0)
        return left + right

    print("a sum of tensors of two devices sends", sent(lambda: across(tf.ones((SIZE, SIZE)))))
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    outside = tf.Variable(0.0)
    with strategy.scope():
        inside = tf.Variable(0.0, aggregation=tf.VariableAggregation.SUM)
    for name, variable in (("outside", outside), ("in", inside)):

        def replica(counter: tf.Variable = variable) -> None:
            counter.assign_add(tf.reduce_sum(tf.random.uniform((SIZE,))))

        step = tf.function(lambda replica=replica: strategy.run(replica))
        print(f"an update of a variable made {name} the scope sends {sent(step)}")


if __name__ == "__main__":
    main()
