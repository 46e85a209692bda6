"""`METRIC OP VALUE[UNIT]`: a user's expectation, as in `--expect`, the settings and `gpulint.expect.that`."""

from __future__ import annotations

import difflib
import math
import operator
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from gpulint.knowledge.devices import parse_device
from gpulint.probe.expectations.metrics import BY_NAME, METRICS, Kind, Metric
from gpulint.probe.measures.sizes import BYTES, in_words

_FORM = re.compile(
    r"\s*(?P<name>[^\s\[\]<>=!]+)\s*(?:\[(?P<argument>[^\[\]]*)\])?\s*(?P<op>[<>=!]+)\s*"
    r"(?P<number>[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)\s*(?P<unit>\S*)\s*"
)

_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "==": operator.eq,
    "!=": operator.ne,
}

Bound = Literal["lower", "upper", "value"]

_BOUNDS: dict[str, Bound] = {">=": "lower", ">": "lower", "<=": "upper", "<": "upper", "==": "value", "!=": "value"}

UNITS: dict[Kind, dict[str, float]] = {
    "share": {"%": 0.01},
    "bytes": BYTES,
    "seconds": {"us": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600},
    "number": {"": 1},
}
"""Units of each kind and their values. Everything but plain numbers needs one: 0.9 and 1 could mean either."""

_EXAMPLES: dict[Kind, str] = {"share": "90%", "bytes": "2GiB", "seconds": "200ms", "number": "1"}

_CLOSE = 1e-9
"""Values closer than this are equal: 0.9 has no exact binary representation."""


class ExpressionError(ValueError):
    """An unreadable expression, with one line that says what is allowed."""


@dataclass(frozen=True, slots=True)
class Expression:
    """An expectation of a metric. `number` and `unit` are as written."""

    metric: Metric
    argument: str
    op: str
    number: str
    unit: str

    @property
    def value(self) -> float:
        """Bytes, seconds, a share from 0 to 1, or a number."""
        return float(self.number) * UNITS[self.metric.kind][self.unit]

    @property
    def subject(self) -> str:
        """The metric with its argument: `memory.peak[GPU:0]`."""
        return f"{self.metric.name}[{self.argument}]" if self.argument else self.metric.name

    @property
    def limit(self) -> str:
        """Operator and value: `<= 2GiB`."""
        return f"{self.op} {self.number}{self.unit}"

    @property
    def bound(self) -> Bound:
        """Which side is bounded: of two expectations on one side of a metric, only one counts."""
        return _BOUNDS[self.op]

    def __str__(self) -> str:
        return f"{self.subject} {self.limit}"

    def holds(self, measured: float) -> bool:
        """Whether a measured value satisfies it."""
        if math.isclose(measured, self.value, rel_tol=_CLOSE, abs_tol=_CLOSE):
            return self.op in (">=", "<=", "==")
        return _OPERATORS[self.op](measured, self.value)


def parse(text: str) -> Expression:
    """Raises ExpressionError."""
    text = " ".join(text.split())
    found = _FORM.fullmatch(text)
    if found is None:
        raise ExpressionError(
            f"`{text}` is not an expectation: write METRIC OP VALUE, such as `ops.on_gpu >= 90%`{_hint(text)}"
        )
    name, argument, op, number, unit = found.group("name", "argument", "op", "number", "unit")
    metric = BY_NAME.get(name)
    if metric is None:
        near = _nearest(BY_NAME, name)
        hint = f"; did you mean `{BY_NAME[near].form}`?" if near else f"; there are {', '.join(BY_NAME)}"
        raise ExpressionError(f"`{text}`: there is no metric `{name}`{hint}")
    if op not in _OPERATORS:
        hint = " write `==`" if op == "=" else f" there are {' '.join(_OPERATORS)}"
        raise ExpressionError(f"`{text}`: `{op}` is not a comparison;{hint}")
    units = UNITS[metric.kind]
    if unit not in units:
        raise ExpressionError(f"`{text}`: {_wrong_unit(metric, unit)}")
    return Expression(metric, _argument(text, metric, argument), op, number, unit)


def shown(kind: Kind, value: float) -> str:
    """A measured value in readable form."""
    if kind == "share":
        return f"{100 * value:.1f}".removesuffix(".0") + "%"
    if kind == "bytes":
        return in_words(value)
    if kind == "seconds":
        return f"{1000 * value:.1f} ms" if value < 1 else f"{value:.1f} s"
    return f"{value:,.10g}" if value == int(value) else f"{value:,.1f}"


def _argument(text: str, metric: Metric, argument: str | None) -> str:
    given = (argument or "").strip()
    if metric.argument and not given and not metric.optional:
        example = "GPU:0" if metric.argument == "DEVICE" else "train_step"
        raise ExpressionError(
            f"`{text}`: `{metric.name}` needs a {metric.argument.lower()}: `{metric.name}[{example}]`"
        )
    if argument is not None and not metric.argument:
        raise ExpressionError(f"`{text}`: `{metric.name}` has no brackets")
    if metric.argument == "DEVICE" and given:
        device = parse_device(given)
        if device is None or not device.type:
            raise ExpressionError(f"`{text}`: `{given}` is not a device; write `GPU`, `GPU:0` or `CPU`")
    return given


def _wrong_unit(metric: Metric, unit: str) -> str:
    units = UNITS[metric.kind]
    if not unit:
        return f"`{metric.name}` needs a unit ({', '.join(units)}), such as {_EXAMPLES[metric.kind]}"
    if metric.kind == "number":
        return f"`{metric.name}` is a number and has no unit `{unit}`"
    near = _nearest(units, unit) or next((one for one in units if one.lower() == unit.lower()), "")
    hint = f"; did you mean `{near}`?" if near else f"; there are {', '.join(units)}"
    return f"`{unit}` is not a unit of `{metric.name}`{hint}"


def _hint(text: str) -> str:
    word = re.split(r"[\s\[<>=!]", text.strip(), maxsplit=1)[0]
    if word in BY_NAME:
        return ""
    near = _nearest((metric.name for metric in METRICS), word)
    return f"; did you mean `{BY_NAME[near].form}`?" if near else ""


def _nearest(names: Iterable[str], word: str) -> str:
    near = difflib.get_close_matches(word, list(names), 1, 0.6)
    return near[0] if near else ""
