"""The rule API: everything that a rule pack imports.

A rule is one module with one `Rule` subclass. See `docs/writing-a-rule.md`.
"""

from __future__ import annotations

from gpulint.analysis import events, pipelines, values
from gpulint.analysis.contexts import Caller, Context, DeviceScope, Loop, Replica, StrategyScope, Where, callers
from gpulint.analysis.counters import COUNTER
from gpulint.analysis.names import words
from gpulint.analysis.nesting import gone_over, leaves
from gpulint.analysis.paths import (
    EVERYWHERE,
    Condition,
    Literal,
    Path,
    compatible,
    is_complete,
    length_of,
    mentions,
    words_of,
)
from gpulint.analysis.plan import Plan
from gpulint.analysis.precision import computes_in
from gpulint.analysis.questions import (
    blamed,
    chain,
    computes_in_loop,
    confidence,
    has_cluster,
    is_run_by_program,
    is_test,
    left_on,
    makers,
    may_train,
    may_train_or_evaluate,
    possible,
    together,
    trained_models,
    trains,
    way,
    way_to_start,
)
from gpulint.analysis.rounds import (
    changing_number,
    differ_in_numbers,
    is_array,
    is_drawn,
    is_given,
    is_observed,
    is_single,
    is_small_part,
    round_trip,
    varies,
)
from gpulint.analysis.state import alternatives
from gpulint.analysis.steps import (
    are_few,
    every_step,
    goes_over_data,
    has_compiled_way,
    in_every_turn,
    is_rare,
    is_sought,
    is_unguarded,
    rounds,
    step_loops,
    updates,
)
from gpulint.analysis.symbols import Symbol, constants_in
from gpulint.analysis.values import known, symbol_of
from gpulint.confidence import Confidence
from gpulint.knowledge import FIRST_WITH_VARIABLES, LEGACY_OPTIMIZERS, fact, has_gpu_kernel, removed
from gpulint.knowledge.devices import DeviceName, parse_device
from gpulint.knowledge.releases import release
from gpulint.knowledge.watched import CLEARS_SESSION, SETS_FLOATX
from gpulint.knowledge.words import (
    CLUSTER_WORDS,
    CONFIG_WORDS,
    DATASET_WORDS,
    DEVICE_NAMES,
    DEVICE_WORDS,
    ENVIRONMENT_WORDS,
    MODEL_WORDS,
    OPTION_WORDS,
    POLICY_WORDS,
    STATEFUL_WORDS,
    STRATEGY_WORDS,
    TRAINING_WORDS,
)
from gpulint.linting.finding import Severity
from gpulint.linting.rule import Report, Rule, Said
from gpulint.places import Site
from gpulint.rewriting import calls, loops, names, scopes, statements
from gpulint.rewriting.draft import Draft
from gpulint.rewriting.fix import Edit, Offer, Refused, safe, unsafe

__all__ = [
    "CLEARS_SESSION",
    "CLUSTER_WORDS",
    "CONFIG_WORDS",
    "COUNTER",
    "DATASET_WORDS",
    "DEVICE_NAMES",
    "DEVICE_WORDS",
    "ENVIRONMENT_WORDS",
    "EVERYWHERE",
    "FIRST_WITH_VARIABLES",
    "LEGACY_OPTIMIZERS",
    "MODEL_WORDS",
    "OPTION_WORDS",
    "POLICY_WORDS",
    "SETS_FLOATX",
    "STATEFUL_WORDS",
    "STRATEGY_WORDS",
    "TRAINING_WORDS",
    "Caller",
    "Condition",
    "Confidence",
    "Context",
    "DeviceName",
    "DeviceScope",
    "Draft",
    "Edit",
    "Literal",
    "Loop",
    "Offer",
    "Path",
    "Plan",
    "Refused",
    "Replica",
    "Report",
    "Rule",
    "Said",
    "Severity",
    "Site",
    "StrategyScope",
    "Symbol",
    "Where",
    "alternatives",
    "are_few",
    "blamed",
    "callers",
    "calls",
    "chain",
    "changing_number",
    "compatible",
    "computes_in",
    "computes_in_loop",
    "confidence",
    "constants_in",
    "differ_in_numbers",
    "events",
    "every_step",
    "fact",
    "goes_over_data",
    "gone_over",
    "has_cluster",
    "has_compiled_way",
    "has_gpu_kernel",
    "in_every_turn",
    "is_array",
    "is_complete",
    "is_drawn",
    "is_given",
    "is_observed",
    "is_rare",
    "is_run_by_program",
    "is_single",
    "is_small_part",
    "is_sought",
    "is_test",
    "is_unguarded",
    "known",
    "leaves",
    "left_on",
    "length_of",
    "loops",
    "makers",
    "may_train",
    "may_train_or_evaluate",
    "mentions",
    "names",
    "parse_device",
    "pipelines",
    "possible",
    "release",
    "removed",
    "round_trip",
    "rounds",
    "safe",
    "scopes",
    "statements",
    "step_loops",
    "symbol_of",
    "together",
    "trained_models",
    "trains",
    "unsafe",
    "updates",
    "values",
    "varies",
    "way",
    "way_to_start",
    "words",
    "words_of",
]
