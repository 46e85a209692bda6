"""The JSON of `plan`, `doctor`, `estimate` and `probe` matches the schema that `gpulint config --schema` prints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

from gpulint.cli.config import SCHEMAS
from gpulint.cli.main import main
from gpulint.doctor import messages
from gpulint.doctor.causes import diagnose
from gpulint.doctor.report import MachineReport
from gpulint.doctor.report import render as doctor
from gpulint.estimate.report import render as estimate
from gpulint.probe.report import render as probe
from tests.doctor.situations import COMPUTED, HEALTHY, NO_HARDWARE, log, on
from tests.estimate.report.made import estimate as made
from tests.notebooks import notebook
from tests.probe.report.test_report import advised, report
from tests.programs import FIXTURES

PROGRAM = """import os
import tensorflow as tf

if os.environ.get("GPUS"):
    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
for i in range(9):
    tf.zeros(i)
"""


def schema(name: str) -> dict[str, Any]:
    """As printed."""
    found: dict[str, Any] = json.loads(CliRunner().invoke(main, ["config", "--schema", name]).stdout)
    return found


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_it_is_a_schema_and_takes_nothing_else(name: str) -> None:
    jsonschema.Draft7Validator.check_schema(schema(name))
    assert not jsonschema.Draft7Validator(schema(name)).is_valid({"version": 1, "code": "GPU101"})


def test_plans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(PROGRAM)
    (tmp_path / "deep.py").write_text(
        "import tensorflow as tf\n\ndef f(n):\n    tf.zeros(n)\n    return f(n + 1)\n\nf(0)\n"
    )
    (tmp_path / "a.ipynb").write_text(notebook("import tensorflow as tf", PROGRAM))
    for paths in (["train.py"], ["a.ipynb"], ["deep.py"], ["."]):
        plan = json.loads(CliRunner().invoke(main, ["plan", "--output-format", "json", *paths]).stdout)
        jsonschema.validate(plan, schema("plan"))
    assert any(one["not_followed"] for one in plan) and any(one["notes"] for one in plan)


def test_the_doctor() -> None:
    hidden = on(environment={"CUDA_VISIBLE_DEVICES": "-1"}, messages=messages.read(log("2.21-no-device.log")), gpus=())
    for evidence in (HEALTHY, NO_HARDWARE, hidden, on(computed=COMPUTED)):
        shown = doctor("json", MachineReport(evidence, diagnose(evidence)), False)
        jsonschema.validate(json.loads(shown), schema("doctor"))


def test_estimates() -> None:
    for one in (made(), made(with_memory=False)):
        jsonschema.validate(json.loads(estimate("json", one)), schema("estimate"))


def test_the_probe() -> None:
    for one in (report(), report(status=3, signal="SIGKILL"), advised()):
        jsonschema.validate(json.loads(probe("json", one, False)), schema("probe"))


@pytest.mark.parametrize("option", ["--replay", "--merge", "--log"])
def test_the_probe_on_what_was_recorded(option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    capture = FIXTURES / "captures" / "mirrored.jsonl"
    given = {"--replay": str(capture), "--merge": str(tmp_path), "--log": str(tmp_path / "log")}
    (tmp_path / "capture-worker-0.jsonl").write_bytes(capture.read_bytes())
    (tmp_path / "log").write_text("n: (MatMul): /job:localhost/replica:0/task:0/device:GPU:0\n")
    done = CliRunner().invoke(main, ["probe", "--output-format", "json", option, given[option]])
    jsonschema.validate(json.loads(done.stdout), schema("probe"))
