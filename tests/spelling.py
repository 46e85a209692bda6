"""The same program under other imports: `tf`, `tensorflow`, `keras`, `tf.compat.v2`, names imported one by one.

A spelling rewrites names in place, so every row stays where it was. It gives None for a module that it cannot
rewrite faithfully (a name it would introduce is already taken) or that leaves it nothing to rewrite.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from gpulint.knowledge.removed import only_tf
from tests.programs import Program

TENSORFLOW = "tensorflow"
ALIAS = "tf"

KERAS_MODULES = frozenset(
    {"activations", "applications", "backend", "callbacks", "datasets", "initializers", "layers", "losses"}
    | {"metrics", "mixed_precision", "models", "optimizers", "regularizers", "utils"}
)
"""Submodules of Keras that people import by name."""

TENSORFLOW_MODULES = frozenset({"config", "data", "distribute", "image", "lookup", "nn", "random", "strings"})
"""Submodules of TensorFlow that people import by name."""


NAMING = (
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef),
    *(ast.ExceptHandler, ast.MatchAs, ast.MatchStar),
)
"""Syntax that binds `name`."""


@dataclass(frozen=True, slots=True)
class Edit:
    """Replaces a part of one row; offsets are in UTF-8 bytes, as in `ast`."""

    row: int
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Spelled:
    """A program in another spelling: the same paths, other text."""

    spelling: str
    modules: tuple[tuple[str, str], ...]


def _edited(text: str, edits: list[Edit]) -> str:
    lines = [line.encode() for line in text.split("\n")]
    for edit in sorted(edits, key=lambda edit: (edit.row, edit.start), reverse=True):
        line = lines[edit.row - 1]
        lines[edit.row - 1] = line[: edit.start] + edit.text.encode() + line[edit.end :]
    return "\n".join(line.decode() for line in lines)


def _replacing(node: ast.stmt | ast.expr, text: str) -> Edit | None:
    """The edit that replaces a node by a text; None if the node spans several rows."""
    if node.end_lineno != node.lineno or node.end_col_offset is None:
        return None
    return Edit(node.lineno, node.col_offset, node.end_col_offset, text)


def _chain(node: ast.expr) -> tuple[str, ...]:
    """`tf.keras.layers` as its parts, () for anything but names joined by dots."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return (*reversed([*parts, node.id]),) if isinstance(node, ast.Name) else ()


class Module:
    """The names that a module binds, imports and reads."""

    def __init__(self, text: str) -> None:
        self.bound: set[str] = set()
        """Every name that the module binds, in any scope."""
        self._imports: dict[tuple[str | None, str, str | None], list[ast.stmt]] = defaultdict(list)
        self._uses: dict[tuple[str, ...], list[ast.expr]] = defaultdict(list)
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Name | ast.Attribute):
                self._uses[_chain(node)].append(node)
                if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                    self.bound.add(node.id)
            elif isinstance(node, ast.arg):
                self.bound.add(node.arg)
            elif isinstance(node, NAMING):
                self.bound.update([node.name] if node.name else [])
            elif isinstance(node, ast.Import | ast.ImportFrom):
                self.bound.update((alias.asname or alias.name).partition(".")[0] for alias in node.names)
                if len(node.names) == 1:
                    module = node.module or "." if isinstance(node, ast.ImportFrom) else None
                    self._imports[module, node.names[0].name, node.names[0].asname].append(node)

    def imports(self, name: str, asname: str | None) -> list[ast.stmt]:
        """Statements that are exactly `import name [as asname]`."""
        return self._imports.get((None, name, asname), [])

    def from_imports(self, module: str, name: str) -> list[ast.stmt]:
        """Statements that are exactly `from module import name`."""
        return self._imports.get((module, name, None), [])

    def uses(self, *parts: str) -> list[ast.expr]:
        """Every place that reads exactly these dotted parts, whatever follows them."""
        return self._uses.get(parts, [])


_module = lru_cache(maxsize=64)(Module)
"""Two spellings, one after the other."""


def _rewritten(
    text: str, statements: Sequence[tuple[ast.stmt, str]], uses: Sequence[tuple[ast.expr, str]]
) -> str | None:
    edits = [
        *(_replacing(node, new) for node, new in statements),
        *(_replacing(node, new) for node, new in uses),
    ]
    return None if None in edits else _edited(text, [edit for edit in edits if edit is not None])


def whole_name(text: str) -> str | None:
    """`import tensorflow as tf` becomes `import tensorflow`."""
    module = _module(text)
    imports = module.imports(TENSORFLOW, ALIAS)
    if not imports or TENSORFLOW in module.bound:
        return None
    uses = [(node, TENSORFLOW) for node in module.uses(ALIAS)]
    return _rewritten(text, [(node, "import tensorflow") for node in imports], uses)


def compat_v2(text: str) -> str | None:
    """`import tensorflow as tf` becomes `import tensorflow.compat.v2 as tf`."""
    module = _module(text)
    imports = module.imports(TENSORFLOW, ALIAS)
    if not imports or module.uses(ALIAS, "compat"):
        return None
    return _rewritten(text, [(node, "import tensorflow.compat.v2 as tf") for node in imports], [])


def compat_v1_from(text: str) -> str | None:
    """`import tensorflow.compat.v1 as tf` becomes `from tensorflow.compat import v1 as tf`."""
    module = _module(text)
    imports = module.imports("tensorflow.compat.v1", ALIAS)
    if not imports:
        return None
    return _rewritten(text, [(node, "from tensorflow.compat import v1 as tf") for node in imports], [])


def _keras_name(text: str, statement: str) -> str | None:
    """`tf.keras` becomes `keras`, which `statement` imports; other imports of it are replaced."""
    module = _module(text)
    present = [*module.from_imports(TENSORFLOW, "keras"), *module.imports("keras", None)]
    imports = module.imports(TENSORFLOW, ALIAS)
    uses = [(node, "keras") for node in module.uses(ALIAS, "keras")]
    if present:
        return _rewritten(text, [(node, statement) for node in present], uses)
    if not imports or not uses or "keras" in module.bound:
        return None
    return _rewritten(text, [(node, f"import tensorflow as tf; {statement}") for node in imports], uses)


def keras_from_tensorflow(text: str) -> str | None:
    """`tf.keras` becomes `keras`, with `from tensorflow import keras`."""
    return _keras_name(text, "from tensorflow import keras")


def keras_alone(text: str) -> str | None:
    """`tf.keras` becomes `keras`, with `import keras`, which must have what the module names."""
    if any(name.removeprefix("tensorflow.") in text for name in only_tf()):
        return None
    return _keras_name(text, "import keras")


def _submodules(text: str, prefix: tuple[str, ...], names: frozenset[str], package: str) -> str | None:
    """`<prefix>.<name>` becomes `<name>`, for each of the names that the module uses and does not bind."""
    module = _module(text)
    imports = module.imports(TENSORFLOW, ALIAS)
    free = names - module.bound
    uses = [(node, name) for name in sorted(free) for node in module.uses(*prefix, name)]
    used = sorted({name for _, name in uses})
    if not imports or not used:
        return None
    statement = f"import tensorflow as tf; from {package} import {', '.join(used)}"
    return _rewritten(text, [(node, statement) for node in imports], list(uses))


def keras_modules(text: str) -> str | None:
    """`tf.keras.layers` becomes `layers`, with `from tensorflow.keras import layers, …`."""
    return _submodules(text, (ALIAS, "keras"), KERAS_MODULES, "tensorflow.keras")


def tensorflow_modules(text: str) -> str | None:
    """`tf.distribute` becomes `distribute`, with `from tensorflow import distribute, …`."""
    return _submodules(text, (ALIAS,), TENSORFLOW_MODULES, TENSORFLOW)


SPELLINGS: tuple[Callable[[str], str | None], ...] = (
    whole_name,
    compat_v2,
    compat_v1_from,
    keras_from_tensorflow,
    keras_alone,
    keras_modules,
    tensorflow_modules,
)


@cache
def spellings(program: Program) -> tuple[Spelled, ...]:
    """The program as written, then under every spelling that changes at least one of its modules."""
    found = [Spelled("as written", program.modules)]
    for spelling in SPELLINGS:
        modules = tuple((path, spelling(text) or text) for path, text in program.modules)
        if all(modules != other.modules for other in found):
            found.append(Spelled(spelling.__name__, modules))
    return tuple(found)
