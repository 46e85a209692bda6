"""The program whose memory was measured on a GPU: one of several models, in a custom training loop.

    python -m benchmarks.estimate_programs MODEL BATCH

MODEL is the name in `data/gpu_memory.jsonl`; the suffix `_mixed` selects mixed precision, `_xla` `jit_compile`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf
from keras import layers

# gpulint: file-ignore[GPU602] the programs that were measured compute their loss from 16-bit outputs


def cnn() -> Any:
    x = inputs = keras.Input((96, 96, 3))
    for filters in (32, 64, 128):
        x = layers.Conv2D(filters, 3, padding="same")(x)
        x = layers.ReLU()(layers.BatchNormalization()(x))
        x = layers.MaxPooling2D()(x)
    return keras.Model(inputs, layers.Dense(10)(layers.GlobalAveragePooling2D()(x)))


def mlp() -> Any:
    hidden = [layers.Dense(4096, activation="relu") for _ in range(3)]
    return keras.Sequential([keras.Input((1024,)), *hidden, layers.Dense(10)])


def _block(x: Any, is_causal: bool) -> Any:
    attended = layers.MultiHeadAttention(8, 32)(x, x, use_causal_mask=is_causal)
    x = layers.LayerNormalization()(x + attended)
    return layers.LayerNormalization()(x + layers.Dense(256)(layers.Dense(1024, activation="gelu")(x)))


def encoder() -> Any:
    x = inputs = keras.Input((256, 256))
    for _ in range(4):
        x = _block(x, is_causal=False)
    return keras.Model(inputs, layers.Dense(10)(layers.GlobalAveragePooling1D()(x)))


def decoder() -> Any:
    inputs = keras.Input((256,), dtype="int32")
    x = layers.Embedding(8000, 256)(inputs)
    for _ in range(4):
        x = _block(x, is_causal=True)
    return keras.Model(inputs, layers.Dense(8000)(x))


def lstm() -> Any:
    recurrent = [layers.LSTM(256, return_sequences=True), layers.LSTM(256)]
    return keras.Sequential([keras.Input((200, 64)), *recurrent, layers.Dense(10)])


def resnet50() -> Any:
    return keras.applications.ResNet50(weights=None, classifier_activation=None)


def vgg16() -> Any:
    return keras.applications.VGG16(weights=None, classifier_activation=None)


MODELS: dict[str, tuple[Callable[[], Any], tuple[int, ...], tuple[int, ...]]] = {
    "cnn": (cnn, (96, 96, 3), ()),
    "mlp": (mlp, (1024,), ()),
    "encoder": (encoder, (256, 256), ()),
    "decoder": (decoder, (256,), (256,)),
    "lstm": (lstm, (200, 64), ()),
    "resnet50": (resnet50, (224, 224, 3), ()),
    "vgg16": (vgg16, (224, 224, 3), ()),
}
"""Model → how it is built, the shape of an example and that of its label."""


def main(name: str, batch: int) -> None:
    kind, _, option = name.partition("_")
    if option == "mixed":
        keras.mixed_precision.set_global_policy("mixed_float16")
    build, example, label = MODELS[kind]
    model = build()
    optimizer = keras.optimizers.SGD(momentum=0.9) if kind in ("resnet50", "vgg16") else keras.optimizers.Adam()
    if option == "mixed":
        optimizer = keras.optimizers.LossScaleOptimizer(optimizer)
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function(jit_compile=option == "xla")
    def step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x, training=True))
            scaled = optimizer.scale_loss(loss)
        gradients = tape.gradient(scaled, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    x = tf.zeros((batch, *example), "int32" if kind == "decoder" else "float32")
    step(x, tf.zeros((batch, *label), "int32"))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
