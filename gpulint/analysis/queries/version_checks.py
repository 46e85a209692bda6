"""Whether a program tests which release of TensorFlow or Keras is installed."""

from __future__ import annotations

import builtins
import re

from gpulint.analysis.domain.context import Where, callers
from gpulint.analysis.domain.path_conditions import Literal, words_of
from gpulint.analysis.domain.symbolic import Symbol, constants_in
from gpulint.analysis.plan.events import RemovedNameUsed
from gpulint.analysis.plan.plan import WITH_KERAS_3, Plan
from gpulint.sources.releases import release

_CAUGHT = frozenset({"AttributeError", "ImportError", "ModuleNotFoundError", "Exception", "BaseException"})


def predates_keras_3(plan: Plan) -> bool:
    """Whether the program runs only on releases of TensorFlow 2 before Keras 3: it uses, without a check, what was
    removed after 2.0 and up to 2.16, or imports what 2.16 lacks."""
    return plan.imports_keras_2 or any(
        isinstance(event, RemovedNameUsed)
        and _FIRST_OF_2 < release(event.since) <= WITH_KERAS_3
        and not is_version_checked(event.where)
        for event in plan.events
    )


_FIRST_OF_2 = (2, 0)


def is_version_checked(where: Where, raises_others: bool = True) -> bool:
    """Whether the program first tests what TensorFlow has: a version check, a feature test, a fallback.

    `raises_others` says that what happens there raises other errors than a missing name does, or none.
    """
    if where.context.catches(_CAUGHT):
        return True
    if any(_is_of_try(literal) and _may_tell(literal, raises_others) for literal in where.path):
        return True
    if any(_OF_FIRST.search(caller.function) for caller in callers(where.caller)):
        return True
    return any(
        word.startswith(_CHECKS) or _VERSION_FLAG.search(word)
        for literal in where.path
        if not _says_two(literal)
        for word in words_of(frozenset({literal}))
    )


def _is_of_try(literal: Literal) -> bool:
    return literal.condition.operator in ("handler", "completes")


def _may_tell(literal: Literal, raises_others: bool) -> bool:
    """Whether the outcome of a `try` may say what TensorFlow has: not if its handlers are for other errors.

    `raises_others` says that the use raises other errors than a missing name does.
    """
    condition = literal.condition
    is_met = condition.operator == "completes" and literal.holds and not raises_others
    others = _NO_MISSING_NAME if is_met else _OF_THE_SYSTEM
    return isinstance(condition.operand, tuple) and not others.issuperset(condition.operand)


_OF_THE_SYSTEM = frozenset(
    name
    for name, one in vars(builtins).items()
    if isinstance(one, type) and issubclass(one, (EOFError, KeyboardInterrupt, MemoryError, OSError, SystemExit))
)
"""Errors caused by the environment of the program, not by the installed library."""

_NO_MISSING_NAME = frozenset(
    name
    for name, one in vars(builtins).items()
    if isinstance(one, type)
    and issubclass(one, BaseException)
    and not issubclass(one, (AttributeError, ImportError))
    and not issubclass(AttributeError, one)
    and not issubclass(ImportError, one)
)
"""Errors that are never raised for a missing name."""

_OF_FIRST = re.compile(r"(?:^|_)tf_?v?1(?![0-9])", re.IGNORECASE)
"""Pattern of the names of functions for TensorFlow 1 that have a counterpart for TensorFlow 2."""


def _says_two(literal: Literal) -> bool:
    """Whether a condition only says that this is TensorFlow 2, as it is here."""
    condition = literal.condition
    if condition.operator == "any" or not any(
        word.startswith(_GENERATION_OF) for word in words_of(frozenset({literal}))
    ):
        return False
    said = {condition.operand} | constants_in(condition.subject) | constants_in(condition.operand)
    exact = condition.operator == "==" and condition.operand in _FIRST_OF_TWO
    turned = (condition.operator, condition.operand) == ("==", 1) or (
        condition.operator in (">", ">=") and not _speaks_of_generation(condition.subject)
    )
    return (
        literal.holds is not turned
        and not exact
        and all(one in _GENERATION for one in said if isinstance(one, (str, int)))
    )


def _speaks_of_generation(side: object) -> bool:
    return isinstance(side, Symbol) and any(word.startswith(_GENERATION_OF) for word in side.words)


_GENERATION_OF = (
    "tensorflow.__version__",
    "tensorflow.version.",
    "tensorflow.executing_eagerly",
    "tensorflow.python.tf2.enabled",
)
_FIRST_OF_TWO = ("2.0", "2.0.0")
_GENERATION = frozenset({0, 1, 2, ".", "2", "2.", *_FIRST_OF_TWO})
"""Numbers and strings in conditions that only distinguish TensorFlow 2 from TensorFlow 1."""


_CHECKS = (
    "hasattr",
    "getattr",
    "tensorflow.__version__",
    "tensorflow.VERSION",
    "tensorflow.version.",
    "tensorflow.keras.__version__",
    "tensorflow.executing_eagerly",
    "tensorflow.python.tf2.enabled",
    "importlib.metadata.version",
    "pkg_resources",
)
"""Prefixes of names in conditions that test which TensorFlow is installed."""

_VERSION_FLAG = re.compile(r"(?i)^(?=[\w.]*$)(?:[\w.]*(?:\b|_))?(?:tf|tensorflow|keras)(?:_?v?\d|_?ver)")
"""Names of flags and functions that say which TensorFlow is installed: `IS_TF_1`, `keras_3`, `tf_version`."""
