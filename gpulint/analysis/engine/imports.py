"""Imports: libraries by name, the project's own modules by running them."""

from __future__ import annotations

from typing import cast

from gpulint.analysis.domain.completion import NORMAL
from gpulint.analysis.domain.path_conditions import EVERYWHERE
from gpulint.analysis.domain.store import MISSING, join
from gpulint.analysis.domain.values.base import Constant, Folder, Imported, LibraryName, Union, Unknown, Value
from gpulint.analysis.domain.values.containers import Items
from gpulint.analysis.domain.values.functions import ModuleValue, Namespace
from gpulint.analysis.engine import overwriting
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.project.slicing import runs_at_import
from gpulint.places import Site
from gpulint.syntax import ir

STAR = "*"
"""Key in a module's globals for the libraries imported with `*`."""


def exec_import(machine: Machine, node: ir.Import) -> int:
    for dotted, alias in node.names:
        if machine.project.find(dotted, machine.frame.module.path) is None:
            machine.library.imported(dotted, machine.site(node))
        if alias is not None:
            _bind(machine, alias, module(machine, dotted, machine.site(node)))
        else:
            top = dotted.partition(".")[0]
            if dotted != top:
                module(machine, dotted, machine.site(node))
            present = machine.frame.locals.get(top)
            if not isinstance(present, (LibraryName, Folder, ModuleValue)) or dotted == top:
                _bind(machine, top, _outermost(machine, dotted, machine.site(node)))
    return NORMAL


def _outermost(machine: Machine, dotted: str, site: Site) -> Value:
    """The value that `import a.b.c` binds: `a`."""
    top = dotted.partition(".")[0]
    found = module(machine, top, site)
    is_folder = isinstance(found, LibraryName) and machine.project.find(dotted, machine.frame.module.path) is not None
    return Folder(top) if is_folder else found


def folder_attribute(machine: Machine, folder: Folder, name: str, site: Site) -> Value:
    """A module in a namespace package, or a folder in it."""
    dotted = f"{folder.dotted}.{name}"
    found = loaded(machine, dotted, site)
    if isinstance(found, LibraryName):
        return Folder(dotted) if machine.project.names_in(dotted, 0, machine.frame.module.path) else found
    return found


def _bind(machine: Machine, name: str, value: Value) -> None:
    frame = machine.frame
    machine.state.write(frame.declared.get(name, frame.locals), name, value)


MAX_EAGER_DEPTH = 3
"""Maximum depth of nested imports that are run at once, for their effect on the runtime. Deeper ones are run when they
are used."""


def _run_now(machine: Machine, path: str, dotted: str, site: Site) -> None:
    """Run a module on import. A module that only defines things is left until it is used; what it imports is not."""
    depth = machine.import_depth
    if depth < MAX_EAGER_DEPTH and path not in machine.imported:
        machine.imported.add(path)
        for run in runs_at_import(machine.project, path, dotted, MAX_EAGER_DEPTH - depth):
            machine.import_depth = depth + run.hops
            machine.run_module(run.path, run.dotted, site)
        machine.import_depth = depth


def _run_packages(machine: Machine, dotted: str, site: Site) -> None:
    """Run the packages that contain an imported module, the outermost first."""
    parts = dotted.split(".")
    for depth in range(1, len(parts)):
        package = ".".join(parts[:depth])
        path = machine.project.find(package, machine.frame.module.path)
        if path is not None and path.endswith("__init__.py"):
            _run_now(machine, path, package, site)


def module(machine: Machine, dotted: str, site: Site) -> Value:
    """The module with this name, of the project or of a library."""
    path = machine.project.find(dotted, machine.frame.module.path)
    if path is not None:
        _run_packages(machine, dotted, site)
        _run_now(machine, path, dotted, site)
        return Imported(path, dotted, None)
    return machine.library.name(dotted)


def loaded(machine: Machine, dotted: str, site: Site) -> Value:
    """The module with this name. A module of the project is run."""
    found = module(machine, dotted, site)
    return resolve(machine, found) if isinstance(found, Imported) else found


def exec_import_from(machine: Machine, node: ir.ImportFrom) -> int:
    importer = machine.frame.module.path
    if node.level:
        path = machine.project.find_relative(node.module, node.level, importer)
    else:
        path = machine.project.find(node.module, importer)
        if path is not None:
            _run_packages(machine, node.module, machine.site(node))
    if path is not None:
        _run_now(machine, path, node.module, machine.site(node))
    for name, alias in node.names:
        if name == "*":
            if path is not None:
                _star(machine, path, node.module)
            elif not node.level:
                scope = machine.frame.module.globals
                before = scope.get(STAR)
                modules = before.value if isinstance(before, Constant) else ()
                overwriting.overwrite_any(machine, scope, machine.site(node))
                machine.state.write(scope, STAR, Constant((*modules, node.module)))  # type: ignore[misc]
            continue
        if path is None and not node.level:
            machine.library.imported(f"{node.module}.{name}", machine.site(node))
        _bind(machine, alias or name, _member(machine, node, path, name))
    return NORMAL


def _member(machine: Machine, node: ir.ImportFrom, path: str | None, name: str) -> Value:
    importer = machine.frame.module.path
    dotted = f"{node.module}.{name}" if node.module else name
    if node.level:
        submodule = machine.project.find_relative(dotted, node.level, importer)
    else:
        submodule = machine.project.find(dotted, importer)
    if submodule is not None and (path is None or (path.endswith("__init__.py") and not _binds(machine, path, name))):
        _run_now(machine, submodule, dotted, machine.site(node))
        return Imported(submodule, dotted, None)
    if path is not None:
        return Imported(path, node.module, name)
    if node.level:
        return Unknown(("import", importer, "." * node.level + dotted))
    return machine.library.name(dotted)


def _binds(machine: Machine, path: str, name: str) -> bool:
    """Whether a package binds a name that one of its modules also has, as by `from .UNet import UNet`. Its importers
    get the bound value and not the module."""
    project = machine.project
    if path == machine.frame.module.path or (outline := project.outline_of(path)) is None:
        return False
    if name in outline.definitions:
        return True
    givers = [(one.module, one.level) for one in outline.imports if name in one.names]
    found = [project.find_relative(*one, path) if one[1] else project.find(one[0], path) for one in givers]
    return any(one != path for one in found)


def _star(machine: Machine, path: str, dotted: str) -> None:
    scope = machine.run_module(path, dotted)
    if scope is not None:
        listed = scope.globals.get("__all__")
        names = listed.items if isinstance(listed, Items) else None
        public = None if names is None else {one.value for one in names if isinstance(one, Constant)}
        for name, value in list(scope.globals.items()):
            if name in public if public is not None else not name.startswith("_"):
                machine.state.write(machine.frame.locals, name, value)


def from_star(machine: Machine, name: str) -> Value | None:
    """Value of a name that a star import of a library bound: of a library known to have it, or of any that may have
    it."""
    stars = machine.frame.module.globals.get(STAR)
    if isinstance(stars, Constant) and isinstance(stars.value, tuple):
        return machine.library.from_star(stars.value, name)
    return None


def resolve(machine: Machine, imported: Imported) -> Value:
    """Load and run an imported module, and return the requested module or attribute."""
    scope = machine.run_module(imported.path, imported.dotted)
    if scope is None:
        return Unknown(("import", imported.path, imported.attribute))
    module = ModuleValue(scope)
    return module if imported.attribute is None else module_attribute(machine, module, imported.attribute)


def loading(machine: Machine, scope: dict[str, Value], name: str, value: Value) -> Value:
    """The value of a name in a scope, with what it imports loaded: `import a as net` in one branch and
    `import b as net` in the other."""
    every = value.alternatives if isinstance(value, Union) else ((EVERYWHERE, value),)
    if not any(isinstance(one, Imported) for _, one in every):
        return value
    machine.state.write(scope, name, Unknown(("import", name, value.serial)))  # for a name that imports itself
    found = [(guard, resolve(machine, one) if isinstance(one, Imported) else one) for guard, one in every]
    value = cast(Value, join(found, ("import", name, value.serial)))
    machine.state.write(scope, name, value)
    return value


def module_attribute(machine: Machine, module: ModuleValue, name: str) -> Value:
    value = module.scope.globals.get(name, MISSING)
    if name == "__dict__":
        return Namespace(module.scope)
    if value is MISSING:
        submodule = machine.project.find_relative(name, 1, module.scope.path)
        if submodule is not None and module.scope.path.endswith("__init__.py"):
            return resolve(machine, Imported(submodule, f"{module.scope.name}.{name}", None))
        return Unknown(("name", module.scope.path, name))
    return machine.choose(loading(machine, module.scope.globals, name, value))
