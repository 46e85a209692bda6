"""Imports: of TensorFlow and other libraries by name, of the project's own modules by reading them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from gpulint.analysis import removed
from gpulint.analysis.control import NORMAL
from gpulint.analysis.relevance import calls_at_import
from gpulint.analysis.state import MISSING
from gpulint.analysis.values import Constant, External, Folder, Imported, ModuleValue, Namespace, Unknown, Value
from gpulint.knowledge import canonical, fact
from gpulint.knowledge.names import package_of
from gpulint.places import Site
from gpulint.syntax import ir

if TYPE_CHECKING:
    from gpulint.analysis.interpreter import Interpreter

STAR = "*"
"""Where a module's globals keep the libraries that were imported with a star."""


def import_(interp: Interpreter, node: ir.Import) -> int:
    for dotted, alias in node.names:
        if interp.project.find(dotted, interp.frame.module.path) is None:
            removed.imported(interp, dotted, interp.site(node))
        if alias is not None:
            _bind(interp, alias, module(interp, dotted, interp.site(node)))
        else:
            top = dotted.partition(".")[0]
            if dotted != top:
                module(interp, dotted, interp.site(node))
            present = interp.frame.locals.get(top)
            if not isinstance(present, (External, Folder, ModuleValue)) or dotted == top:
                _bind(interp, top, _outermost(interp, dotted, interp.site(node)))
    return NORMAL


def _outermost(interp: Interpreter, dotted: str, site: Site) -> Value:
    """What `import a.b.c` binds: `a`."""
    top = dotted.partition(".")[0]
    found = module(interp, top, site)
    is_folder = isinstance(found, External) and interp.project.find(dotted, interp.frame.module.path) is not None
    return Folder(top) if is_folder else found


def folder_attribute(interp: Interpreter, folder: Folder, name: str, site: Site) -> Value:
    """A module in a package that is a folder, or a folder in it."""
    dotted = f"{folder.dotted}.{name}"
    found = loaded(interp, dotted, site)
    if isinstance(found, External):
        return Folder(dotted) if interp.project.names_in(dotted, 0, interp.frame.module.path) else found
    return found


def _bind(interp: Interpreter, name: str, value: Value) -> None:
    frame = interp.frame
    interp.state.write(frame.declared.get(name, frame.locals), name, value)


MAX_EAGER_DEPTH = 3
"""Imports inside imports that are run at once, for what they do to the runtime; deeper ones when they are used."""


def _run_now(interp: Interpreter, path: str, dotted: str, site: Site) -> None:
    """Importing a module runs it. One that only defines things is left until it is used."""
    if interp.import_depth < MAX_EAGER_DEPTH and path not in interp.imported:
        interp.imported.add(path)
        if calls_at_import(interp.project, path, MAX_EAGER_DEPTH - interp.import_depth):
            interp.run_module(path, dotted, site)


def _run_packages(interp: Interpreter, dotted: str, site: Site) -> None:
    """Importing a module runs the packages that it is in, the outermost first."""
    parts = dotted.split(".")
    for depth in range(1, len(parts)):
        package = ".".join(parts[:depth])
        path = interp.project.find(package, interp.frame.module.path)
        if path is not None and path.endswith("__init__.py"):
            _run_now(interp, path, package, site)


def module(interp: Interpreter, dotted: str, site: Site) -> Value:
    """The module of that name, of the project or of a library."""
    path = interp.project.find(dotted, interp.frame.module.path)
    if path is not None:
        _run_packages(interp, dotted, site)
        _run_now(interp, path, dotted, site)
        return Imported(path, dotted, None)
    return External(canonical(dotted), package_of(dotted))


def loaded(interp: Interpreter, dotted: str, site: Site) -> Value:
    """The module of that name; one of the project has been run."""
    found = module(interp, dotted, site)
    return resolve(interp, found) if isinstance(found, Imported) else found


def import_from(interp: Interpreter, node: ir.ImportFrom) -> int:
    importer = interp.frame.module.path
    if node.level:
        path = interp.project.find_relative(node.module, node.level, importer)
    else:
        path = interp.project.find(node.module, importer)
        if path is not None:
            _run_packages(interp, node.module, interp.site(node))
    if path is not None:
        _run_now(interp, path, node.module, interp.site(node))
    for name, alias in node.names:
        if name == "*":
            if path is not None:
                _star(interp, path, node.module)
            elif not node.level:
                scope = interp.frame.module.globals
                before = scope.get(STAR)
                modules = before.value if isinstance(before, Constant) else ()
                interp.state.write(scope, STAR, Constant((*modules, node.module)))  # type: ignore[misc]
            continue
        if path is None and not node.level:
            removed.imported(interp, f"{node.module}.{name}", interp.site(node))
        _bind(interp, alias or name, _member(interp, node, path, name))
    return NORMAL


def _member(interp: Interpreter, node: ir.ImportFrom, path: str | None, name: str) -> Value:
    importer = interp.frame.module.path
    dotted = f"{node.module}.{name}" if node.module else name
    if node.level:
        submodule = interp.project.find_relative(dotted, node.level, importer)
    else:
        submodule = interp.project.find(dotted, importer)
    if submodule is not None and (path is None or (path.endswith("__init__.py") and not _binds(interp, path, name))):
        _run_now(interp, submodule, dotted, interp.site(node))
        return Imported(submodule, dotted, None)
    if path is not None:
        return Imported(path, node.module, name)
    if node.level:
        return Unknown(("import", importer, "." * node.level + dotted))
    return External(canonical(dotted), package_of(dotted))


def _binds(interp: Interpreter, path: str, name: str) -> bool:
    """Whether a package itself has a name that one of its modules has, too: `from .UNet import UNet` in it. Its
    importers get what has that name in it, and not the module."""
    project = interp.project
    if path == interp.frame.module.path or (outline := project.outline_of(path)) is None:
        return False
    if name in outline.definitions:
        return True
    givers = [(one.module, one.level) for one in outline.imports if name in one.names]
    found = [project.find_relative(*one, path) if one[1] else project.find(one[0], path) for one in givers]
    return any(one != path for one in found)


def _star(interp: Interpreter, path: str, dotted: str) -> None:
    scope = interp.run_module(path, dotted)
    if scope is not None:
        for name, value in list(scope.globals.items()):
            if not name.startswith("_"):
                interp.state.write(interp.frame.locals, name, value)


def from_star(interp: Interpreter, name: str) -> Value | None:
    """A name that one of the star imports of libraries brought: one that the library is known to have, or any has."""
    stars = interp.frame.module.globals.get(STAR)
    if isinstance(stars, Constant) and isinstance(stars.value, tuple):
        for module in stars.value:
            dotted = canonical(f"{module}.{name}")
            if fact(dotted) is not None:
                return External(dotted)
        if any(module.partition(".")[0] not in sys.stdlib_module_names for module in stars.value):
            return External(_USUAL[name]) if name in _USUAL else None
    return None


_USUAL = {"np": "numpy", "plt": "matplotlib.pyplot", "tf": "tensorflow"}
"""What these names are in a program that binds them nowhere and takes all of a library that is not known."""


def resolve(interp: Interpreter, imported: Imported) -> Value:
    """Read and run the module that was imported, and give what was asked of it."""
    scope = interp.run_module(imported.path, imported.dotted)
    if scope is None:
        return Unknown(("import", imported.path, imported.attribute))
    module = ModuleValue(scope)
    return module if imported.attribute is None else module_attribute(interp, module, imported.attribute)


def module_attribute(interp: Interpreter, module: ModuleValue, name: str) -> Value:
    value = module.scope.globals.get(name, MISSING)
    if name == "__dict__":
        return Namespace(module.scope)
    if value is MISSING:
        submodule = interp.project.find_relative(name, 1, module.scope.path)
        if submodule is not None and module.scope.path.endswith("__init__.py"):
            return resolve(interp, Imported(submodule, f"{module.scope.name}.{name}", None))
        return Unknown(("name", module.scope.path, name))
    if isinstance(value, Imported):
        if value.path == module.scope.path and value.attribute == name:
            return Unknown(("name", module.scope.path, name))
        return resolve(interp, value)
    return interp.choose(value)
