"""A report can have its own severity; the user's setting for the rule takes precedence."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpulint
from gpulint.settings import Settings
from tests.checking import findings_of

RUN = """import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
result = strategy.run(tf.identity, args=(tf.constant(1.0),))
{use}
"""
GPUS = """import tensorflow as tf

for gpu in tf.config.list_physical_devices("GPU"):
    {first}
    {second}
"""
GROWTH = "tf.config.experimental.set_memory_growth(gpu, True)"
ONE = """import os

import tensorflow as tf

{first}
tf.config.experimental.set_memory_growth(tf.config.list_physical_devices("GPU")[0], True)
{then}
"""
LIMIT = "tf.config.set_logical_device_configuration(gpu, [tf.config.LogicalDeviceConfiguration(memory_limit=1024)])"


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (RUN.format(use="print(result)"), ("GPU214", "info")),
        (RUN.format(use="text = f'{result}'"), ("GPU214", "info")),
        (RUN.format(use="number = float(result)"), ("GPU214", "error")),
        (RUN.format(use="number = result.numpy()"), ("GPU214", "error")),
        (GPUS.format(first=GROWTH, second=LIMIT), ("GPU306", "warning")),
        (GPUS.format(first=LIMIT, second=GROWTH), ("GPU306", "error")),
        (ONE.format(first="", then=""), ("GPU303", "warning")),
        (ONE.format(first="", then="strategy = tf.distribute.OneDeviceStrategy('/gpu:0')"), ("GPU303", "warning")),
        (
            ONE.format(first="", then="strategy = tf.distribute.get_strategy() if input() else None"),
            ("GPU303", "warning"),
        ),
        (ONE.format(first='os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"', then=""), ("GPU303", "error")),
    ],
)
def test_what_is_legal_is_no_error(program: str, expected: tuple[str, str], tmp_path: Path) -> None:
    result = gpulint.check_source(program, str(tmp_path / "program.py"), Settings(root=str(tmp_path)))
    assert [(one.code, one.severity.value) for one in findings_of(result)] == [expected]
    asked = Settings(root=str(tmp_path), lint=gpulint.LintSettings(severity=((expected[0], "warning"),)))
    result = gpulint.check_source(program, str(tmp_path / "program.py"), asked)
    assert [one.severity.value for one in findings_of(result)] == ["warning"]


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ({"GPU1": "error"}, "error"),
        ({"GPU10": "error", "GPU1": "info", "ALL": "info"}, "error"),
        ({"hardcoded-device": "error", "GPU10": "info"}, "error"),
        ({"GPU2": "error"}, "warning"),
        ({"all": "off"}, None),
        ({"GPU101": "info", "ALL": "off"}, "info"),
    ],
)
def test_a_prefix_sets_the_severity_of_its_rules(table: dict[str, str], expected: str | None, tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text("import tensorflow as tf\n\nwith tf.device('/gpu:0'):\n    x = tf.ones(2)\n")
    settings = gpulint.Settings(lint=gpulint.LintSettings(severity=tuple(table.items())))
    found = findings_of(gpulint.check_paths([program], settings))
    assert [one.severity.value for one in found if one.code == "GPU101"] == ([expected] if expected else [])
