"""From a rule's offer to the fix of a finding."""

from __future__ import annotations

from gpulint.rewriting.draft import Draft
from gpulint.rewriting.fix import Edit, Fix, Refused
from gpulint.rewriting.offer import Offer
from gpulint.sources.source import Source
from gpulint.syntax.parse import CannotParse


def draft_of(source: Source) -> Draft | None:
    """A draft of a file, None if LibCST cannot reproduce the file exactly."""
    from gpulint.syntax.spans import layout

    try:
        laid_out = layout(source)
    except CannotParse:
        return None
    pieces = source.cells.pieces if source.cells is not None else source.blocks or ()
    return Draft(source.path, laid_out, [piece.row for piece in pieces]) if laid_out is not None else None


def written(offer: Offer, draft: Draft) -> Fix:
    """The fix of an offer. Raises Refused if it cannot be written for this file."""
    edits = offer.write(draft, *offer.arguments)
    ordered = tuple(sorted(dict.fromkeys(edits)))
    if not edits:
        raise Refused("there is nothing to change here")
    if not _are_apart(ordered):
        raise Refused("its edits overlap")
    return Fix(offer.applicability, offer.message, ordered, offer.group)


def _are_apart(edits: tuple[Edit, ...]) -> bool:
    """Whether the edits of a fix do not overlap."""
    ends = [(edit.span.end_row, edit.span.end_column) for edit in edits]
    return all((later.span.row, later.span.column) >= end for end, later in zip(ends, edits[1:], strict=False))
