"""Small projects whose files cause findings in each other, and checks of them with and without a cache."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from gpulint.caching.cache import Cache
from gpulint.caching.identity import identity
from gpulint.checking import Checking
from gpulint.discovery import discover
from gpulint.linting.result import CheckResult
from gpulint.linting.selection import Catalogue
from gpulint.settings import SettingsFinder, apply
from tests.checking import PACK, findings_of

CATALOGUE = Catalogue(PACK)
IDENTITY = identity()
"""Computed once: it reads all files of gpulint."""

HELPERS = (
    "import tensorflow as tf\n\n\ndef place(d):\n    with tf.device(d):\n        return tf.zeros(4)\n",
    "import tensorflow as tf\n\n\ndef place(d):\n    with tf.device('/gpu:1'):\n        return tf.zeros(4)\n",
    "def place(d):\n    return d\n",
    "import tensorflow as tf\n\n\ndef place(d):\n    return tf.keras.Sequential([tf.keras.layers.Dense(1)])\n",
    "from deeper import place\n",
    "from .deeper import place\n",
    "import tensorflow as tf\n\ndef place(d):\n    with tf.device(d):  # gpulint: ignore[GPU101] so\n        pass\n",
    "import tensorflow as tf\n\nstrategy = tf.distribute.MirroredStrategy()\n\n\ndef place(d):\n    return strategy\n",
    "import tensorflow as tf\n\n\ndef place(d:\n    with tf.device(\n",
    "\xff",
    "",
)
CALLERS = (
    "import tensorflow as tf\nfrom helpers import place\n\nplace('/gpu:0')\n",
    "import tensorflow as tf\nfrom helpers import place\n\nplace('/cpu:0')\n",
    "import tensorflow as tf\nimport helpers\n\n\ndef run():\n    helpers.place('/gpu:0')\n",
    "import tensorflow as tf\nfrom .helpers import place\n\nplace('/gpu:0')\n",
    "import tensorflow as tf\nfrom pkg.helpers import place\n\nplace('/gpu:0')\nplace('/gpu:1')\n",
    "import tensorflow as tf\nfrom helpers import place\n\nstrategy = tf.distribute.MirroredStrategy()\n"
    "with strategy.scope():\n    pass\nmodel = place('')\nmodel.compile('adam', 'mse')\nmodel.fit(x, y)\n",
    "import tensorflow as tf\nfrom helpers import place\n\nx = place('/gpu:0')\n\n\n"
    "@tf.function\ndef step(x):\n    print(x)\n    return x.numpy()\n\n\nstep(x)\n",
    "from helpers import *\n\nplace('/gpu:0')\n",
    "import os\n\nprint(os.name)\n",
)
SETTINGS = (
    "",
    "[lint]\nignore = ['GPU101']\n",
    "src = ['lib']\n",
    "[lint]\nselect = ['ALL']\n",
    "[lint.severity]\nGPU101 = 'info'\n",
    "[lint.per-file-ignores]\n'helpers.py' = ['GPU1']\n",
    "target-tensorflow = '2.10'\n",
)


def notebook(*cells: str) -> str:
    """A notebook with some cells of code."""
    made = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": cell} for cell in cells]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


NOTEBOOKS = (
    notebook("import tensorflow as tf\nfrom helpers import place", "place('/gpu:0')"),
    notebook(f"%%writefile helpers.py\n{HELPERS[1]}", "import tensorflow as tf\nfrom helpers import place\nplace('')"),
    notebook(f"%%writefile deeper.py\n{HELPERS[0]}", "import tensorflow as tf\nfrom helpers import place\nplace('')"),
    notebook("!pip install tensorflow==2.3", "import tensorflow as tf\nwith tf.device('/gpu:0'):\n    f('x'"),
    "{",
)
FILES = {
    **dict.fromkeys(("main.py", "other.py", "pkg/main.py", "pkg/test_main.py"), CALLERS),
    **dict.fromkeys(("helpers.py", "deeper.py", "pkg/helpers.py", "pkg/deeper.py", "lib/helpers.py"), HELPERS),
    **dict.fromkeys(("helpers/__init__.py", "pkg/__init__.py"), HELPERS),
    **dict.fromkeys(("gpulint.toml", "pkg/gpulint.toml"), SETTINGS),
    "notes.ipynb": NOTEBOOKS,
}
MAIN = {
    "main.py": CALLERS[0],
    "other.py": CALLERS[5],
    "helpers.py": HELPERS[0],
    "pkg/__init__.py": "",
    "pkg/main.py": CALLERS[3],
    "pkg/helpers.py": HELPERS[4],
    "deeper.py": HELPERS[0],
    "gpulint.toml": SETTINGS[0],
}
LIBRARY = {
    "main.py": CALLERS[0],
    "other.py": CALLERS[2],
    "lib/helpers.py": HELPERS[5],
    "lib/deeper.py": HELPERS[0],
    "notes.ipynb": NOTEBOOKS[2],
    "gpulint.toml": SETTINGS[2],
}


def check(
    root: Path,
    remembers: bool,
    paths: Sequence[str] = (),
    catalogue: Catalogue = CATALOGUE,
    overrides: Mapping[str, Any] = MappingProxyType({}),
    edits: bool = False,
) -> CheckResult:
    """The findings of the command in a directory, or in some of its files."""
    finder = SettingsFinder(root=str(root))
    settings = finder.of_directory(str(root))
    if overrides:
        finder = SettingsFinder(apply(settings, overrides))
        settings = finder.of_directory(str(root))
    checking = Checking(finder, settings, cache_directory="" if remembers else None, edits=edits)
    checking.__dict__["catalogue"] = catalogue
    if remembers:
        checking.__dict__["cache"] = Cache(finder, IDENTITY, "", edits)
    found = discover([str(path) for name in paths or (".",) if (path := root / name).exists()], finder)
    result = checking(found, {}).result
    findings_of(result)
    return result


def essence(result: CheckResult) -> dict[str, Any]:
    """Everything in a result except what came from the cache."""
    return {
        "findings": result.findings,
        "suppressed": result.suppressed,
        "errors": result.errors,
        "programs": result.programs,
        "files": (result.files, result.analysed),
        "stopped": result.stopped,
    }


def write(root: Path, name: str, content: str | None) -> None:
    path = root / name
    if content is None:
        path.unlink(missing_ok=True)
    else:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content.encode("latin-1"))


def make(root: Path, files: Mapping[str, str]) -> None:
    for name, content in files.items():
        write(root, name, content)
