"""The format `text` with whole spans, where the page of each rule is, and the suppressed findings."""

from __future__ import annotations

import sys

from gpulint.linting.finding import Finding, SuppressedBy
from gpulint.linting.result import CheckResult
from gpulint.output.escapes import first_on_line, printable
from gpulint.output.formats import text
from gpulint.output.order import by_cost
from gpulint.output.site import url
from gpulint.output.summary import footer
from gpulint.output.view import View, position

_SUPPRESSED = {
    SuppressedBy.DIRECTIVE: "silenced",
    SuppressedBy.EXPLANATION: "not reported because of the comment",
}


def render(result: CheckResult, view: View) -> str:
    """All findings, the silenced ones with the reasons in their comments, then the legend and the footer."""
    blocks = [_block(one, view) for one in by_cost(result.findings)]
    silenced = [
        f"{first_on_line(finding.span.path)}:{position(finding.span)}: {finding.code} "
        f"{printable(finding.message)}, {_SUPPRESSED[by]}{f': {printable(reason)}' if reason else ''}"
        for finding, reason, by in result.suppressed
    ]
    return "\n".join(
        [*blocks, *silenced, *([""] if silenced else []), text.legend(result, view) + footer(result, view)]
    )


def _block(finding: Finding, view: View) -> str:
    page = url(finding.code, finding.name) or f"gpulint rule {finding.code}"
    more = {"page": page, "fingerprint": finding.fingerprint}
    start = f"{'':>{text.margin(finding)}} "
    lines = [f"{start}{view.style.paint(f'= {name}:', text.FRAME)} {value}\n" for name, value in more.items() if value]
    return text.block(finding, view, rows=sys.maxsize) + "".join(lines)
