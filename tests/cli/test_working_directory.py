"""The findings of a file do not depend on the working directory, nor on how the file is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.test_check import check

NET = "import tensorflow as tf\n\n\ndef build():\n    return tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
TRAIN = """import tensorflow as tf
from {module} import build

strategy = tf.distribute.MirroredStrategy()
model = build()
with strategy.scope():
    model.compile("sgd", "mse")
model.fit(tf.zeros((8, 3)), tf.zeros((8, 1)))
"""

PLACES = {
    "Pkg.models.net": "Pkg/models/net.py",
    "models.net": "Pkg/models/net.py",
    "nets.net": "Pkg/src/nets/net.py",
    "net": "Pkg/tools/net.py",
}


@pytest.mark.parametrize("module", PLACES)
@pytest.mark.parametrize("marker", ["", "Pkg/setup.py", "Pkg/tools/__init__.py"])
@pytest.mark.parametrize("directory", [".", "Pkg", "Pkg/tools", "Pkg/tools/jobs", "elsewhere"])
def test_findings_are_the_same(
    module: str, marker: str, directory: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = {PLACES[module]: NET, "Pkg/tools/jobs/train.py": TRAIN.format(module=module), "elsewhere/net.py": ""}
    for name, text in {**texts, **({marker: ""} if marker else {})}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    program = tmp_path / "Pkg" / "tools" / "jobs" / "train.py"
    monkeypatch.chdir(tmp_path / directory)
    for path in (str(program), str(tmp_path / "Pkg")):
        found = check("-n", "--output-format", "concise", path).stdout
        assert [line.split()[1] for line in found.splitlines()[:-1]] == ["error[GPU201]"]
