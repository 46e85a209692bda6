"""The abstract interpreter: from source to `Plan`."""

from gpulint.analysis.driver.program import analyse
from gpulint.analysis.plan.plan import Plan
from gpulint.analysis.project.modules import Project

__all__ = ["Plan", "Project", "analyse"]
