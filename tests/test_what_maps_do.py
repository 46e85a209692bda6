"""Maps whose function is stateful: whatever the settings are, or with some of them only."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tests.checking import codes_in

READING = """
import json
import sys

import tensorflow as tf


def decoded(name):
    return tf.image.resize(tf.io.decode_png(tf.io.read_file(name), channels=3), (96, 96))


def turned(image):
    return tf.image.random_flip_up_down(tf.image.random_flip_left_right(image))


def images(names, mirrored=False, style="plain"):
    def load(name):
        image = tf.cast(decoded(name), tf.float32) / 255.0
{change}
        return image, image

    data = tf.data.Dataset.from_tensor_slices(names).shuffle(1000)
    return data{steps}.batch(16)


with open(sys.argv[1]) as file:
    settings = json.load(file)
model = tf.keras.Sequential([tf.keras.layers.Conv2D(3, 3, padding="same")])
model.compile(optimizer="adam", loss="mae")
{fit}
"""

FIT = "model.fit(images(sys.argv[2:], **settings), epochs=10)"


def reading(change: str, steps: str = ".map(load)", fit: str = FIT) -> str:
    return READING.format(change=textwrap.indent(textwrap.dedent(change), " " * 8), steps=steps, fit=fit)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("image = turned(image)", {"GPU402"}),
        ("if mirrored:\n    image = turned(image)", set()),
        ("if settings['turn']:\n    image = turned(image)", set()),
        ("image = turned(image) if mirrored else image", set()),
        ("if not mirrored:\n    return image, image\nimage = turned(image)", set()),
        ("if mirrored:\n    image = turned(image)\nelse:\n    image = tf.image.random_hue(image, 0.1)", {"GPU402"}),
        ("if style == 'plain':\n    return image, image\nif mirrored:\n    image = turned(image)", set()),
        ("if tf.reduce_mean(image) > 0.5:\n    image = turned(image)", {"GPU402"}),
        ("if image.shape[-1] == 3:\n    image = turned(image)", {"GPU402"}),
        ("image = tf.cond(tf.reduce_mean(image) > 0.5, lambda: turned(image), lambda: image)", {"GPU402"}),
        ("if mirrored:\n    image = tf.image.flip_left_right(image)\nimage = turned(image)", {"GPU402"}),
        ("if mirrored and tf.reduce_mean(image) > 0.5:\n    image = turned(image)", set()),
    ],
)
def test_a_map_that_is_stateful_with_some_settings_only(change: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(reading(change), tmp_path) == expected


@pytest.mark.parametrize(
    ("fit", "expected"),
    [
        ("model.fit(images(sys.argv[2:], mirrored=True), epochs=10)", {"GPU402"}),
        ("model.fit(images(sys.argv[2:]), epochs=10)", set()),
        ("data = images(sys.argv[2:], settings['turn'])\nif settings['turn']:\n    model.fit(data)", {"GPU402"}),
        ("data = images(sys.argv[2:], settings['turn'])\nif settings['fast']:\n    model.fit(data)", set()),
    ],
)
def test_a_setting_that_the_program_gives_or_asks_for_is_known(fit: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(reading("if mirrored:\n    image = turned(image)", fit=fit), tmp_path) == expected


def test_each_of_several_maps_has_the_conditions_that_it_is_under(tmp_path: Path) -> None:
    steps = ".map(load).map(lambda image, same: (turned(image), same))"
    assert codes_in(reading("if mirrored:\n    image = turned(image)", steps), tmp_path) == {"GPU402"}


@pytest.mark.parametrize(("change", "expected"), [("", {"GPU403"}), ("if mirrored:\n    ", set())])
def test_a_cache_behind_what_is_random_with_some_settings_only(change: str, expected: set[str], tmp_path: Path) -> None:
    text = reading(f"{change}image = turned(image)", ".map(load, num_parallel_calls=4).cache().shuffle(1000)")
    assert codes_in(text, tmp_path) == expected


@pytest.mark.parametrize(("change", "expected"), [("", {"GPU402", "GPU404"}), ("if mirrored:\n    ", set())])
def test_python_that_is_called_with_some_settings_only(change: str, expected: set[str], tmp_path: Path) -> None:
    text = reading(f"{change}image = tf.py_function(lambda x: [row for row in x], [image], tf.float32)")
    assert codes_in(text, tmp_path) == expected
