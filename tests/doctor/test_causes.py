"""What all causes have in common: their order, the healthy machine, the documentation."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from gpulint.doctor import causes
from gpulint.doctor.causes import diagnose
from gpulint.linting.finding import Severity
from tests.doctor.situations import (
    COMPUTED,
    FIXTURES,
    HEALTHY,
    NO_GPUS,
    on,
    only,
)


def test_on_a_healthy_machine_nothing_is_reported() -> None:
    assert diagnose(HEALTHY) == []


def test_what_was_run_outweighs_what_was_looked_up() -> None:
    old = on(machine={"kernel_driver": "470.82.01"})  # with CUDA's forward compatibility it may work
    assert only(old).severity is Severity.ERROR
    assert only(on(old, computed=COMPUTED)).severity is Severity.WARNING


def test_errors_come_first() -> None:
    found = diagnose(on(environment={"CUDA_VISIBLE_DEVICES": "-1", "KERAS_BACKEND": "torch"}, **NO_GPUS))
    assert [one.id for one in found] == ["gpus-hidden", "keras-backend"]


def test_the_documentation_names_every_finding() -> None:
    made = set()
    for path in Path(causes.__path__[0]).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in ("Diagnosis", "_Text")
            ):
                given = node.args[0 if node.func.id == "Diagnosis" else 1]
                made |= {one.value for one in ast.walk(given) if isinstance(one, ast.Constant)}
    page = (FIXTURES.parents[1] / "docs" / "doctor.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([a-z-]+)`", page.partition("## Findings")[2].partition("## JSON")[0]))
    assert len(made) > 40
    assert {one for one in made if one and f"`{one}`" not in page} == set()
    assert {one for one in named if "-" in one} - made == {"tensorflow-cpu", "nvidia-smi"}
