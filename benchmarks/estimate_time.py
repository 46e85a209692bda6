"""Lower bounds of `gpulint estimate` against steps that were measured on an NVIDIA H200.

Each program trains one model with a step of its own, as the measured one did. A bound must not be above the measured
step, and should be at least half of it.

    python -m benchmarks.estimate_time [MODEL…]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from gpulint.estimate import cards
from gpulint.estimate.estimating import estimated
from gpulint.estimate.tracing import NotTraced, trace
from gpulint.probe.launch.command import Target

PROGRAM = """
import keras
import tensorflow as tf
from keras import layers

keras.config.set_dtype_policy({policy!r})


def encoder_block(x):
    attended = layers.MultiHeadAttention(4, 64)(x, x)
    x = layers.LayerNormalization()(x + attended)
    hidden = layers.Dense(1024, activation="gelu")(x)
    return layers.LayerNormalization()(x + layers.Dense(256)(hidden))


def encoder():
    x = inputs = keras.Input((256, 256))
    for _ in range(4):
        x = encoder_block(x)
    return keras.Model(inputs, layers.Dense(10)(layers.GlobalAveragePooling1D()(x)))


def cnn():
    x = inputs = keras.Input((96, 96, 3))
    for filters in (32, 64, 128):
        x = layers.Conv2D(filters, 3, padding="same")(x)
        x = layers.MaxPooling2D()(layers.ReLU()(layers.BatchNormalization()(x)))
    return keras.Model(inputs, layers.Dense(10)(layers.GlobalAveragePooling2D()(x)))


model = {model}
optimizer = {optimizer}
if keras.config.dtype_policy().name == "mixed_float16":
    optimizer = keras.optimizers.LossScaleOptimizer(optimizer)
optimizer.build(model.trainable_variables)
loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits={logits})


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_of(y, model(x, training=True))
        if keras.config.dtype_policy().name == "mixed_float16":
            loss = optimizer.scale_loss(loss)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


step(tf.zeros(({batch}, *model.input_shape[1:])), tf.zeros({batch}, tf.int32))
"""

SGD = "keras.optimizers.SGD(0.01, momentum=0.9)"
ADAM = "keras.optimizers.Adam()"


class Measured(NamedTuple):
    """A step on the H200: the fastest and the mean of 20, after the first ones. `bound` is what limits it, by a trace
    of the device."""

    model: str
    batch: int
    best: float
    mean: float
    bounds: tuple[str, ...]
    code: str
    optimizer: str = ADAM
    policy: str = "float32"
    logits: bool = True


RESNET, VGG = "keras.applications.ResNet50(weights=None)", "keras.applications.VGG16(weights=None)"
DEVICE = ("compute", "memory")

STEPS = (
    Measured("cnn", 32, 0.00518, 0.005567, ("launch",), "cnn()"),
    Measured("encoder", 32, 0.017406, 0.019298, ("launch",), "encoder()"),
    Measured("resnet50", 32, 0.045451, 0.045731, ("launch",), RESNET, SGD, logits=False),
    Measured("resnet50_mixed", 64, 0.101859, 0.103972, DEVICE, RESNET, SGD, "mixed_float16", False),
    Measured("vgg16", 32, 0.023671, 0.023679, DEVICE, VGG, SGD, logits=False),
)


def main() -> None:
    chosen = sys.argv[1:]
    print("| model | batch | measured | lower bound | share | bound by | operations | launch | compute | memory |")
    print("|---|---:|---:|---:|---:|---|---:|---:|---:|---:|")
    for one in STEPS:
        if chosen and one.model not in chosen:
            continue
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "train.py"
            text = PROGRAM.format(
                policy=one.policy, model=one.code, optimizer=one.optimizer, logits=one.logits, batch=one.batch
            )
            path.write_text(text, encoding="utf-8")
            traced = trace(Target(str(path)))
        if isinstance(traced, NotTraced):
            raise SystemExit(f"{one.model}: {traced}")
        found = estimated(traced, [cards.by_name("H200")], [])
        (on_card,) = found.cards
        bounds = on_card.bounds
        right = "" if bounds.active in one.bounds else f" (measured: {' or '.join(one.bounds)})"
        print(
            f"| {one.model} | {one.batch} | {one.mean * 1e3:.1f} ms | {bounds.seconds * 1e3:.1f} ms"
            f" | {bounds.seconds / one.best:.0%} | {bounds.active}{right} | {found.steps.operations:,}"
            f" | {bounds.launch * 1e3:.1f} ms | {bounds.compute * 1e3:.1f} ms | {bounds.memory * 1e3:.1f} ms |",
            flush=True,
        )


if __name__ == "__main__":
    main()
