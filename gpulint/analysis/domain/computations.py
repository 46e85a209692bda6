"""Functions of the program that do nothing but compute a result with NumPy."""

from __future__ import annotations

from gpulint.analysis.domain.values.base import LibraryName
from gpulint.analysis.domain.values.functions import Function
from gpulint.syntax import ir, walk


def only_computes(function: Function) -> bool:
    """Whether a function keeps nothing and calls only NumPy, methods of arrays and built-in functions, so that its
    arguments are needed for nothing but its result."""
    return all(_computes(node, function) for node in walk.below((function.definition.body,)))


def _computes(node: ir.Node, function: Function) -> bool:
    if isinstance(node, ir.Assign):
        return all(_is_local(target) for target in node.targets)
    if isinstance(node, ir.AugAssign):
        return _is_local(node.target)
    if isinstance(node, ir.Call):
        return _is_computation(node.function, function)
    return not isinstance(node, _OTHERWISE)


_OTHERWISE = (ir.Await, ir.ClassDef, ir.Declare, ir.Delete, ir.FunctionDef, ir.Lambda, ir.With, ir.Yield)


def _is_local(target: ir.Expr) -> bool:
    if isinstance(target, ir.Sequence_):
        return all(map(_is_local, target.elements))
    return isinstance(target, ir.Name)


def _is_computation(called: ir.Expr, function: Function) -> bool:
    if isinstance(called, ir.Name):
        return called.id in _BUILTINS and called.id not in function.module.globals
    if not isinstance(called, ir.Attribute):
        return False
    root = called.value
    while isinstance(root, ir.Attribute):
        root = root.value
    owner = function.module.globals.get(root.id) if isinstance(root, ir.Name) else None
    if isinstance(owner, LibraryName):
        return owner.name.partition(".")[0] in ("math", "numpy")
    return called.name in _OF_ARRAYS


_BUILTINS = frozenset({"abs", "float", "int", "len", "list", "max", "min", "range", "round", "sum", "tuple", "zip"})

_OF_ARRAYS = frozenset(
    {"all", "any", "argmax", "argmin", "argsort", "astype", "clip", "copy", "cumsum", "dot", "flatten", "item", "max"}
    | {"mean", "min", "numpy", "ravel", "reshape", "round", "squeeze", "std", "sum", "tolist", "transpose", "var"}
)
"""Methods that NumPy arrays have, and that compute."""
