"""Texts that viewers render: what a hover or a SARIF message quotes from a program is no link, image or HTML."""

from __future__ import annotations

import pytest

from gpulint.linting.pack import load
from gpulint.linting.selection import Catalogue
from gpulint.output.sarif import message
from gpulint.places import Span

IMAGE = "![x](https://host/x.png)"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("runs on `GPU:0`, when x[0] == 'a'", "runs on `GPU:0`, when x\\[0\\] == 'a'"),
        (f"when x == '{IMAGE}'", "when x == '!\\[x\\](https://host/x.png)'"),
        (f"`a`b`{IMAGE}", "`a`b`!\\[x\\](https://host/x.png)"),
        (f"``x``{IMAGE}", "'x'!\\[x\\](https://host/x.png)"),
        (f"\\`{IMAGE}\\`", f"\\\\`{IMAGE}\\`"),
        ("a\n\n# b <img src=x>", "a # b \\<img src=x>"),
    ],
)
def test_a_hover_renders_only_code(text: str, shown: str) -> None:
    pytest.importorskip("pygls")
    from pygls.workspace import PositionCodec

    from gpulint.server.hover import hover
    from gpulint.server.positions import Ruler
    from gpulint.server.predictions import Answer

    answer = Answer(Span("a.py", 1, 1, 1, 2), (text,))
    said = hover((), answer, Catalogue(load(installed=False)), Ruler("x = 1\n", PositionCodec()))
    assert said is not None and said.contents.value.splitlines()[-1] == f"* {shown}"  # type: ignore[union-attr]


def test_a_message_of_sarif_has_no_link() -> None:
    assert message("the device '[GPU](https://host)' and [1] (2)") == {
        "text": "the device '[GPU\\](https://host)' and [1] (2)"
    }
