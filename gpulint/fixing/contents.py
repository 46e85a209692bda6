"""Converting a file's bytes to the texts that fixes edit, and back."""

from __future__ import annotations

from collections.abc import Sequence

from gpulint.linting.deep_stack import on_deep_stack
from gpulint.rewriting.fix import Edit, Fix
from gpulint.rewriting.text import edited
from gpulint.sources.decoding import Undecodable, decode
from gpulint.sources.notebook import read_notebook, with_texts
from gpulint.sources.source import Source
from gpulint.syntax.embedded import of_markdown, of_notebook
from gpulint.syntax.parse import CannotParse, parse
from gpulint.syntax.python_tree import is_python

BOM = b"\xef\xbb\xbf"


def texts_of(source: Source) -> dict[int | None, str]:
    """The text of a file (key None), or the texts of a notebook's cells by index."""
    if source.cells is not None:
        return {cell.index: cell.text for cell in read_notebook(source.file, source.data).cells}
    return {None: source.text if source.blocks is None else decode(source.path, source.data).text}


def with_edits(source: Source, fixes: Sequence[Fix]) -> bytes | None:
    """The bytes of a file with fixes applied, None if its encoding lacks a character."""
    texts = texts_of(source)
    edits = [edit for fix in fixes for edit in fix.edits]
    if source.cells is None:
        return encoded(edited(texts[None], edits), source)
    by_cell: dict[int, list[Edit]] = {}
    for edit in edits:
        if edit.span.cell is not None:
            by_cell.setdefault(edit.span.cell, []).append(edit)
    changed = {cell: edited(texts[cell], own) for cell, own in by_cell.items()}
    return with_texts(read_notebook(source.file, source.data), changed)


def encoded(text: str, source: Source) -> bytes | None:
    """A text in the encoding of a file, None if that lacks a character."""
    mark = BOM if source.data.startswith(BOM) else b""
    encoding = "utf-8" if source.encoding == "utf-8-sig" else source.encoding
    try:
        return mark + text.encode(encoding)
    except UnicodeEncodeError:
        return None


def compiles(path: str, content: bytes, before: Source) -> bool:
    """Whether a new content is valid Python: to the running Python if it accepts the old content, else to LibCST.

    A notebook or Markdown file must not have more broken cells or blocks than before.
    """
    try:
        if before.cells is not None:
            return len(of_notebook(path, content).broken) <= len(of_notebook(path, before.data).broken)
        if before.blocks is not None:
            old, new = of_markdown(path, before.data), of_markdown(path, content)
            same = len(new.main.blocks or ()) == len(before.blocks)
            return (
                same
                and len(new.broken) <= len(old.broken)
                and (is_python(new.main.text) or not is_python(old.main.text))
            )
        source = decode(path, content)
        if is_python(before.text):
            return is_python(source.text)
        on_deep_stack(lambda: parse(source))
    except (CannotParse, Undecodable):
        return False
    return True
