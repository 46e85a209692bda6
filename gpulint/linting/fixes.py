"""Writing the fixes of findings."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

from gpulint.rewriting.draft import Draft
from gpulint.rewriting.fix import Fix, Refused
from gpulint.rewriting.in_blocks import Blocks
from gpulint.rewriting.in_cells import Cells
from gpulint.rewriting.kept import Kept
from gpulint.rewriting.offer import Offer
from gpulint.rewriting.writing import draft_of, written
from gpulint.sources.source import Source


class Written(NamedTuple):
    """A fix; or None, with the reason why it cannot be written, or with the message and traceback of a fault."""

    fix: Fix | None
    refusal: str = ""
    fault: tuple[str, str] | None = None


class Writer:
    """Writes the fixes that rules offer for one program."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def written(self, offer: Offer, code: str) -> Written:
        """The fix of an offer in this program."""
        try:
            if self._draft is None:
                raise Refused("the file cannot be reproduced exactly")
            if (fix := self._placed(written(offer, self._draft))) is None:
                raise Refused("it would cross the border of a cell or code block")
            return Written(fix)
        except Refused as refused:
            return Written(None, str(refused))
        except Exception as error:  # a fix that fails costs the finding only its fix
            message = f"{self._source.file}: the fix of {code} failed: {type(error).__name__}: {error}"
            return Written(None, "", (message, traceback.format_exc()))

    def of_comment(self, fix: Fix) -> Fix | None:
        """The fix of a suppression comment. Its edits already refer to a cell or file; in a Markdown file they are
        checked and quoted like the block around them."""
        return self._placed(fix) if self._source.blocks is not None else fix

    @cached_property
    def _draft(self) -> Draft | None:
        return draft_of(self._source)

    @cached_property
    def _placed(self) -> Callable[[Fix], Fix | None]:
        """Converts a fix of the program to one of its file."""
        source = self._source
        if source.cells is not None:
            return Cells(source.text, source.cells, Kept(self._draft)).placed
        if source.blocks is not None:
            return Blocks(source.text, source.blocks, Kept(self._draft)).placed
        return lambda fix: fix
