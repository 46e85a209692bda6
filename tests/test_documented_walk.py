"""docs/interpreter.md follows a scope from its call to a finding through the files that the interpreter passes."""

from __future__ import annotations

import re
import sys
import traceback
from pathlib import Path

import pytest

from gpulint import Settings, check_source
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.plan.events import Event

ROOT = Path(__file__).parents[1]


def test_the_interpreter_passes_what_the_page_names(monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs" / "interpreter.md").read_text("utf-8")
    section = page.partition("## How one scope becomes a finding\n")[2].partition("\n## ")[0]
    program, _, walk = section.partition("```python\n")[2].partition("```\n")
    reached: set[str] = set()
    emit = Machine.emit

    def emitted(machine: Machine, event: Event) -> None:
        for frame, _ in traceback.walk_stack(sys._getframe(1)):
            path = Path(frame.f_code.co_filename)
            reached.update((path.relative_to(ROOT).as_posix() if ROOT in path.parents else "", frame.f_code.co_name))
        reached.add(type(event).__name__)
        emit(machine, event)

    monkeypatch.setattr(Machine, "emit", emitted)
    before = (
        "import tensorflow as tf\n\n\ndef build():\n    return tf.keras.Sequential([tf.keras.layers.Dense(1)])\n\n\n"
    )
    found = check_source(f"{before}strategy = tf.distribute.MirroredStrategy()\n{program}", settings=Settings())
    assert [one.code for one in found.findings] == ["GPU201"]
    files = set(re.findall(r"`((?:engine|models)/[\w/]+\.py)`", walk))
    names = set(re.findall(r"`(exec_\w+|eval_\w+|(?:Scope|Model)\w+ed|ScopeMade)`", walk))
    assert len(files) > 5 and len(names) > 3
    assert {f"gpulint/analysis/{file}" for file in files} | names <= reached
