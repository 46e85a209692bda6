"""The interface of rule packs: the base class of rules, reports, events, and the values in them.

A rule is one module with one `Rule` subclass. See `docs/writing-a-rule.md`. `VERSION` covers this module and `events`,
`queries`, `fixes` and `testing` beside it: it rises when a name in their `__all__` is removed or changes its meaning.
`symbols`, `facts` and `words` are for the rules that gpulint ships, and can change with any release. All other modules
of gpulint are private.
"""

from __future__ import annotations

from gpulint.analysis.domain.context import Caller, Context, DeviceScope, Loop, Replica, StrategyScope, Where
from gpulint.analysis.plan import events
from gpulint.analysis.plan.plan import Plan
from gpulint.analysis.queries import values
from gpulint.analysis.queries.descriptions import describe
from gpulint.analysis.queries.moments import confidence, possible, together
from gpulint.confidence import Confidence
from gpulint.linting.finding import Severity
from gpulint.linting.pack import VERSION
from gpulint.linting.rule import JustifyingComment, Report, Rule
from gpulint.places import Site
from gpulint.rewriting.draft import Draft
from gpulint.rewriting.fix import Edit, Refused
from gpulint.rewriting.offer import Offer, safe, unsafe

__all__ = [
    "VERSION",
    "Caller",
    "Confidence",
    "Context",
    "DeviceScope",
    "Draft",
    "Edit",
    "JustifyingComment",
    "Loop",
    "Offer",
    "Plan",
    "Refused",
    "Replica",
    "Report",
    "Rule",
    "Severity",
    "Site",
    "StrategyScope",
    "Where",
    "confidence",
    "describe",
    "events",
    "possible",
    "safe",
    "together",
    "unsafe",
    "values",
]
