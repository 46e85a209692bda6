"""The estimate as JSON: a contract."""

from __future__ import annotations

import json

import pytest

from gpulint.estimate.report import render
from tests.estimate.report.made import GIB, estimate


def test_the_contract() -> None:
    found = json.loads(render("json", estimate()))
    assert found["version"] == 1
    assert found["step"] == {
        "function": "train_step",
        "filename": "train.py",
        "row": 7,
        "cell": None,
        "batch": 64,
        "replicas": 1,
        "precision": "float32",
        "compiled": False,
        "eager": True,
    }
    assert found["unknown"] == [{"op": "FFT", "count": 1}]
    first, own = found["gpus"]
    assert (first["name"], own["name"]) == ("H200", "memory=8GiB")
    assert first["memory"]["steady_peak"] == 19 * GIB // 2
    assert (first["memory"]["fits"], own["memory"]["fits"]) == ("yes", "no")
    assert first["memory"]["by_group"] == {"activations": 8 * GIB, "weights": GIB, "slots": GIB // 2}
    assert first["memory"]["holders"][0] == {
        "filename": "train.py",
        "row": 10,
        "cell": None,
        "layer": "dense",
        "group": "activations",
        "bytes": 8 * GIB,
    }
    assert first["memory"]["holders"][1]["cell"] == 2
    assert first["memory"]["holders"][2]["filename"] is None
    time = first["time"]
    assert time["operations"] == 2
    assert time["flops"] == 2 * 2 * 64 * 16384 * 16384
    assert time["active_bound"] == "memory"
    assert time["lower_bound_seconds"] == pytest.approx(time["bounds"]["compute"] + time["bounds"]["memory"])
    assert [one["gpus"] for one in first["scaling"]] == [8]
    assert first["scaling"][0]["speedup_at_most"] == pytest.approx(0.409, rel=0.01)  # 2 GiB of gradients for 451 µs


def test_an_unknown_memory_is_null() -> None:
    assert json.loads(render("json", estimate(with_memory=False)))["gpus"][0]["memory"] is None


def test_an_unknown_format_is_an_error() -> None:
    with pytest.raises(KeyError):
        render("xml", estimate())
