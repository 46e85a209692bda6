"""The identity of gpulint, its rules and Python: records of another identity are ignored."""

from __future__ import annotations

import ast
import importlib.util
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType

from gpulint._version import __version__
from gpulint.linting.provenance import digest

SHIPPED = "gpulint.rules"

LIBRARIES = ("libcst", "markdown_it", "packaging")
"""Packages on which results depend."""


def identity(plugins: Iterable[ModuleType] = ()) -> str:
    """Digest of everything besides the checked files on which findings depend: version and files of gpulint, the
    libraries that parse programs, Python, and the code of plug-in rules with their imports.
    """
    parts = [__version__, sys.version, sys.platform]
    for package in ("gpulint", SHIPPED):
        for directory in _directories(package):
            parts += [f"{path} {_content(os.path.join(directory, path))}" for path in _files(directory)]
    for package in LIBRARIES:
        for directory in _directories(package):
            parts += _releases(directory)
    parts += [f"{name} {_content(path)}" for name, path in sorted(_sources_of(plugins).items())]
    return f"{__version__}-{digest('|'.join(parts).encode(errors='surrogatepass'))}"


def _directories(package: str) -> list[str]:
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return []
    return list(spec.submodule_search_locations or ()) if spec is not None else []


_OTHER_COMMANDS = frozenset({"doctor", "output", "probe", "server", "__pycache__"})
"""Folders of gpulint that do not affect the findings of `check`."""


def _files(directory: str) -> Iterator[str]:
    """Digests of the files below a directory of gpulint, by relative path: modification times change with
    installation."""
    for folder, folders, names in os.walk(directory):
        folders[:] = sorted(name for name in folders if name not in _OTHER_COMMANDS)
        for name in sorted(names):
            yield os.path.relpath(os.path.join(folder, name), directory)


def _releases(directory: str) -> list[str]:
    """Identity of the installed release of a package: its metadata, and the sizes of its files."""
    package = os.path.basename(directory)
    beside = [name for name in _names(os.path.dirname(directory)) if name.startswith(package)]
    own = [f"{entry.name} {entry.stat().st_size}" for entry in os.scandir(directory) if entry.is_file()]
    return sorted(beside) + sorted(own)


def _names(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []


def _sources_of(plugins: Iterable[ModuleType]) -> Mapping[str, str]:
    """The files, by module, of plug-ins and of their imports, without the imports of installed packages."""
    found: dict[str, str] = {}
    pending = list(plugins)
    own = {_top(module) for module in pending}
    while pending:
        module = pending.pop()
        path = getattr(module, "__file__", None)
        if path is None or module.__name__ in found or _top(module) in _KNOWN:
            continue
        found[module.__name__] = path
        if _top(module) in own or not _is_installed(path):
            pending += [sys.modules[name] for name in _imports_of(module, path) if name in sys.modules]
    return found


_KNOWN = frozenset({"gpulint", *LIBRARIES, *sys.stdlib_module_names})


def _top(module: ModuleType) -> str:
    return module.__name__.partition(".")[0]


def _is_installed(path: str) -> bool:
    return not {"site-packages", "dist-packages"}.isdisjoint(path.split(os.sep))


def _imports_of(module: ModuleType, path: str) -> Iterator[str]:
    """The names of modules that a module may import, at any place."""
    try:
        with open(path, "rb") as file:
            tree = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return
    package = getattr(module, "__package__", None) or ""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name
                yield from _parents(alias.name)
        elif isinstance(node, ast.ImportFrom):
            try:
                base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            except ImportError:
                continue
            yield base
            yield from _parents(base)
            for alias in node.names:
                yield f"{base}.{alias.name}"


def _parents(name: str) -> Iterator[str]:
    while "." in name:
        name = name.rpartition(".")[0]
        yield name


def _content(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return digest(file.read())
    except OSError:
        return ""
