"""May a model, an optimizer or a metric create its variables in the replicas of `strategy.run`?

Each case is a training step with two replicas on logical CPU devices: the model and the optimizer are built before the
loop, or left to the first step, which a `tf.function` traces or Python runs eagerly. Each case has a process of its
own: a failed collective operation breaks those that follow.

Measured on TensorFlow 2.21 with Keras 3.15. Two replicas, traced: an optimizer with variables per weight (Adam, SGD
with momentum) that is not built raises InvalidArgumentError "You must feed a value for placeholder tensor", and so does
a Sequential that is not built. SGD without momentum and a subclass of Model pass, and so does a Sequential inside one.
Eager code and one replica pass in every case.
"""

from __future__ import annotations

import os
import subprocess
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("ABSL_MIN_LOG_LEVEL", "3")

REPLICAS = 2


def outcome(
    make: str,
    builds_model: bool,
    builds_optimizer: bool,
    traced: bool,
    replicas: int = REPLICAS,
    subclass: bool = False,
) -> str:
    """What two steps end with. `make` is the expression of the optimizer."""
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy([f"CPU:{number}" for number in range(replicas)])

    class Net(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.first = tf.keras.layers.Dense(4, activation="relu")
            self.last = tf.keras.layers.Dense(1)

        def call(self, x):
            return self.last(self.first(x))

    with strategy.scope():
        parts = [tf.keras.layers.Dense(4, activation="relu"), tf.keras.layers.Dense(1)]
        model = Net() if subclass else tf.keras.Sequential(parts)
        optimizer = eval(make, {"keras": tf.keras})
        if builds_model:
            model.build((None, 4))
        if builds_optimizer:
            optimizer.build(model.trainable_variables)
    data = tf.data.Dataset.from_tensor_slices((tf.ones((32, 4)), tf.ones((32, 1)))).batch(16)
    data = strategy.experimental_distribute_dataset(data)

    def replica_step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x, training=True) - y) ** 2) / replicas
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    def step(x, y):
        return strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(replica_step, args=(x, y)), axis=None)

    step = tf.function(step) if traced else step
    try:
        for x, y in data:
            step(x, y)
    except Exception as error:  # any error is a result
        return f"{type(error).__name__}: {_gist(str(error))}"
    copies = {type(variable.value).__name__ for variable in model.variables}
    return f"passes ({', '.join(sorted(copies))})"


def _gist(message: str) -> str:
    """The row of a message that says most."""
    rows = [row.strip() for row in message.splitlines() if row.strip()] or [""]
    telling = ("must feed", "Collective", "only create", "created", "uninitialized", "merge_call")
    return next((row for word in telling for row in rows if word in row), rows[-1])[:160]


ADAM, SGD = "keras.optimizers.Adam()", "keras.optimizers.SGD()"

CASES = {
    "all is built, traced": (ADAM, True, True, True),
    "Adam is not built, traced": (ADAM, True, False, True),
    "Adam is not built, eager": (ADAM, True, False, False),
    "SGD is not built, traced": (SGD, True, False, True),
    "SGD with momentum is not built, traced": ("keras.optimizers.SGD(momentum=0.9)", True, False, True),
    "the Sequential is not built, SGD, traced": (SGD, False, False, True),
    "a subclass of Model is not built, SGD, traced": (SGD, False, False, True, REPLICAS, True),
    "a subclass of Model is not built, Adam, traced": (ADAM, False, False, True, REPLICAS, True),
    "the Sequential is not built, SGD, eager": (SGD, False, False, False),
    "nothing is built, Adam, eager": (ADAM, False, False, False),
    "nothing is built, Adam, traced": (ADAM, False, False, True),
    "nothing is built, Adam, traced, one replica": (ADAM, False, False, True, 1),
}


def main() -> None:
    for name in CASES:
        run = subprocess.run([sys.executable, __file__, name], capture_output=True, text=True, timeout=300)
        rows = [row for row in run.stdout.splitlines() if row.startswith("->")]
        print(f"{name}: {rows[-1][3:] if rows else f'exit status {run.returncode}'}", flush=True)


def one(name: str) -> None:
    import tensorflow as tf

    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * REPLICAS)
    print("->", outcome(*CASES[name]))


if __name__ == "__main__":
    one(sys.argv[1]) if len(sys.argv) > 1 else main()
