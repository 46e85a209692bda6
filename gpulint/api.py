"""The rule API: everything that a rule pack imports.

A rule is one module with one `Rule` subclass. See `docs/writing-a-rule.md`.
"""

from __future__ import annotations

from gpulint.analysis import events, values
from gpulint.analysis.contexts import Caller, Context, DeviceScope, Replica, StrategyScope, Where, callers
from gpulint.analysis.names import words
from gpulint.analysis.paths import Condition, Literal, Path, compatible, length_of, mentions
from gpulint.analysis.plan import Plan
from gpulint.analysis.questions import blamed, chain, confidence, is_test, possible, together, trained_models
from gpulint.knowledge import LEGACY_OPTIMIZERS, fact, has_gpu_kernel
from gpulint.knowledge.devices import DeviceName, parse_device
from gpulint.knowledge.words import CONFIG_WORDS, DEVICE_NAMES, DEVICE_WORDS, ENVIRONMENT_WORDS, STRATEGY_WORDS
from gpulint.linting.finding import Confidence, Severity
from gpulint.linting.rule import Report, Rule, Said
from gpulint.places import Site

__all__ = [
    "CONFIG_WORDS",
    "DEVICE_NAMES",
    "DEVICE_WORDS",
    "ENVIRONMENT_WORDS",
    "LEGACY_OPTIMIZERS",
    "STRATEGY_WORDS",
    "Caller",
    "Condition",
    "Confidence",
    "Context",
    "DeviceName",
    "DeviceScope",
    "Literal",
    "Path",
    "Plan",
    "Replica",
    "Report",
    "Rule",
    "Said",
    "Severity",
    "Site",
    "StrategyScope",
    "Where",
    "blamed",
    "callers",
    "chain",
    "compatible",
    "confidence",
    "events",
    "fact",
    "has_gpu_kernel",
    "is_test",
    "length_of",
    "mentions",
    "parse_device",
    "possible",
    "together",
    "trained_models",
    "values",
    "words",
]
