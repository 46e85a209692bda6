"""Small programs that the tests of the server write and open."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

PINNED = 'import tensorflow as tf\n\nwith tf.device("/gpu:0"):\n    x = tf.ones((2, 2))\n'
"""One finding: GPU101 at the call of `tf.device`."""

FREE = "import tensorflow as tf\n\nx = tf.ones((2, 2))\n"
"""No finding."""

TRAIN = """\
import tensorflow as tf

from helper import make_strategy

strategy = make_strategy()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
with strategy.scope():
    model.compile(optimizer="adam", loss="mse")
"""
"""GPU201, if `make_strategy` returns a MirroredStrategy."""

MIRRORED = "import tensorflow as tf\n\n\ndef make_strategy():\n    return tf.distribute.MirroredStrategy()\n"

DEFAULT = "import tensorflow as tf\n\n\ndef make_strategy():\n    return tf.distribute.get_strategy()\n"


def written(folder: Path, files: Mapping[str, str]) -> Path:
    """A folder with these files, by relative path."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def environment_with_gpulint(folder: Path) -> dict[str, str]:
    """The environment of an editor with a folder as home directory and this gpulint on its path."""
    command = folder / "bin" / "gpulint"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gpulint "$@"\n')
    command.chmod(0o755)
    return {
        **os.environ,
        "HOME": str(folder),
        "PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
