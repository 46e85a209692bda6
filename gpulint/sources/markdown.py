"""The Python blocks of a Markdown file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple


class Block(NamedTuple):
    """The lines of a fenced block, at their columns of the file, and the row of the first.

    `prefix` is what a list or quotation puts before each line (blanks in `lines`), None if it is not always the same.
    """

    row: int
    lines: tuple[str, ...]
    prefix: str | None = ""

    @property
    def behind(self) -> int:
        """The row after the last one: that of the closing fence."""
        return self.row + len(self.lines)


PYTHON = frozenset({"ipython", "ipython3", "py", "py3", "python", "python3"})

_WORD = re.compile(r"\{code-cell\}[ \t]*(?P<kernel>\w*)|[{. \t]*(?P<language>[\w+-]*)")
"""The info string of a fence: `python`, `py title="a"`, `{.python .input}`, `{python}`, `{code-cell} ipython3`."""


def _is_python(info: str) -> bool:
    word = _WORD.match(info)
    if word is None or word["kernel"] == "":
        return word is not None
    return (word["kernel"] or word["language"]).lower() in PYTHON


def python_blocks(text: str) -> Iterator[Block]:
    """The fenced blocks marked as Python, in order. Prefixes of lists and quotations are replaced by blanks."""
    from markdown_it import MarkdownIt

    lines = re.split(r"\r\n?|\n", text)
    for token in MarkdownIt("commonmark").disable(["inline", "text_join"]).parse(text):
        if token.type != "fence" or token.map is None or not _is_python(token.info.strip()):
            continue
        first = token.map[0] + 1
        content = token.content.removesuffix("\n").split("\n") if token.content else []
        pairs = list(zip(lines[first : first + len(content)], content, strict=True))
        prefixes = {line.removesuffix(own) if line.endswith(own) else None for line, own in pairs if own}
        yield Block(
            first + 1,
            tuple(f"{'':{len(line) - len(own)}}{own}" if line.endswith(own) else own for line, own in pairs),
            prefixes.pop() if len(prefixes) == 1 else None,
        )
