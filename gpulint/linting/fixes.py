"""The fixes of a program's findings."""

from __future__ import annotations

import traceback
from functools import cached_property

from gpulint.rewriting.draft import Draft
from gpulint.rewriting.fix import Fix, Offer
from gpulint.rewriting.in_blocks import in_blocks
from gpulint.rewriting.in_cells import in_cells
from gpulint.rewriting.writing import draft_of, written
from gpulint.sources.source import Source


class Writer:
    """Writes what rules offer for one program."""

    def __init__(self, source: Source) -> None:
        self._source = source

    @cached_property
    def _draft(self) -> Draft | None:
        return draft_of(self._source)

    def written(self, offer: Offer, code: str) -> tuple[Fix | None, tuple[str, str] | None]:
        """The fix that the rule with a code offers, and the fault of one that failed, with its traceback."""
        if self._draft is None:
            return None, None
        try:
            return in_blocks(in_cells(written(offer, self._draft), self._source), self._source), None
        except Exception as error:  # a fault of one fix leaves its finding as it is
            message = f"{self._source.file}: the fix of {code} failed: {type(error).__name__}: {error}"
            return None, (message, traceback.format_exc())
