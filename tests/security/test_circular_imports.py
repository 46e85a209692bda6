"""Modules that import each other along any number of ways: what is recorded and searched grows with the imports."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from gpulint.analysis.project.call_graph import Reach
from gpulint.analysis.project.module_names import MAX_REEXPORTS, ModuleNames, imported_paths, module_of
from gpulint.analysis.project.modules import Project
from gpulint.sources.decoding import decode
from gpulint.sources.modules import ModuleFinder

LAYERS, WIDTH = 40, 100


def project_of(folder: Path, texts: Mapping[str, str]) -> Project:
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return Project([folder], lambda path: decode(path, Path(path).read_bytes()))


def test_results_computed_from_others_are_recorded_once(tmp_path: Path) -> None:
    """Each of a hundred results uses all of the layer below it: a hundred to the power of 40 ways lead to a module."""
    paths = [str(tmp_path / f"m{number}.py") for number in range(WIDTH)]
    project = project_of(tmp_path, {f"m{number}.py": "" for number in range(WIDTH)})

    def result(layer: int, number: int) -> int:
        def find() -> int:
            if layer:
                return sum(result(layer - 1, one) for one in range(WIDTH)) // WIDTH
            project.outline_of(paths[number])
            return 1

        return project.remembered((layer, number), find)

    for _ in range(2):
        assert result(LAYERS, 0) == 1
        assert project.consulted == set(paths)
        project.forget()
        assert not project.consulted


def test_star_imports_of_each_other_are_searched_once(tmp_path: Path) -> None:
    """Without the name anywhere, every way along the star imports of fifty modules would be tried."""
    count = 50
    texts = {
        f"m{number}.py": "".join(f"from m{one} import *\n" for one in range(count)) + f"def f{number}(): pass\n"
        for number in range(count)
    }
    project = project_of(tmp_path, texts)
    first = module_of(project, str(tmp_path / "m0.py"))
    assert first is not None
    assert first.resolve("f49") == [(str(tmp_path / "m49.py"), "f49")]
    assert first.resolve("missing") == []
    assert first.star_imported == {str(tmp_path / f"m{number}.py"): 1 for number in range(1, count)}
    assert project.consulted == {str(tmp_path / name) for name in texts}


def test_a_chain_of_star_imports_is_followed_as_far_as_other_reexports(tmp_path: Path) -> None:
    texts = {f"m{number}.py": f"from m{number + 1} import *\ndef f{number}(): pass\n" for number in range(20)}
    project = project_of(tmp_path, texts)
    first = module_of(project, str(tmp_path / "m0.py"))
    assert first is not None
    for number in range(20):
        found = [(str(tmp_path / f"m{number}.py"), f"f{number}")] if number <= MAX_REEXPORTS else []
        assert first.resolve(f"f{number}") == found


def test_a_computed_name_is_looked_up_once_for_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred modules, each of which may import any of them."""
    count = 100
    text = "import importlib\nimportlib.import_module('nets.' + x)\n"
    texts = {f"m{number}.py": text for number in range(count)}
    (tmp_path / "nets").mkdir()
    project = project_of(tmp_path / "nets", {**texts, "__init__.py": ""})
    looked_up: list[str] = []
    look = ModuleFinder.look

    def counted(finder: ModuleFinder, name: str, directory: str) -> str | None:
        looked_up.append(name)
        return look(finder, name, directory)

    monkeypatch.setattr(ModuleFinder, "look", counted)
    every = {str(tmp_path / "nets" / name) for name in texts}
    for path in sorted(every):
        assert imported_paths(project, path) == every
    assert len(looked_up) < 10 * count


def test_a_name_that_no_star_import_gives_is_not_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count = 50
    texts = {
        f"m{number}.py": "".join(f"from m{one} import *\n" for one in range(count)) + "y = globals()[len(missing)]\n"
        for number in range(count)
    }
    project = project_of(tmp_path, texts)
    asked: list[str] = []
    resolve = ModuleNames._resolve_directly

    def counted(module: ModuleNames, name: str, hops: int) -> list[tuple[str, str]]:
        asked.append(name)
        return resolve(module, name, hops)

    monkeypatch.setattr(ModuleNames, "_resolve_directly", counted)
    assert Reach(project, str(tmp_path / "m0.py")).knows((str(tmp_path / "m49.py"), "y"))
    assert len(asked) < 10 * count
