"""Which files are analysed: those about TensorFlow, and those that run code which imports it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpulint.linting.engine import Checker
from gpulint.linting.pack import load
from gpulint.linting.screening import mentions_tensorflow
from gpulint.linting.selection import Catalogue
from gpulint.settings import Settings, SettingsFinder

MAIN = "from helper import work\n\nwork()\n"


@pytest.mark.parametrize(
    ("helper", "looked_at"),
    [
        ("import tensorflow as tf", True),
        ("import numpy as np, tensorflow as tf", True),
        ("def late():\n    from tensorflow.keras import layers", True),
        ("import horovod.torch as hvd", True),
        ("import tf_agents", True),
        ("from keras_cv import layers", True),
        ("from transformers import AutoTokenizer, TFBertModel", True),
        ("from transformers import AutoTokenizer, BertModel", False),
        ("from backends import (\n    log,\n    keras,\n)", True),
        ("from nn.layers import keras_dense", True),
        ("import tensorflow as tf\nprint 'Python 2'", True),
        ('USAGE = """\nimport tensorflow as tf\n"""', False),
        ('import os\nos.environ["CUDA_VISIBLE_DEVICES"] = "0"', True),
        ('"""Prints what TensorFlow would do; `import_module("tensorflow")`."""', False),
        ("from printing.tensorflow import code", False),
        ("from .tensorflow import code", False),
        ("TF_LIMIT = 100", False),
        ('import os\nos.environ["CUDA_HOME"] = "/usr"', False),
        ("import numpy as np", False),
    ],
)
def test_programs_by_what_they_import(helper: str, looked_at: bool, tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(MAIN)
    (tmp_path / "helper.py").write_text(f"{helper}\n\n\ndef work():\n    pass\n")
    checker = Checker(SettingsFinder(Settings(root=str(tmp_path))), Catalogue(load(installed=False)))
    (examined,) = checker.examine([str(tmp_path / "main.py")], [str(tmp_path / "main.py")], {})
    assert bool(examined.analysed) is looked_at and not examined.errors


@pytest.mark.parametrize(
    "text", [b"the tf of a search: TF_IDF = 3", b"# export the CUDA kernels", b"# transformers, TFLOPS"]
)
def test_it_is_not_about_tensorflow(text: bytes) -> None:
    assert not mentions_tensorflow(text)
