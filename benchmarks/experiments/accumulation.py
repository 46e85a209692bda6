"""Does Keras's own gradient accumulation work under MirroredStrategy?

No. Measured on TensorFlow 2.21 with Keras 3.15 and 2.16 with Keras 3.3, on logical CPU devices: `fit` raises
RuntimeError "`merge_call` called while defining a new graph or a tf.function" with `gradient_accumulation_steps=4`,
with two replicas and with one, and passes without.
"""

from __future__ import annotations

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def outcome(replicas: int, steps: int | None) -> str:
    """What two epochs of `fit` end with."""
    import tensorflow as tf

    devices = [f"CPU:{number}" for number in range(replicas)]
    strategy = tf.distribute.MirroredStrategy(devices)
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
        model.compile(optimizer=tf.keras.optimizers.SGD(gradient_accumulation_steps=steps), loss="mse")
    try:
        model.fit(tf.zeros((64, 4)), tf.zeros((64, 1)), batch_size=8, epochs=2, verbose=0)
    except Exception as error:  # any error is a result
        return f"{type(error).__name__}: {str(error).splitlines()[0][:80]}"
    return "passes"


def main() -> None:
    import tensorflow as tf

    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    for replicas in (1, 2):
        for steps in (None, 4):
            print(f"{replicas} replicas, gradient_accumulation_steps={steps}: {outcome(replicas, steps)}")


if __name__ == "__main__":
    main()
