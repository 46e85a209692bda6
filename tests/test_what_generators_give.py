"""Python generators that feed pipelines: names of what a map reads, or what is read already."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tests.checking import codes_in

PROGRAM = """
import librosa
import tensorflow as tf

listed = [line.split() for line in open("listed.txt")]


def samples():
{body}


def prepared(*parts):
    return parts


data = tf.data.Dataset.from_generator(samples, {types})
data = data.map(prepared, num_parallel_calls=tf.data.AUTOTUNE).shuffle(100).batch(8)
model = tf.keras.models.load_model("model.keras")
model.fit(data.prefetch(1))
"""

NAMES = "for name, label in listed:\n    yield name, label\n"
CONTENT = "for name, label in listed:\n    yield tf.io.read_file(name).numpy(), label\n"
SOUND = "for name, label in listed:\n    sound, _ = librosa.load(name)\n    yield name, sound\n"
ONE_FILE = "text = tf.io.read_file('listed').numpy().decode()\nfor name in text.split():\n    yield name, 1\n"
SHARDS = "for shard in listed:\n    for name in tf.io.read_file(shard).numpy().split():\n        yield name, 1\n"

TEXTS = "output_types=(tf.string, tf.string)"
LABELLED = "output_signature=(tf.TensorSpec((), tf.string), tf.TensorSpec((4,), tf.float32))"
NUMBERED = "output_types=(tf.int64, tf.string)"
FEATURES = "output_signature=(tf.TensorSpec((8, 8), tf.float32), tf.TensorSpec((), tf.string))"


@pytest.mark.parametrize(
    ("body", "types", "expected"),
    [
        (NAMES, TEXTS, set()),
        (NAMES, LABELLED, set()),
        (NAMES, NUMBERED, set()),
        (NAMES, FEATURES, {"GPU404"}),
        (CONTENT, TEXTS, {"GPU404"}),
        (CONTENT, LABELLED, {"GPU404"}),
        (SOUND, LABELLED, {"GPU404"}),
        (ONE_FILE, NUMBERED, set()),
        (SHARDS, TEXTS, set()),
    ],
)
def test_a_generator_of_texts(body: str, types: str, expected: set[str], tmp_path: Path) -> None:
    program = PROGRAM.format(body=textwrap.indent(body, "    "), types=types)
    assert codes_in(program, tmp_path) == expected
