"""What the form of a function shows: it never ends, only computes, or stands for a method of subclasses."""

from __future__ import annotations

import pytest

from gpulint.syntax import ir
from gpulint.syntax.endless import is_endless
from gpulint.syntax.formulas import is_formula
from gpulint.syntax.placeholders import is_placeholder
from tests.syntax.texts import lowered


def function(text: str) -> ir.FunctionDef:
    (definition,) = lowered(text).body
    assert isinstance(definition, ir.FunctionDef)
    return definition


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("while True:\n        yield f()", True),
        ("a = f()\n    while 1:\n        for b in a:\n            yield b", True),
        ("while True:\n        f()", False),
        ("while more:\n        yield f()", False),
        ("while True:\n        yield f()\n        if done:\n            break", False),
        ("while True:\n        if done:\n            return\n        yield f()", False),
        ("for a in b:\n        yield a", False),
    ],
)
def test_a_generator_that_never_ends(body: str, expected: bool) -> None:
    assert is_endless(function(f"def batches():\n    {body}\n")) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def rate(step): return max(low, 1 - step / self.steps)", True),
        ("def rate(step): return 0.5 if step > 3 else math.exp(-step)", True),
        ("def rate(step): return schedule(step)", False),
        ("def rate(step): return optimizer.get(step)", False),
        ("def rate(step): return rates[step]", False),
        ("def rate(step):\n    print(step)\n    return 1", False),
        ("def rate(step): yield step", False),
        ("async def rate(step): return step", False),
        ("@tf.function\ndef rate(step): return step", False),
    ],
)
def test_a_function_that_only_computes(text: str, expected: bool) -> None:
    assert is_formula(function(text)) is expected


def test_a_lambda_that_only_computes() -> None:
    for text, expected in (("lambda step: 1 / step", True), ("lambda step: rates[step]", False)):
        (statement,) = lowered(text).body
        assert isinstance(statement, ir.ExpressionStatement) and isinstance(statement.value, ir.Lambda)
        assert is_formula(statement.value) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def build(self): raise NotImplementedError", True),
        ("def build(self):\n    'Builds it.'\n    raise NotImplementedError('in subclasses')", True),
        ("@abc.abstractmethod\ndef build(self): ...", True),
        ("@abstractmethod\ndef build(self):\n    'Builds it.'", True),
        ("def build(self): pass", False),
        ("def build(self): raise ValueError", False),
        ("def build(self):\n    f()\n    raise NotImplementedError", False),
        ("@abstractmethod\ndef build(self): return f()", False),
    ],
)
def test_a_function_that_stands_for_that_of_subclasses(text: str, expected: bool) -> None:
    assert is_placeholder(function(text)) is expected
