"""Distinction of TF1 graph-mode files from TensorFlow 2 files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpulint.knowledge.watched import SWITCHES_GRAPH_MODE
from gpulint.sources.releases import release
from gpulint.syntax import ir, walk

if TYPE_CHECKING:
    from gpulint.analysis.project.modules import Project

_GRAPH_ONLY = frozenset(
    {
        "placeholder",
        "placeholder_with_default",
        "get_variable",
        "variable_scope",
        "global_variables_initializer",
        "MonitoredTrainingSession",
        "EstimatorSpec",
        "TPUEstimatorSpec",
        "get_or_create_global_step",
        "Supervisor",
        "get_collection",
        "add_to_collection",
    }
)
"""Names that only graph-mode code uses: in eager mode all of them raise an exception or have no effect."""

_TO_GRAPH = frozenset(name for name, is_graph in SWITCHES_GRAPH_MODE.items() if is_graph)

_COMPAT = "tensorflow.compat.v1"


def is_eager(module: ir.Module) -> bool:
    """Whether a file switches TensorFlow 1 to eager execution, and with it everything that its program imports."""
    return "enable_v2_behavior" in module.words or "enable_eager_execution" in module.words


def is_graph_mode(project: Project, module: ir.Module, target: str, eager: bool = False) -> bool:
    """Whether a file is TF1 code: it disables TF2 behaviour wherever it runs, uses the API of graphs, or targets
    TensorFlow 1 in a program that is not switched to `eager` execution.

    A file with gradient tapes has no graph: a session in it only configures the memory growth of GPUs, and what it
    imports from `tensorflow.compat.v1` runs eagerly.
    """
    if is_eager(module):
        return False
    if release(target) < (2,) and not eager:
        return True
    if module.words & _TO_GRAPH:
        switched: bool = project.remembered(("switched", module.path), lambda: _is_switched(module), module.path)
        if switched:
            return True
    if "GradientTape" in module.words:
        return False
    has_graph = project.remembered(("graph", module.path), lambda: _are_of_tensorflow(module), module.path)
    return has_graph or _imports_compat(module)


def _is_switched(module: ir.Module) -> bool:
    """Whether a file switches to graph mode wherever it runs: in its body, in a function that its body calls or passes
    on, or while it creates an object of its classes. A branch decides nothing, unless it tests for a release."""
    functions = {one.name: one.body for one in module.body if isinstance(one, ir.FunctionDef)}
    pending = [*module.body]
    for statement in module.body:
        if isinstance(statement, ir.ClassDef):
            for part in statement.body:
                pending += part.body if isinstance(part, ir.FunctionDef) and part.name == "__init__" else ()
    while pending:
        statement = pending.pop()
        if isinstance(statement, (ir.With, ir.Try, ir.For, ir.While)):
            pending += statement.body
        elif isinstance(statement, ir.If):
            pending += (*statement.body, *statement.orelse) if _is_of_release(statement.test) else ()
        elif not isinstance(statement, (ir.FunctionDef, ir.ClassDef, ir.Match)):
            for node in walk.below(statement):
                if isinstance(node, ir.Attribute) and node.name in _TO_GRAPH:
                    return True
                if isinstance(node, ir.Name):
                    if node.id in _TO_GRAPH:
                        return True
                    pending += functions.pop(node.id, ())
    return False


def _is_of_release(test: ir.Expr) -> bool:
    """Whether a condition decides nothing within one release: `tf.__version__ >= "2"`, `__name__ == "__main__"`."""
    nodes = [test, *walk.below(test)]
    words = [node.name for node in nodes if isinstance(node, ir.Attribute)]
    words += [node.id for node in nodes if isinstance(node, ir.Name)]
    return any(word == "__name__" or "version" in word.lower() for word in words)


def _are_of_tensorflow(module: ir.Module) -> bool:
    """Whether one of the graph-only names is TensorFlow's. A program may define its own `Supervisor` or
    `get_collection`, and may build a graph besides its TensorFlow 2 code."""
    if module.words.isdisjoint(_GRAPH_ONLY):
        return False
    nodes = list(walk.below(module.body))
    packages: set[str] = set()
    has_own_graph = "as_default" in module.words and _imports_tensorflow(module)
    for node in nodes:
        if isinstance(node, ir.Import):
            packages.update(
                alias or name.partition(".")[0]
                for name, alias in node.names
                if _is_tensorflow(name) and not (name == _COMPAT and has_own_graph)
            )
        elif isinstance(node, ir.ImportFrom) and _is_tensorflow(node.module or ""):
            if any(name in _GRAPH_ONLY for name, _ in node.names):
                return True
            packages.update(alias or name for name, alias in node.names)
    return any(
        isinstance(node, ir.Attribute) and node.name in _GRAPH_ONLY and _root(node) in packages for node in nodes
    )


def _is_tensorflow(name: str) -> bool:
    return name.partition(".")[0] in ("tensorflow", "tensorflow_core", "tf_slim")


def _root(node: ir.Expr) -> str:
    """First name of a chain of attributes."""
    while isinstance(node, ir.Attribute):
        node = node.value
    return node.id if isinstance(node, ir.Name) else ""


def _imports_tensorflow(module: ir.Module) -> bool:
    """Whether a file imports TensorFlow under its full name."""
    return any(
        isinstance(statement, ir.Import) and any(name == "tensorflow" for name, _ in statement.names)
        for statement in module.body
    )


def _imports_compat(module: ir.Module) -> bool:
    """Whether the file's `tf` is the TF1 API. `tf1` is, too, unless the file imports TensorFlow itself as well."""
    names = {"tf"} if _imports_tensorflow(module) else {"tf", "tf1"}
    for statement in module.body:
        if isinstance(statement, ir.Import):
            if any(name == _COMPAT and alias in names for name, alias in statement.names):
                return True
        elif isinstance(statement, ir.ImportFrom) and statement.module == "tensorflow.compat":
            if any(name == "v1" and alias == "tf" for name, alias in statement.names):
                return True
    return False
