"""Warnings before a program runs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gpulint.cli import options
from gpulint.probe.launch.preflight import gpus_here, missing_devices
from gpulint.probe.measures.cards import Cards
from tests.probe.measures.test_cards import FakeCard, FakeNvml

TWO = """import tensorflow as tf

strategy = tf.distribute.MirroredStrategy({})
"""


def said(tmp_path: Path, text: str, gpus: int) -> list[str]:
    path = tmp_path / "train.py"
    path.write_text(text)
    return missing_devices(str(path), options.finder((), True, {}, None, trust=False), gpus)


@pytest.mark.parametrize(
    ("devices", "gpus", "named"),
    [
        ('["GPU:0", "GPU:1"]', 0, "GPU:0, GPU:1, and this machine has no GPU"),
        ('["/gpu:0", "/gpu:1"]', 1, "/gpu:1, and this machine has one GPU"),
        ('["GPU:0", "GPU:5"]', 2, "GPU:5, and this machine has 2 GPUs"),
        ('["GPU:0", "GPU:1"]', 2, None),
        ('["CPU:0", "CPU:1"]', 0, None),
        ("", 0, None),
    ],
)
def test_a_strategy_that_names_gpus_which_do_not_exist_is_reported(
    devices: str, gpus: int, named: str | None, tmp_path: Path
) -> None:
    lines = said(tmp_path, TWO.format(devices), gpus)
    if named is None:
        assert lines == []
    else:
        assert lines == [f"{tmp_path / 'train.py'}: MirroredStrategy names {named}: training under it may hang"]


@pytest.mark.parametrize(
    "text",
    [
        'import tensorflow as tf\n\nwith tf.device("/gpu:3"):\n    tf.ones(3)\n',
        "strategy = MirroredStrategy(['GPU:0'\n",
        "\x00Strategy gpu",
        "",
    ],
)
def test_other_programs_are_left_to_the_run(text: str, tmp_path: Path) -> None:
    assert said(tmp_path, text, 0) == []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other drivers there")
@pytest.mark.parametrize(
    ("visible", "expected"), [(None, 2), ("0", 1), ("0,1,2", 2), ("-1", 0), ("", 0), ("1,0", 2), ("GPU-4f5a", 1)]
)
def test_cards_that_are_hidden_do_not_count(
    visible: str | None, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.path.exists", lambda path: False)
    environment = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
    cards = Cards(FakeNvml(FakeCard(), FakeCard(bus="00000000:87:00.0")))
    assert gpus_here(cards, environment) == expected
    assert gpus_here(None, environment) == 0


def test_gpus_of_other_makers_are_not_counted_and_nothing_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.path.exists", lambda path: path == "/dev/kfd")
    assert gpus_here(None, {}) is None
