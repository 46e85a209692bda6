"""Whether a file imports TensorFlow, and whether its program can have an object of TensorFlow at all."""

from __future__ import annotations

import ast
import sys
from typing import NamedTuple

from gpulint.analysis.project.module_names import paths_of
from gpulint.analysis.project.modules import Project
from gpulint.knowledge.packages import WITHOUT_TENSORFLOW
from gpulint.knowledge.words import ENVIRONMENT_WORDS, OF_TENSORFLOW_ALONE
from gpulint.syntax.outline import Outline, in_any_form
from gpulint.syntax.python_tree import python_tree


class _Imports(NamedTuple):
    """Files of the project that a module imports anywhere, and whether it imports a package that may be TensorFlow or
    have its objects."""

    paths: frozenset[str]
    may_have: bool


def imports_tensorflow(outline: Outline) -> bool:
    """Whether a file imports TensorFlow, Keras or a package built on them, anywhere and by whichever name."""
    return any(
        (not one.level and _is_library(one.module.partition(".")[0]))
        or any(map(_is_library, one.names))
        or (one.module == "transformers" and any(name.startswith("TF") for name in one.names))
        for one in outline.all_imports
    )


def words_without_imports(project: Project, path: str) -> frozenset[str]:
    """Words by which the program in a file can be about TensorFlow although it cannot import it: those of the
    environment, and methods, with their keywords, of objects that its callers may have from TensorFlow. All other names
    are those of its own functions and classes, and what its strings name is nothing that it can use."""

    def find() -> frozenset[str]:
        names: set[str] = set()
        attributes: set[str] = set()
        keywords: set[str] = set()
        for node in ast.walk(python_tree(project.text_of(path)) or ast.Module([], [])):
            if isinstance(node, ast.Attribute):
                attributes.add(node.attr)
            elif isinstance(node, ast.keyword):
                keywords.add(node.arg or "")
            elif isinstance(node, (ast.Name, ast.alias)):
                names.add(node.id if isinstance(node, ast.Name) else node.name)
        methods = {f".{name}" for name in attributes - OF_TENSORFLOW_ALONE if not name[0].isupper()}
        environment = ENVIRONMENT_WORDS & (names | attributes)
        return in_any_form(frozenset(environment)) | methods | {f"{name}(" for name in methods} | keywords

    return project.remembered(("words without imports", path), find)


def _is_library(name: str) -> bool:
    return "keras" in name or name.startswith(("tensorflow", "tf_")) or name == "horovod"


def may_have_tensorflow(project: Project, path: str) -> bool:
    """Whether the program in a file imports TensorFlow, or a package that may be built on it, directly or through
    modules of the project.

    A module that cannot be read or found may import anything. What the file imports for type checkers alone counts, as
    it tells what its parameters are; in other modules it does not.
    """
    pending = [path]
    seen = {path}
    while pending:
        one = pending.pop()
        imports = _imports(project, one, one == path)
        if imports.may_have:
            return True
        fresh = imports.paths - seen
        seen |= fresh
        pending += sorted(fresh)
    return False


def _imports(project: Project, path: str, for_types: bool) -> _Imports:
    def find() -> _Imports:
        outline = project.outline_of(path)
        if outline is None:
            return _Imports(frozenset(), True)
        may_have = False
        paths: set[str] = set()
        for one in dict.fromkeys(outline.all_imports):
            if one in outline.type_imports and not for_types:
                continue
            found = paths_of(project, path, one)
            paths.update(found)
            package = one.module.partition(".")[0]
            is_harmless = not one.level and (package in sys.stdlib_module_names or package in WITHOUT_TENSORFLOW)
            may_have |= not found and not is_harmless
        return _Imports(frozenset(paths), may_have)

    return project.remembered(("foreign imports", path, for_types), find)
