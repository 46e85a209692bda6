"""What the installed release of TensorFlow cannot be asked for. Nothing here imports it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from gpulint.probe.agent.operations import QUESTION
from gpulint.probe.capture.evidence import FIT_WAITS


def never_seen() -> set[str]:
    """Evidence that the installed TensorFlow does not give: 2.16 cannot be asked for the waits of `fit`."""
    spec = importlib.util.find_spec("tensorflow")
    if spec is None or spec.origin is None:
        return set()
    operations = Path(spec.origin).parent / "python" / "ops" / "gen_experimental_dataset_ops.py"
    return set() if QUESTION in operations.read_text("utf-8") else {FIT_WAITS}


needs_waits_of_fit = pytest.mark.skipif(FIT_WAITS in never_seen(), reason="this TensorFlow tells no waits of `fit`")
