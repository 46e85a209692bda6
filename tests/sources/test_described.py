"""The TensorFlow release that a project's container images name."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpulint.settings import NEWEST_TENSORFLOW, SettingsFinder
from gpulint.sources.described import described

NEWEST = "2.21"
OLD = "FROM tensorflow/tensorflow:2.4.0\n"


def release_of(directory: Path) -> str | None:
    named = described(str(directory), NEWEST, SettingsFinder().text)
    return named.release if named is not None else None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("FROM tensorflow/tensorflow:2.9.3-gpu\nCOPY . /app\n", "2.9"),
        ("FROM --platform=linux/amd64 tensorflow/tensorflow:2.4.1-gpu-jupyter AS base\n", "2.4"),
        ("FROM gcr.io/deeplearning-platform-release/tf2-gpu.2-6\n", "2.6"),
        ("ARG TF=2.11.0\nFROM tensorflow/tensorflow:${TF}-gpu\n", "2.11"),
        ("FROM nvidia/cuda:11.2.2-base\nRUN pip install tensorflow-gpu==2.5.0 numpy && rm -r /root/.cache\n", "2.5"),
        ("FROM python:3.9\nRUN pip install tensorflow-rocm==2.10.1\n", "2.10"),
        ("FROM python:3.9\nRUN pip install tensorflow-rocm-tools==2.10.1\n", None),
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
    assert release_of(tmp_path) == expected


def test_the_image_of_a_service(tmp_path: Path) -> None:
    (tmp_path / "docker").mkdir()
    (tmp_path / "docker" / "docker-compose.yml").write_text(
        "services:\n  train:\n    image: lab:5000/tf-2.3.0-gpu:latest\n"
    )
    assert release_of(tmp_path) == "2.3"


def test_a_readme_decides_nothing(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("Ported from code for TensorFlow 2.3.\n\npip install tensorflow==2.3.0\n")
    assert release_of(tmp_path) is None


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"Dockerfile": OLD}, "2.4"),
        ({"Dockerfile": OLD, "requirements.txt": "tensorflow\n"}, "2.4"),
        ({"Dockerfile": OLD, "requirements.txt": "tensorflow>=2.3\n"}, NEWEST_TENSORFLOW),
        ({"Dockerfile": OLD, "requirements.txt": "tensorflow==2.7\n"}, "2.7"),
        ({"Dockerfile": OLD, "README.md": "TensorFlow 2.6"}, "2.4"),
        ({"package/Dockerfile": OLD, "requirements.txt": "tensorflow==2.7\n"}, "2.7"),
        ({"package/Dockerfile": OLD, "Dockerfile": "FROM tensorflow/tensorflow:2.5.0\n"}, "2.4"),
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
    (directory / "Dockerfile").write_text("FROM tensorflow " + text)
    release = release_of(directory)
    assert not release or tuple(map(int, release.split("."))) <= (2, 21)
