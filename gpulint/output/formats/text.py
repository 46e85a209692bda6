"""Findings for a person: the source with the span underlined, related places, why, and what to write instead."""

from __future__ import annotations

from gpulint.confidence import Confidence
from gpulint.linting.finding import Finding, Severity
from gpulint.linting.result import CheckResult
from gpulint.output.escapes import printable
from gpulint.output.order import by_cost
from gpulint.output.summary import footer, number
from gpulint.output.view import View, place
from gpulint.places import Span
from gpulint.rewriting.fix import Applicability

_COLORS = {Severity.ERROR: "1;31", Severity.WARNING: "1;33", Severity.INFO: "1;34"}

MAX_ROWS = 4
"""Maximum number of rows shown of a span, from its start."""

MAX_RELATED = 4
"""Maximum number of related places shown of a finding."""

MAX_COLUMNS = 400
"""Maximum number of characters shown of a row, around the start of the span."""

TAB = "    "


def render(result: CheckResult, view: View) -> str:
    """All findings, the most expensive first, separated by empty lines, then the footer."""
    blocks = [block(one, view) for one in by_cost(result.findings)]
    return "\n".join([*blocks, footer(result, view)]) + "\n"


def block(finding: Finding, view: View, rows: int = MAX_ROWS) -> str:
    """One finding; of a span with more than `rows` rows only the first is shown."""

    def paint(text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if view.color else text

    color = _COLORS[finding.severity]
    span = finding.span
    width = len(str(max(span.end_row, *(one.span.row for one in finding.related), 1)))
    mark = " [*]" if view.can_fix(finding) else ""
    head = f"{paint(f'{finding.severity.value}[{finding.code}]', color)}{mark} {paint(printable(finding.message), '1')}"
    out = [head, f"{'':>{width}} {paint('-->', '34')} {place(span)}"]
    out += _excerpt(span, view, width, color, "^", rows)
    for one in finding.related[:MAX_RELATED]:
        elsewhere = f" ({place(one.span)})" if (one.span.path, one.span.cell) != (span.path, span.cell) else ""
        out.append(f"{'':>{width}} {paint('::', '34')} {printable(one.message)}{elsewhere}")
        out += _excerpt(one.span, view, width, "34", "-", rows)
    if (more := len(finding.related) - MAX_RELATED) > 0:
        out.append(f"{'':>{width}} {paint('::', '34')} and in {number(more, 'more place')}")
    if finding.why:
        out.append(f"{'':>{width}} {paint('= why:', '34')} {printable(finding.why)}")
    if finding.instead:
        out.append(f"{'':>{width}} {paint('= help:', '34')} {printable(finding.instead)}")
    if (fix := finding.fix) is not None:
        applicability = "" if fix.applicability is Applicability.SAFE else f" ({fix.applicability.value})"
        out.append(f"{'':>{width}} {paint('= fix:', '34')} {printable(fix.message)}{applicability}")
    tail = f"{finding.name}"
    if finding.confidence is Confidence.INFERRED:
        tail += ", inferred across calls or conditions"
    out.append(f"{'':>{width}} {paint('= rule:', '34')} {tail}")
    return "\n".join(out) + "\n"


def _excerpt(span: Span, view: View, width: int, color: str, mark: str, most: int) -> list[str]:
    """The rows of a span, each with a line of marks under it."""

    def paint(text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if view.color else text

    bar = paint("|", "34")
    lines: list[str] = []
    last = span.end_row if span.end_row - span.row < most else span.row
    for row in range(span.row, last + 1):
        text = view.line(span.path, row, span.cell)
        start = span.column - 1 if row == span.row else len(text) - len(text.lstrip())
        end = span.end_column - 1 if row == span.end_row else len(text.rstrip())
        if len(text) > MAX_COLUMNS:
            left = max(min(start - MAX_COLUMNS // 4, len(text) - MAX_COLUMNS), 0)
            text = (
                f"{'…' if left else ''}{text[left : left + MAX_COLUMNS]}{'…' if left + MAX_COLUMNS < len(text) else ''}"
            )
            start, end = (min(column - left + (left > 0), len(text)) for column in (start, end))
        before = text[:start].replace("\t", TAB)
        marks = len(text[start:end].replace("\t", TAB))
        lines.append(f"{paint(f'{row:>{width}}', '34')} {bar} {printable(text.replace(chr(9), TAB))}".rstrip())
        lines.append(f"{'':>{width}} {bar} {'':>{len(before)}}{paint(mark * max(marks, 1), color)}")
    if last < span.end_row:
        lines.append(f"{'':>{width}} {bar} …")
    return lines
