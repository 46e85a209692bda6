"""Hover texts and inlay hints."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lsprotocol import types

from gpulint.linting.finding import Finding
from gpulint.linting.selection import Catalogue
from gpulint.output.escapes import printable
from gpulint.output.rule_page import page
from gpulint.server.positions import Ruler
from gpulint.server.predictions import Answer, Hint


def hover(
    findings: Sequence[Finding], predicted: Answer | None, catalogue: Catalogue, ruler: Ruler
) -> types.Hover | None:
    """The predictions for a place and the pages of the rules with findings there; None if there are neither."""
    parts = []
    if predicted is not None:
        parts.append("\n".join(("**gpulint predicts**", "", *(f"* {_inert(text)}" for text in predicted.texts))))
    for code in dict.fromkeys(finding.code for finding in findings):
        rule = catalogue.rule(code)
        if rule is not None:
            parts.append(page(rule))
    if not parts:
        return None
    spans = [finding.span for finding in findings] or ([predicted.span] if predicted is not None else [])
    text = "\n\n---\n\n".join(parts)
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text), ruler.range(spans[0]))


_BACKTICKS = re.compile("``+")
_CODE = re.compile("(`[^`]*`)")
_SPECIAL = re.compile(r"[\\\[\]<]")


def _inert(text: str) -> str:
    """One line of Markdown whose only markup are single backticks: strings and names of the program that it quotes can
    contain links, images, which editors load, and HTML."""
    pieces = _CODE.split(_BACKTICKS.sub("'", printable(" ".join(text.split()))))
    return "".join(one if _CODE.fullmatch(one) else _SPECIAL.sub(r"\\\g<0>", one) for one in pieces)


def inlay(hint: Hint, ruler: Ruler) -> types.InlayHint:
    """An inlay hint after its span."""
    position = ruler.position(hint.span.end_row, hint.span.end_column)
    tooltip = {
        "device": "Where gpulint predicts that it runs or lives",
        "batch": "The part of the global batch that each replica gets",
    }[hint.kind]
    return types.InlayHint(position, f" {hint.text}", kind=types.InlayHintKind.Type, tooltip=tooltip, padding_left=True)
