"""The rooms of the code: no import cycle, no import against the flow, and no library named in the engine."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]

ROOMS = {
    "domain": set(),
    "plan": {"domain"},
    "project": {"domain", "plan"},
    "engine": {"domain", "plan", "project"},
    "models": {"domain", "plan", "engine"},
    "queries": {"domain", "plan"},
    "driver": {"domain", "plan", "project", "engine", "models"},
}
"""The rooms of `gpulint.analysis`, and those that each may import."""

FOLDERS = (
    "places",
    "confidence",
    "_version",
    "knowledge",
    "sources",
    "settings",
    "discovery",
    "syntax",
    "analysis",
    "rewriting",
    "linting",
    "plugin",
    "rules",
    "caching",
    "checking",
    "output",
    "fixing",
    "probe",
    "expect",
    "doctor",
    "estimate",
    "server",
    "library",
    "cli",
    "",
    "__main__",
    "pytest_plugin",
)
"""The folders and modules of `gpulint`, each before those that may import it; "" is the package itself."""

LIBRARY_VALUES = {"datasets", "devices", "objects", "tensors"}
"""Modules of `domain.values` with values of TensorFlow."""


@cache
def modules() -> dict[str, Path]:
    """The modules of gpulint and its rules, by dotted name."""
    found = {}
    for package in ("gpulint", "rules"):
        for path in (ROOT / package).rglob("*.py"):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def _imported(node: ast.AST, package: list[str]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        home = package[: len(package) - node.level + 1] if node.level else []
        base = ".".join([*home, *([node.module] if node.module else [])])
        for alias in node.names:
            name = f"{base}.{alias.name}"
            yield name if name in modules() else base


@cache
def imports() -> dict[str, set[str]]:
    """The imports of each module: at the top, inside functions and under TYPE_CHECKING."""
    graph = {}
    for name, path in modules().items():
        package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found = {one for node in ast.walk(tree) for one in _imported(node, package)}
        graph[name] = {one for one in found if one in modules()} - {name}
    return graph


def circles(graph: dict[str, set[str]]) -> list[set[str]]:
    """The strongly connected components of more than one module (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[set[str]] = []

    def visit(one: str) -> None:
        index[one] = low[one] = len(index)
        stack.append(one)
        for other in graph[one]:
            if other not in index:
                visit(other)
                low[one] = min(low[one], low[other])
            elif other in stack:
                low[one] = min(low[one], index[other])
        if low[one] == index[one]:
            component = set(stack[stack.index(one) :])
            del stack[stack.index(one) :]
            if len(component) > 1:
                found.append(component)

    for one in graph:
        if one not in index:
            visit(one)
    return found


def room(module: str) -> str | None:
    """The room of a module of `gpulint.analysis`."""
    parts = module.split(".")
    return parts[2] if module.startswith("gpulint.analysis.") and len(parts) > 3 else None


def test_a_circle_is_found() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set(), "e": {"a"}}
    assert circles(graph) == [{"a", "b", "c"}]


def test_no_import_goes_in_a_circle() -> None:
    assert circles(imports()) == []


def folder(module: str) -> str:
    """The folder, or the module, of `gpulint` that a module is in."""
    parts = module.split(".")
    return "rules" if parts[0] == "rules" else parts[1] if len(parts) > 1 else ""


def test_every_folder_is_known() -> None:
    assert {folder(module) for module in modules()} == set(FOLDERS)


def test_no_folder_imports_a_later_one() -> None:
    place = {name: index for index, name in enumerate(FOLDERS)}
    against = [
        f"{module} imports {other}"
        for module, found in imports().items()
        for other in found
        if place[folder(other)] > place[folder(module)]
    ]
    assert against == []


def test_every_room_is_known() -> None:
    rooms = {path.parent.name for path in (ROOT / "gpulint" / "analysis").glob("*/__init__.py")}
    assert rooms == set(ROOMS)


def test_no_import_goes_against_the_flow() -> None:
    against = [
        f"{module} imports {other}"
        for module, found in imports().items()
        for other in found
        if (home := room(module)) and (to := room(other)) and to != home and to not in ROOMS[home]
    ]
    assert against == []


def test_rules_see_the_analysis_through_the_door_of_plug_ins() -> None:
    seen = {other for module, found in imports().items() if module.startswith("rules.") for other in found}
    assert {one for one in seen if not one.startswith(("rules", "gpulint.plugin"))} == set()


def test_the_engine_names_no_library() -> None:
    engine = {name: path for name, path in modules().items() if room(name) == "engine"}
    library_values = {f"gpulint.analysis.domain.values.{name}" for name in LIBRARY_VALUES}
    for name, path in engine.items():
        assert not imports()[name] & library_values, name
        assert not any(one.startswith("gpulint.knowledge") for one in imports()[name]), name
        assert not re.search(r"tensorflow|keras|numpy|\btf\.", path.read_text(encoding="utf-8"), re.IGNORECASE), name
