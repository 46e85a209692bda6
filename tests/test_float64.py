"""Where float64 is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checking import findings_in

FITTED = """
import numpy as np
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(8, dtype={dtype}), tf.keras.layers.Dense(1)])
model.compile(optimizer="adam", loss="mse")
model.fit(tf.zeros((64, 4)), tf.zeros((64, 1)))
"""


@pytest.mark.parametrize(
    ("dtype", "rows"),
    [
        ("'float64'", [5]),
        ("tf.float64", [5]),
        ("tf.double", [5]),
        ("np.float64", [5]),
        ("tf.float32", []),
        ("'float32'", []),
        ("np.half", []),
    ],
)
def test_the_dtype_of_a_layer(dtype: str, rows: list[int], tmp_path: Path) -> None:
    found = findings_in(FITTED.format(dtype=dtype), tmp_path)
    assert [one.span.row for one in found if one.code == "GPU604"] == rows
