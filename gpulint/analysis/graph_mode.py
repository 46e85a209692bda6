"""Telling TF1 graph-mode files from TensorFlow 2 ones."""

from __future__ import annotations

from gpulint.syntax import ir

_GRAPH_ONLY = frozenset(
    {
        "disable_v2_behavior",
        "disable_eager_execution",
        "placeholder",
        "placeholder_with_default",
        "get_variable",
        "variable_scope",
        "global_variables_initializer",
        "MonitoredTrainingSession",
        "InteractiveSession",
        "EstimatorSpec",
        "TPUEstimatorSpec",
        "get_or_create_global_step",
        "Supervisor",
        "get_collection",
        "add_to_collection",
    }
)
"""Names that only graph-mode code uses: all raise or are of no use in eager mode."""

_COMPAT = "tensorflow.compat.v1"


def is_graph_mode(module: ir.Module) -> bool:
    """Whether a file is TF1 code: it says so, or uses what only a graph has."""
    if "enable_v2_behavior" in module.words or "enable_eager_execution" in module.words:
        return False
    if module.words & _GRAPH_ONLY:
        return True
    return _imports_compat(module)


def _imports_compat(module: ir.Module) -> bool:
    """Whether the file's `tf` is the TF1 API."""
    for statement in module.body:
        if isinstance(statement, ir.Import):
            if any(name == _COMPAT and alias in ("tf", "tf1") for name, alias in statement.names):
                return True
        elif isinstance(statement, ir.ImportFrom) and statement.module == "tensorflow.compat":
            if any(name == "v1" and alias == "tf" for name, alias in statement.names):
                return True
    return False
