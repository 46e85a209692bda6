"""Do float16 gradients underflow without a scaled loss, and what does Keras scale by itself?

Measured on TensorFlow 2.21 with Keras 3.15 and 2.16 with Keras 3.3, the same: a loss a thousand times
smaller has 0.8 % of the gradients at 0 and a median error of 4.5 %, scaled 0 and 0.11 %. LossScaleOptimizer
without scale_loss divides all the same: SGD steps 32768 times too small. compile wraps the optimizer only where
the model's own policy is mixed_float16, which a dtype on the layers does not make it.
"""

from __future__ import annotations

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("ABSL_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf


def network(policy: str) -> keras.Model:
    """Six dense layers, the last one in float32, the same weights each time."""
    keras.utils.set_random_seed(1)
    layers = [keras.layers.Dense(128, "tanh", dtype=policy) for _ in range(6)]
    return keras.Sequential([keras.Input((64,)), *layers, keras.layers.Dense(1, dtype="float32")])


def gradients(policy: str, factor: float, scale: float) -> list[tf.Tensor]:
    """Gradients of ``factor`` × mean squared error with the loss times ``scale``, divided again."""
    model = network(policy)
    x, y = tf.random.stateless_normal((256, 64), (1, 2)), tf.random.stateless_normal((256, 1), (3, 4))
    with tf.GradientTape() as tape:
        loss = factor * tf.reduce_mean((model(x, training=True) - y) ** 2)
        scaled = loss * scale
    return [each / scale for each in tape.gradient(scaled, model.trainable_variables)]


def zeros(found: list[tf.Tensor]) -> float:
    """Share of the gradients' elements that are exactly zero, in per cent."""
    flat = np.concatenate([np.ravel(each) for each in found])
    return 100 * float(np.mean(flat == 0))


def error(found: list[tf.Tensor], truth: list[tf.Tensor]) -> float:
    """Median relative error of the elements, in per cent."""
    a, b = (np.concatenate([np.ravel(each) for each in given]) for given in (found, truth))
    return 100 * float(np.median(np.abs(a - b) / np.abs(b)))


def distance(optimizer: keras.optimizers.Optimizer, scaled: bool) -> str:
    """How far one SGD step (rate 1) moves a weight whose gradient is 1."""
    weight = keras.Variable(np.zeros((1,), np.float32))
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(weight.value)
        loss = optimizer.scale_loss(loss) if scaled else loss
    optimizer.apply_gradients([(tape.gradient(loss, weight.value), weight)])
    return f"{float(np.abs(np.array(weight))[0]):g}"


def main() -> None:
    print(f"{'policy':16}{'loss times':>12}{'scaled by':>11}{'zeros %':>9}{'median error %':>16}")
    for factor in (1.0, 1e-3):
        truth = gradients("float32", factor, 1.0)
        for policy, scale in (
            ("float32", 1.0),
            ("mixed_float16", 1.0),
            ("mixed_float16", 2.0**15),
            ("mixed_bfloat16", 1.0),
        ):
            found = gradients(policy, factor, scale)
            print(f"{policy:16}{factor:>12g}{scale:>11g}{zeros(found):>9.1f}{error(found, truth):>16.2f}")
    sgd = keras.optimizers.SGD
    wrap = keras.mixed_precision.LossScaleOptimizer
    print("a step of a gradient 1 at rate 1 moves the weight by")
    print("  SGD", distance(sgd(1.0), False), "| SGD, scale_loss", distance(sgd(1.0), True))
    print(
        "  SGD(loss_scale_factor=1024)",
        distance(sgd(1.0, loss_scale_factor=1024.0), False),
        "| with scale_loss",
        distance(sgd(1.0, loss_scale_factor=1024.0), True),
    )
    print("  LossScaleOptimizer", distance(wrap(sgd(1.0)), False), "| with scale_loss", distance(wrap(sgd(1.0)), True))
    for name in ("get_scaled_loss", "get_unscaled_gradients", "scale_loss"):
        print(f"  LossScaleOptimizer.{name}: {hasattr(wrap(sgd()), name)}")
    print("compile wraps the optimizer:")
    for policy in ("mixed_float16", "mixed_bfloat16"):
        for by in ("dtype of layers", "global policy"):
            keras.mixed_precision.set_global_policy(policy if by == "global policy" else "float32")
            model = network(policy)
            model.compile("sgd", "mse")
            print(f"  {policy}, {by}: {type(model.optimizer).__name__}")
    keras.mixed_precision.set_global_policy("float32")


if __name__ == "__main__":
    main()
