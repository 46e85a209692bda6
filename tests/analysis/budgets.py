"""A small budget of steps, which short programs exceed."""

from __future__ import annotations

import pytest

from gpulint.analysis.driver import program
from gpulint.analysis.engine import budget


def shrink(patch: pytest.MonkeyPatch) -> None:
    """Divide each limit on steps by ten."""
    for name, most in list(vars(budget).items()):
        if name.isupper() and budget.MAX_EXTENSIONS < most < budget.NEVER:
            patch.setattr(budget, name, most // 10)
            patch.setattr(program, name, most // 10, raising=False)
