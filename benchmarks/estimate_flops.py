"""FLOP that `gpulint estimate` counts in well-known models, against the figures of the papers.

Papers count a multiplication with its addition once, and those of convolutions and matrix products alone.

    python -m benchmarks.estimate_flops
"""

from __future__ import annotations

from typing import NamedTuple

from gpulint.estimate.time.bounds import steps_of
from tests.estimate.traced import traced


class Published(NamedTuple):
    """Multiplications with their additions for one image of `size` × `size` pixels."""

    model: str
    size: int
    count: float
    source: str


MODELS = (
    Published("ResNet50", 224, 3.8e9, "He et al., Deep Residual Learning for Image Recognition, 2016, table 1"),
    Published("ResNet152", 224, 11.3e9, "the same"),
    Published("VGG19", 224, 19.6e9, "the same, section 3.3"),
    Published("MobileNet", 224, 569e6, "Howard et al., MobileNets, 2017"),
    Published("MobileNetV2", 224, 300e6, "Sandler et al., MobileNetV2, 2018"),
    Published("MobileNetV3Large", 224, 219e6, "Howard et al., Searching for MobileNetV3, 2019, table 3"),
    Published("NASNetMobile", 224, 564e6, "Zoph et al., Learning Transferable Architectures, 2018"),
    Published("EfficientNetB0", 224, 0.39e9, "Tan and Le, EfficientNet, 2019, table 2"),
    Published("Xception", 299, 8.4e9, "the same"),
    Published("InceptionV3", 299, 5.7e9, "the same"),
    Published("ConvNeXtTiny", 224, 4.5e9, "Liu et al., A ConvNet for the 2020s, 2022, table 1"),
)


def counted(model: str, size: int) -> float:
    """Multiplications with their additions in the forward pass of one image."""
    import keras
    import tensorflow as tf

    built = getattr(keras.applications, model)(weights=None)
    concrete = tf.function(lambda images: built(images, training=False)).get_concrete_function(
        tf.TensorSpec((1, size, size, 3), tf.float32)
    )
    steps = steps_of(traced(concrete))
    return sum(job.work.flops * job.times for job in steps.jobs if job.work.is_matrix) / 2


def main() -> None:
    print("| model | counted | published | difference | source |")
    print("|---|---:|---:|---:|---|")
    for one in MODELS:
        found = counted(one.model, one.size)
        figures = f"{found / 1e9:.2f} G | {one.count / 1e9:.2f} G | {found / one.count - 1:+.1%}"
        print(f"| {one.model} | {figures} | {one.source} |", flush=True)


if __name__ == "__main__":
    main()
