"""What does a last batch do that leaves a replica of MirroredStrategy without examples?

Measured on TensorFlow 2.21 with Keras 3.15, four logical CPU devices, 66 examples in batches of 16: the last batch is
divided into 1, 1, 0 and 0 examples. With batch normalization the weights are NaN after the first epoch, and the loss
from the second on; with `drop_remainder=True` nothing is NaN, and with layer normalization no weight is. A loop of
one's own over the distributed dataset gives the same; where it calls the model with `training=False`, nothing is NaN.
"""

from __future__ import annotations

import math
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

REPLICAS = 4
EXAMPLES = 66
BATCH = 16


def outcome(normalization: str, drops: bool) -> str:
    """The losses of two epochs, and how many weights are NaN afterwards."""
    import tensorflow as tf

    layers = tf.keras.layers
    kinds = {
        "batch": layers.BatchNormalization,
        "layer": layers.LayerNormalization,
    }
    strategy = tf.distribute.MirroredStrategy([f"CPU:{number}" for number in range(REPLICAS)])
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.Input((8,)), kinds[normalization](), layers.Dense(1)])
        model.compile("sgd", "mse")
    data = tf.data.Dataset.from_tensor_slices((tf.random.normal((EXAMPLES, 8)), tf.random.normal((EXAMPLES, 1))))
    history = model.fit(data.batch(BATCH, drop_remainder=drops), epochs=2, verbose=0)
    broken = sum(any(map(math.isnan, weight.ravel())) for weight in model.get_weights())
    return f"loss {history.history['loss']}, {broken} weights with NaN"


def outcome_of_loop(training: bool) -> str:
    """How many weights are NaN after two epochs of a loop of one's own."""
    import tensorflow as tf

    layers = tf.keras.layers
    strategy = tf.distribute.MirroredStrategy([f"CPU:{number}" for number in range(REPLICAS)])
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.Input((8,)), layers.BatchNormalization(), layers.Dense(1)])
        optimizer = tf.keras.optimizers.SGD()
        optimizer.build(model.trainable_variables)

    def step(x, y):
        with tf.GradientTape() as tape:
            errors = tf.reduce_sum((model(x, training=training) - y) ** 2, axis=-1)
            loss = tf.nn.compute_average_loss(errors, global_batch_size=BATCH)
        optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)

    @tf.function
    def train(batch):
        strategy.run(step, args=batch)

    data = tf.data.Dataset.from_tensor_slices((tf.random.normal((EXAMPLES, 8)), tf.random.normal((EXAMPLES, 1))))
    for _ in range(2):
        for batch in strategy.experimental_distribute_dataset(data.batch(BATCH)):
            train(batch)
    broken = sum(any(map(math.isnan, weight.ravel())) for weight in model.get_weights())
    return f"{broken} weights with NaN"


def main() -> None:
    import tensorflow as tf

    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * REPLICAS)
    for normalization, drops in (("batch", False), ("batch", True), ("layer", False)):
        print(f"{normalization} normalization, drop_remainder={drops}: {outcome(normalization, drops)}")
    for training in (True, False):
        print(f"a loop of one's own, training={training}: {outcome_of_loop(training)}")


if __name__ == "__main__":
    main()
