"""Waits for TensorFlow and Keras to be imported."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


def arm(
    awaited: Mapping[str, Callable[[ModuleType], None]], failed: Callable[[str, BaseException], None]
) -> list[MetaPathFinder]:
    """Calls back once each module has been imported, at once if it already is. `failed` gets modules that exist and
    fail to import. Pass the returned finders to `disarm`."""
    finders: list[MetaPathFinder] = []
    for name, done in awaited.items():
        module = sys.modules.get(name)
        if module is not None and hasattr(module, "__version__"):
            done(module)
        else:
            finders.append(Finder(name, done, failed))
    sys.meta_path[:0] = finders
    return finders


def disarm(finders: Iterable[MetaPathFinder]) -> None:
    """Stops waiting for imports."""
    for finder in finders:
        if finder in sys.meta_path:
            sys.meta_path.remove(finder)


class Finder(MetaPathFinder):
    """Finds a module through the other finders and calls back once it has been imported.

    The import itself stays the program's: its time, its environment, its errors.
    """

    def __init__(
        self, name: str, done: Callable[[ModuleType], None], failed: Callable[[str, BaseException], None]
    ) -> None:
        self._name = name
        self._done = done
        self._failed = failed
        self._searching = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._name or self._searching:
            return None
        self._searching = True
        try:
            for finder in sys.meta_path:
                find = getattr(finder, "find_spec", None)
                spec = find(fullname, path, target) if find is not None else None
                if spec is not None:
                    if spec.loader is not None:
                        spec.loader = _Loader(spec.loader, self._imported, self._gave_up)
                    return spec  # type: ignore[no-any-return]
        finally:
            self._searching = False
        return None

    def _imported(self, module: ModuleType) -> None:
        """Programs also look for modules without importing them, so the callback waits for the import."""
        if self in sys.meta_path:
            disarm([self])
            self._done(module)

    def _gave_up(self, error: BaseException) -> None:
        self._failed(self._name, error)


class _Loader(Loader):
    """Wraps the module's loader to call back after loading, or on its error."""

    def __init__(
        self, loader: Any, done: Callable[[ModuleType], None], failed: Callable[[BaseException], None]
    ) -> None:
        self._loader = loader
        self._done = done
        self._failed = failed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)  # type: ignore[no-any-return]

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        try:
            self._loader.exec_module(module)
        except Exception as error:
            self._failed(error)
            raise
        self._done(sys.modules.get(module.__name__, module))
