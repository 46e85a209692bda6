"""Findings for a person: the source with the span underlined, related places, why, and what to write instead."""

from __future__ import annotations

from gpulint.confidence import Confidence
from gpulint.linting.finding import Finding
from gpulint.linting.result import CheckResult
from gpulint.output.escapes import printable
from gpulint.output.order import by_cost
from gpulint.output.severity import COLORS, head
from gpulint.output.summary import footer, number
from gpulint.output.view import View, place
from gpulint.places import Span
from gpulint.rewriting.fix import Applicability

FRAME = "1;94"
"""Color of row numbers, arrows and labels."""

MAX_ROWS = 4
"""Maximum number of rows shown of a span, from its start."""

MAX_RELATED = 4
"""Maximum number of related places shown of a finding."""

MAX_COLUMNS = 400
"""Maximum number of characters shown of a row, around the start of the span; fewer in a narrow terminal."""

TAB = "    "


def render(result: CheckResult, view: View) -> str:
    """All findings, the most expensive first, separated by empty lines, then the legend and the footer."""
    blocks = [block(one, view) for one in by_cost(result.findings)]
    return "\n".join([*blocks, legend(result, view) + footer(result, view)])


def legend(result: CheckResult, view: View) -> str:
    """What the marks at the end of lines mean, where a finding has them. Nothing if the user wants findings only."""
    fixes = [finding.fix for finding in result.findings if finding.fix is not None]
    texts = []
    if any(fix.applicability is Applicability.UNSAFE for fix in fixes):
        texts.append("(unsafe): the fix may change what the program does.")
    if any(finding.confidence is Confidence.INFERRED for finding in result.findings):
        texts.append("Inferred: gpulint followed calls or conditions; the places under `::` show them.")
    return "".join(f"{row}\n" for row in view.style.lines(" ".join(texts))) if texts and not view.quiet else ""


def block(finding: Finding, view: View, rows: int = MAX_ROWS) -> str:
    """One finding; of a span with more than `rows` rows only the first is shown."""
    style, span = view.style, finding.span
    width = margin(finding)

    def detail(label: str, text: str) -> str:
        plain = f"{'':>{width}} {label} "
        return style.paragraph(f"{'':>{width}} {style.paint(label, FRAME)} ", len(plain), text)

    start, columns = head(finding, view)
    cost = f" ({finding.cost})" if finding.cost else ""
    out = [style.paragraph(f"{start} ", columns + 1, f"{printable(finding.message)}{printable(cost)}", "1")]
    out.append(f"{'':>{width}} {style.paint('-->', FRAME)} {place(span)}")
    out += _excerpt(span, view, width, COLORS[finding.severity], "^", rows)
    for one in finding.related[:MAX_RELATED]:
        elsewhere = f" ({place(one.span)})" if (one.span.path, one.span.cell) != (span.path, span.cell) else ""
        out.append(detail("::", f"{printable(one.message)}{elsewhere}"))
        out += _excerpt(one.span, view, width, FRAME, "-", rows)
    if (more := len(finding.related) - MAX_RELATED) > 0:
        out.append(detail("::", f"{number(more, 'more place')} {'is' if more == 1 else 'are'} not shown"))
    if finding.why:
        out.append(detail("= why:", printable(finding.why)))
    if finding.instead:
        out.append(detail("= help:", printable(finding.instead)))
    if (fix := finding.fix) is not None:
        applicability = "" if fix.applicability is Applicability.SAFE else f" ({fix.applicability.value})"
        out.append(detail("= fix:", f"{printable(fix.message)}{applicability}"))
    elif finding.no_fix:
        out.append(detail("= fix:", f"none here, because {printable(finding.no_fix)}"))
    inferred = ", inferred across calls or conditions" if finding.confidence is Confidence.INFERRED else ""
    out.append(detail("= rule:", f"{finding.name}{inferred}"))
    return "\n".join(out) + "\n"


def margin(finding: Finding) -> int:
    """Columns of the row numbers of a finding."""
    return len(str(max(finding.span.end_row, *(one.span.row for one in finding.related), 1)))


def _excerpt(span: Span, view: View, width: int, color: str, mark: str, most: int) -> list[str]:
    """The rows of a span, each with a line of marks under it."""
    style = view.style
    margin = style.paint("|", FRAME)
    columns = min(style.columns(width + len(" | ")) or MAX_COLUMNS, MAX_COLUMNS)
    lines: list[str] = []
    last = span.end_row if span.end_row - span.row < most else span.row
    for row in range(span.row, last + 1):
        read = view.line(span.path, row, span.cell)
        first = span.column - 1 if row == span.row else len(read) - len(read.lstrip())
        behind = span.end_column - 1 if row == span.end_row else len(read.rstrip())
        text, start, end = _cut(
            read.replace("\t", TAB),
            len(read[:first].replace("\t", TAB)),
            len(read[:behind].replace("\t", TAB)),
            columns,
        )
        lines.append(f"{style.paint(f'{row:>{width}}', FRAME)} {margin} {printable(text)}".rstrip())
        lines.append(f"{'':>{width}} {margin} {'':>{start}}{style.paint(mark * max(end - start, 1), color)}")
    if last < span.end_row:
        lines.append(f"{'':>{width}} {margin} …")
    return lines


def _cut(text: str, start: int, end: int, most: int) -> tuple[str, int, int]:
    """A row of at most `most` columns around the start of a span, and the columns of the span in it."""
    if len(text) <= most:
        return text, start, end
    left = max(min(start - most // 4, len(text) - most + 1), 0)
    before = "…" if left else ""
    shown = text[left : left + most - len(before)]
    if left + len(shown) < len(text):
        shown = f"{shown[:-1]}…"
    shown = before + shown
    start, end = (min(column - left + len(before), len(shown)) for column in (start, end))
    return shown, start, end
