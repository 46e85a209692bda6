"""Causes, each on an otherwise healthy machine: importing TensorFlow."""

from __future__ import annotations

import pytest

from gpulint.doctor.answer import Answer
from tests.doctor.situations import (
    NO_GPUS,
    log,
    on,
    only,
    said,
)


@pytest.mark.parametrize(
    ("name", "expected", "fix"),
    [
        ("protobuf-3.19", "protobuf", "'protobuf<8.0.0,>=6.31.1'"),
        ("protobuf-3.19-2.16", "protobuf", "'protobuf<8.0.0,>=6.31.1'"),
        ("protobuf-4.25", "protobuf", "'protobuf<8.0.0,>=6.31.1'"),
        ("protobuf-5.29", "protobuf", "'protobuf<8.0.0,>=6.31.1'"),
        ("descriptors", "protobuf", "'protobuf<8.0.0,>=6.31.1'"),
        ("libprotobuf", "protobuf", "'protobuf<8.0.0,>=6.31.1'"),
        ("numpy-1.22", "numpy", "'numpy>=1.26.0'"),
        ("numpy-1.22-2.16", "numpy", "'numpy>=1.26.0'"),
        ("numpy-2.3-2.16", "numpy", "'numpy>=1.26.0'"),
        ("numpy-object", "numpy", "'numpy>=1.26.0'"),
        ("numpy-dtype", "numpy", "'numpy>=1.26.0'"),
        ("glibc", "c-library", "docker run"),
        ("dll", "visual-c", "winget install"),
    ],
)
def test_known_texts(name: str, expected: str, fix: str) -> None:
    text = log(f"import-{name}.txt")
    crashed = name == "libprotobuf"
    asked = (
        Answer("crashed", "import", "SIGABRT", log=text)
        if crashed
        else Answer("failed", "import", text.strip().splitlines()[-1], traceback=text)
    )
    one = only(on(asked_tensorflow=asked, **NO_GPUS))
    assert one.id == expected and fix in one.fix
    assert one.seen.startswith("`import tensorflow` fails: ")


def test_another_implementation_of_protobuf() -> None:
    error = "ImportError: cannot import name '_message' from 'google.protobuf.pyext' (/x/__init__.py)"
    one = only(on(asked_tensorflow=Answer("failed", "import", error), **NO_GPUS))
    assert one.fix == "unset PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"


def test_an_unknown_failure_is_reported_in_its_own_words() -> None:
    error = "ModuleNotFoundError: No module named 'absl'"
    one = only(on(asked_tensorflow=Answer("failed", "import", error), **NO_GPUS))
    assert one.id == "import-fails" and error in one.seen and "--force-reinstall" in one.fix


@pytest.mark.parametrize(("signal", "expected"), [("SIGILL", "instruction-set"), ("SIGSEGV", "import-crashes")])
def test_a_crash(signal: str, expected: str) -> None:
    one = only(on(asked_tensorflow=Answer("crashed", "import", signal), **NO_GPUS))
    assert one.id == expected and signal in one.seen


def test_a_hang() -> None:
    one = only(on(asked_tensorflow=Answer("timeout", "import", seconds=60.0), **NO_GPUS))
    assert one.id == "import-hangs" and one.fix == "gpulint doctor --timeout 300"


def test_a_flag_that_xla_does_not_know() -> None:
    asked = Answer("crashed", "import", "SIGABRT", log=log("2.21-xla-flag.log"))
    one = only(on(asked_tensorflow=asked, messages=said("2.21-xla-flag.log"), **NO_GPUS))
    assert one.id == "unknown-xla-flag" and one.fix == "unset TF_XLA_FLAGS"
