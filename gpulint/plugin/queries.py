"""Questions to a Plan: how events are reached, which loops train, which pipelines training reads."""

from __future__ import annotations

from gpulint.analysis.domain.context import callers
from gpulint.analysis.domain.store import alternatives
from gpulint.analysis.domain.traversal import datasets_in, iterated_sources, leaves
from gpulint.analysis.domain.values.base import known, symbol_of
from gpulint.analysis.queries import pipelines
from gpulint.analysis.queries.batch_fits import (
    batch_fits,
    fitted_data,
    is_made_in,
    is_one_sample,
    is_over_models,
    loop_of_call,
)
from gpulint.analysis.queries.compiled_modes import has_compiled_way
from gpulint.analysis.queries.device_scopes import scopes_that_only_build
from gpulint.analysis.queries.epochs import goes_over_data
from gpulint.analysis.queries.moments import (
    blamed,
    chain,
    computes_in,
    computes_in_loop,
    converts,
    has_cluster,
    has_other_backend,
    is_run_by_program,
    is_test,
    left_on,
    makers,
    may_train,
    may_train_or_evaluate,
    switched,
    trained_models,
    trains,
    waits_for_person,
    way,
    way_to_start,
)
from gpulint.analysis.queries.training_loops import (
    are_few,
    evaluation_loops,
    every_step,
    fitting_loops,
    in_every_iteration,
    is_endless,
    is_rare,
    is_sought,
    is_unguarded,
    iteration_count,
    loop_around,
    step_loops,
    updates,
    with_step,
)
from gpulint.analysis.queries.version_checks import is_version_checked, predates_keras_3

__all__ = [
    "alternatives",
    "are_few",
    "batch_fits",
    "blamed",
    "callers",
    "chain",
    "computes_in",
    "computes_in_loop",
    "converts",
    "datasets_in",
    "evaluation_loops",
    "every_step",
    "fitted_data",
    "fitting_loops",
    "goes_over_data",
    "has_cluster",
    "has_compiled_way",
    "has_other_backend",
    "in_every_iteration",
    "is_endless",
    "is_made_in",
    "is_one_sample",
    "is_over_models",
    "is_rare",
    "is_run_by_program",
    "is_sought",
    "is_test",
    "is_unguarded",
    "is_version_checked",
    "iterated_sources",
    "iteration_count",
    "known",
    "leaves",
    "left_on",
    "loop_around",
    "loop_of_call",
    "makers",
    "may_train",
    "may_train_or_evaluate",
    "pipelines",
    "predates_keras_3",
    "scopes_that_only_build",
    "step_loops",
    "switched",
    "symbol_of",
    "trained_models",
    "trains",
    "updates",
    "waits_for_person",
    "way",
    "way_to_start",
    "with_step",
]
