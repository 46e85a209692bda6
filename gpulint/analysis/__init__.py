"""The abstract interpreter: from source to Plan."""

from gpulint.analysis.modules import Project
from gpulint.analysis.plan import Plan
from gpulint.analysis.program import analyse

__all__ = ["Plan", "Project", "analyse"]
