"""Expressions: the valid ones, the errors for others, and that reading and writing agree."""

from __future__ import annotations

import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpulint.probe.expectations.expression import UNITS, Expression, ExpressionError, parse, shown
from gpulint.probe.expectations.metrics import METRICS

_ARGUMENTS = {
    "DEVICE": st.sampled_from(["GPU", "GPU:0", "CPU", "CPU:12", "/gpu:1", "/job:worker/task:1/device:GPU:0"]),
    "FUNCTION": st.text(string.ascii_letters + string.digits + "_.<>", min_size=1),
    "": st.just(""),
}


@st.composite
def expressions(draw: st.DrawFn) -> Expression:
    metric = draw(st.sampled_from(METRICS))
    argument = draw(_ARGUMENTS[metric.argument])
    if metric.optional and draw(st.booleans()):
        argument = ""
    number = draw(st.from_regex(r"(0|[1-9]\d{0,8})(\.\d{1,4})?", fullmatch=True))
    unit = draw(st.sampled_from(sorted(UNITS[metric.kind])))
    return Expression(metric, argument, draw(st.sampled_from([">=", "<=", ">", "<", "==", "!="])), number, unit)


@given(expressions())
def test_what_is_written_is_read_as_it_was_meant(expression: Expression) -> None:
    assert parse(str(expression)) == expression


@given(expressions(), st.lists(st.sampled_from(["", " ", "\t", "  "]), min_size=5, max_size=5))
def test_blanks_around_the_parts_do_not_matter(expression: Expression, blanks: list[str]) -> None:
    parts = (expression.subject, expression.op, expression.number, expression.unit)
    text = blanks[0] + "".join(part + blank for part, blank in zip(parts, blanks[1:], strict=True))
    assert parse(text) == expression


def explanation(text: str) -> str | None:
    """The error for a text, None if it is an expression."""
    try:
        parse(text)
    except ExpressionError as error:
        return str(error)
    return None


@given(st.text())
def test_any_other_text_is_one_line_of_explanation(text: str) -> None:
    said = explanation(text)
    assert said is None or len(said.splitlines()) == 1


@given(expressions(), st.integers(0, 40), st.characters())
def test_a_damaged_expression_is_read_or_explained(expression: Expression, at: int, character: str) -> None:
    text = str(expression)
    at %= len(text)
    for damaged in (text[:at] + text[at + 1 :], text[:at] + character + text[at:], text[:at]):
        said = explanation(damaged)
        assert said != ""
        assert said is not None or parse(damaged).holds(0.0) in (True, False)


@given(expressions(), st.floats(0, 1e12))
def test_an_expression_and_its_opposite_never_both_hold(expression: Expression, measured: float) -> None:
    opposites = {">=": "<", "<=": ">", ">": "<=", "<": ">=", "==": "!=", "!=": "=="}
    opposite = Expression(
        expression.metric, expression.argument, opposites[expression.op], expression.number, expression.unit
    )
    assert expression.holds(measured) != opposite.holds(measured)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("ops.on_gpu>=90%", 0.9),
        ("memory.peak[GPU:0] <= 2 GiB", 2 * 2**30),
        ("memory.peak<=2GB", 2e9),
        ("step.mean < 200ms", 0.2),
        ("traces[train_step] == 1", 1),
        ("eager_ops.per_step <= 2.5", 2.5),
        ("memory.host.peak <= .5 KiB", 512),
    ],
)
def test_values_are_in_base_units(text: str, value: float) -> None:
    assert parse(text).value == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ops.on_gup >= 90%", "`ops.on_gup >= 90%`: there is no metric `ops.on_gup`; did you mean `ops.on_gpu`?"),
        ("memory.peek[GPU:0] < 1GiB", "there is no metric `memory.peek`; did you mean `memory.peak[DEVICE]`?"),
        ("qwertyuiop > 1", "there is no metric `qwertyuiop`; there are ops.on, ops.on_gpu"),
        ("ops.on_gpu", "is not an expectation: write METRIC OP VALUE, such as `ops.on_gpu >= 90%`"),
        ("op.on_gpu >=", "is not an expectation: write METRIC OP VALUE"),
        ("", "is not an expectation"),
        ("ops.on_gpu >= 0.9", "`ops.on_gpu` needs a unit (%), such as 90%"),
        ("memory.peak <= 2", "`memory.peak` needs a unit (B, kB"),
        ("memory.peak <= 2 gib", "`gib` is not a unit of `memory.peak`; did you mean `GiB`?"),
        ("memory.peak <= 2 GiBs", "`GiBs` is not a unit of `memory.peak`; did you mean `GiB`?"),
        ("memory.peak <= 2 parsec", "`parsec` is not a unit of `memory.peak`; there are B, kB"),
        ("steps >= 3%", "`steps` is a number and has no unit `%`"),
        ("steps = 3", "`=` is not a comparison; write `==`"),
        ("steps =< 3", "`=<` is not a comparison; there are >= <= > < == !="),
        ("ops.on >= 3%", "`ops.on` needs a device: `ops.on[GPU:0]`"),
        ("ops.on[] >= 3%", "`ops.on` needs a device: `ops.on[GPU:0]`"),
        ("traces <= 3", "`traces` needs a function: `traces[train_step]`"),
        ("ops.on[quick] >= 3%", "`quick` is not a device; write `GPU`, `GPU:0` or `CPU`"),
        ("steps[GPU] >= 3", "`steps` has no brackets"),
    ],
)
def test_a_wrong_expression_is_explained(text: str, message: str) -> None:
    with pytest.raises(ExpressionError, match=re.escape(message)):
        parse(text)


def test_a_share_that_is_no_binary_fraction_is_compared_as_it_is_written() -> None:
    assert parse("ops.on_gpu >= 90%").holds(9 / 10)
    assert parse("ops.on_gpu == 30%").holds(0.1 + 0.2)
    assert not parse("ops.on_gpu > 70%").holds(7 / 10)
    assert not parse("ops.on_gpu >= 90%").holds(0.8999)


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("share", 1, "100%"),
        ("share", 0.625, "62.5%"),
        ("bytes", 12, "12 B"),
        ("bytes", 3 * 2**29, "1.5 GiB"),
        ("seconds", 0.0773, "77.3 ms"),
        ("seconds", 12.34, "12.3 s"),
        ("number", 1234, "1,234"),
        ("number", 3.46, "3.5"),
    ],
)
def test_measured_values_are_shown_as_people_read_them(kind: str, value: float, text: str) -> None:
    assert shown(kind, value) == text  # type: ignore[arg-type]


def test_one_side_of_a_metric_is_distinguished_from_the_other() -> None:
    assert parse("steps >= 3").bound == parse("steps > 9").bound == "lower"
    assert parse("steps <= 3").bound == "upper"
    assert parse("steps == 3").bound == parse("steps != 3").bound == "value"
