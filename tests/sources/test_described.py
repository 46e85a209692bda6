"""What projects say of their TensorFlow beside their requirements: the images that they run in, and their READMEs."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpulint.settings import NEWEST_TENSORFLOW, SettingsFinder
from gpulint.sources.described import described

NEWEST = "2.21"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("FROM tensorflow/tensorflow:2.9.3-gpu\nCOPY . /app\n", "2.9"),
        ("FROM --platform=linux/amd64 tensorflow/tensorflow:2.4.1-gpu-jupyter AS base\n", "2.4"),
        ("FROM gcr.io/deeplearning-platform-release/tf2-gpu.2-6\n", "2.6"),
        ("ARG TF=2.11.0\nFROM tensorflow/tensorflow:${TF}-gpu\n", "2.11"),
        ("FROM nvidia/cuda:11.2.2-base\nRUN pip install tensorflow-gpu==2.5.0 numpy && rm -r /root/.cache\n", "2.5"),
        ("FROM tensorflow/tensorflow:1.15.2-gpu\n", "1.15"),
        ("FROM tensorflow/tensorflow:2.3.0\nFROM tensorflow/tensorflow:2.8.0\n", "2.8"),
        ("FROM tensorflow/tensorflow:latest-gpu\n", None),
        ("FROM nvcr.io/nvidia/tensorflow:21.03-tf2-py3\n", None),
        ("FROM tensorflow/tensorflow:2.21.0\n", "2.21"),
        ("# FROM tensorflow/tensorflow:2.3.0\nFROM python:3.9\n", None),
    ],
)
def test_an_image(text: str, expected: str | None, tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text(text)
    assert described(str(tmp_path), NEWEST, SettingsFinder().text) == expected


def test_the_image_of_a_service(tmp_path: Path) -> None:
    (tmp_path / "docker").mkdir()
    (tmp_path / "docker" / "docker-compose.yml").write_text(
        "services:\n  train:\n    image: lab:5000/tf-2.3.0-gpu:latest\n"
    )
    assert described(str(tmp_path), NEWEST, SettingsFinder().text) == "2.3"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("```\npip install tensorflow-gpu==2.9.1\n```\n", "2.9"),
        ("tensorflow                   2.13.0\ntensorflow-io                0.33.0\n", "2.13"),
        ("The TensorFlow version is 2.3.1.", "2.3"),
        ("| tensorflow | 2.13.0 |", "2.13"),
        ("* TensorFlow: v2.4", "2.4"),
        ("Works with TensorFlow 2.6. Older versions may do.", "2.6"),
        ("![TF](https://img.shields.io/badge/TensorFlow-2.1-orange)", "2.1"),
        ("Tested with TensorFlow 2.4, 2.5 and 2.6 on Linux", "2.6"),
        ("Tested on **TF 2.2.0**", "2.2"),
        ("This project is developed in tensorflow-gpu=2.5.0, cuda=11.2", "2.5"),
        ("the code needs TensorFlow 2.0.0", "2.0"),
        ("pip install tensorflow==1.15", "1.15"),
        ("pip install 'tensorflow<2.11'", "2.10"),
        ("An implementation in TensorFlow 2.0", None),
        ("An implementation in TensorFlow 2.x", None),
        ("The original is written in TensorFlow 1.4", None),
        ("- TensorFlow >= 2.3", ""),
        ("- TensorFlow 2.3+", ""),
        ("- TensorFlow 2.3 or later", ""),
        ("- TensorFlow (2.3 and above)", ""),
        ("TensorFlow Addons 0.13, Keras 2.4, tensorflow-probability 0.12, tensorflow_datasets 2.1", None),
        ("Works with TensorFlow 2.4 and TensorFlow 2.21", "2.21"),
        ("See https://github.com/example/tensorflow-2.4-notes", None),
    ],
)
def test_a_readme(text: str, expected: str | None, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(text)
    assert described(str(tmp_path), NEWEST, SettingsFinder().text) == expected


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"README.md": "TensorFlow 2.4"}, "2.4"),
        ({"README.md": "TensorFlow 2.4", "requirements.txt": "tensorflow\n"}, "2.4"),
        ({"README.md": "TensorFlow 2.4", "requirements.txt": "tensorflow>=2.3\n"}, NEWEST_TENSORFLOW),
        ({"README.md": "TensorFlow 2.4", "requirements.txt": "tensorflow==2.7\n"}, "2.7"),
        ({"README.md": "TensorFlow 2.4", "Dockerfile": "FROM tensorflow/tensorflow:2.6.0\n"}, "2.6"),
        ({"package/README.md": "TensorFlow 2.4", "requirements.txt": "tensorflow==2.7\n"}, "2.7"),
        ({"package/README.md": "TensorFlow 2.4", "README.md": "TensorFlow 2.5"}, "2.4"),
    ],
)
def test_what_goes_before_what(files: dict[str, str], expected: str, tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    (tmp_path / ".git").mkdir()
    assert SettingsFinder().of_directory(str(tmp_path / "package")).target_tensorflow == expected


PIECES = (
    "tensorflow",
    "TensorFlow",
    "tf",
    "-gpu",
    " ",
    ":",
    "==",
    "<",
    ">=",
    "~=",
    ",",
    "1.",
    "2.",
    "0",
    "9",
    "21",
    "30",
)
PIECES += ("FROM ", "image: ", "ARG A=", "$A", "${A}", "\n", "[", "]", "(", ")", "/", "+", "or later", "badge/", "x")


@given(text=st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_any_text_names_a_known_release_or_none(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    directory = tmp_path_factory.mktemp("project")
    for name in ("README.md", "Dockerfile"):
        (directory / name).write_text("FROM tensorflow " + text)
    release = described(str(directory), NEWEST, SettingsFinder().text)
    assert not release or tuple(map(int, release.split("."))) <= (2, 21)
