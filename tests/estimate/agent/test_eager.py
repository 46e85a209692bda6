"""Which part of a program is its step where a gradient is taken eagerly."""

from __future__ import annotations

import contextlib
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy
import pytest

from gpulint.estimate.agent.eager import Step, steps_around

LIBRARY = "/library.py"


@contextlib.contextmanager
def tape() -> Any:
    yield


def found(directory: Path, program: str) -> list[Step]:
    """Candidates at the program's call of `gradient()`, without those of this test's own frames."""
    path = directory / "train.py"
    path.write_text(textwrap.dedent(program), encoding="utf-8")
    steps: list[Step] = []

    def gradient() -> None:
        frame: FrameType | None = sys._getframe(1)
        if not steps:
            steps.extend(steps_around(frame, lambda name: name != str(path)))

    code = compile(path.read_text(encoding="utf-8"), str(path), "exec")
    exec(code, {"gradient": gradient, "GradientTape": tape, "np": numpy, "seen": []})
    return [one for one in steps if one.frame.f_code.co_filename == str(path)]


def rows(steps: list[Step]) -> list[tuple[str, int, list[tuple[int, ...]]]]:
    return [(one.name, one.row, [numpy.shape(each) for each in one.arguments]) for one in steps]


def test_a_function_is_called_with_its_data(tmp_path: Path) -> None:
    steps = found(
        tmp_path,
        """
        def step(x, rate, *, y):
            with GradientTape():
                seen.append(x)
            gradient()

        step(np.zeros((4, 2)), 0.1, y=np.zeros(4))
        """,
    )
    assert steps[0].name == "step"
    assert steps[0].can_convert
    assert (steps[0].row, numpy.shape(steps[0].arguments[0]), list(steps[0].keywords)) == (2, (4, 2), ["y"])


def test_statements_of_a_loop_are_a_step_from_the_tape_to_the_end_of_the_block(tmp_path: Path) -> None:
    steps = found(
        tmp_path,
        """
        for x in [np.zeros((4, 2))]:
            seen.append("before")
            with GradientTape():
                seen.append(x)
            gradient()
            seen.append("after")
        """,
    )
    assert rows(steps) == [("<module>", 4, [(4, 2)]), ("<module>", 4, [(4, 2)])]
    seen = steps[0].frame.f_globals["seen"]
    for one, expected in zip(steps, (["after"], []), strict=True):
        seen.clear()
        one.python(numpy.ones((8, 2)))
        assert [numpy.shape(each) or each for each in seen] == [(8, 2), *expected]


def test_the_statements_may_end_with_the_update(tmp_path: Path) -> None:
    steps = found(
        tmp_path,
        """
        x, optimizer = np.zeros((4, 2)), type("", (), {"apply_gradients": seen.append})
        while not seen:
            with GradientTape():
                seen.append(x)
                gradient()
            optimizer.apply_gradients("applied")
            if len(seen) > 5:
                break
            seen.append("printed")
        """,
    )
    seen = steps[0].frame.f_globals["seen"]
    ends = []
    for one in steps:
        seen.clear()
        one.python(numpy.zeros((4, 2)))
        ends.append(seen[-1] if isinstance(seen[-1], str) else "gradient")
    assert ends == ["applied", "applied", "gradient"]  # what can leave the loop ends the first


@pytest.mark.parametrize(
    ("read", "shape"),
    [
        ("self.states", (6, 3)),
        ("self.states[self.chosen]", (2, 3)),
        ("batch['x'][1:]", (4, 2)),
        ("actions", (4,)),
    ],
)
def test_data_that_a_method_reads_become_arguments(tmp_path: Path, read: str, shape: tuple[int, ...]) -> None:
    steps = found(
        tmp_path,
        f"""
        class Agent:
            states, chosen = np.zeros((6, 3)), [1, 2]

            def learn(self):
                batch, actions = {{"x": np.zeros((5, 2))}}, [0, 1, 1, 0]
                with GradientTape() as tape:
                    seen.append({read})
                gradient()

        Agent().learn()
        """,
    )
    assert rows(steps)[0] == ("learn", 7, [shape])
    seen = steps[0].frame.f_globals["seen"]
    seen.clear()
    steps[0].python("given")
    assert seen == ["given"]


def test_a_gradient_without_a_tape_in_sight_is_a_step_in_its_own_function_only(tmp_path: Path) -> None:
    program = """
        def gradients():
            gradient()

        def step():
            x = np.zeros((4, 2))
            gradients(), x

        step()
        """
    assert found(tmp_path, program) == []


def test_variables_and_scalars_are_no_data(tmp_path: Path) -> None:
    steps = found(
        tmp_path,
        """
        class Variable(np.ndarray):
            assign = None

        weight, rate = Variable((2, 2)), np.float32(0.1)
        with GradientTape():
            seen.append((weight, rate))
        gradient()
        """,
    )
    assert steps == []


def test_missing_source_has_no_statements() -> None:
    steps: list[Step] = []
    code = "x = np.zeros((2, 2))\nwith GradientTape():\n    x\ngradient()\n"
    given: dict[str, Callable[..., Any] | Any] = {"np": numpy, "GradientTape": tape}
    given["gradient"] = lambda: steps.extend(steps_around(sys._getframe(1), lambda name: name != LIBRARY))
    exec(compile(code, LIBRARY, "exec"), given)
    assert [one for one in steps if one.frame.f_code.co_filename == LIBRARY] == []
