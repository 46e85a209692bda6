"""Which files imports lead to."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpulint.sources.modules import ModuleFinder


def _written(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("", encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("name", ["site-packages", "dist-packages"])
def test_installed_packages_are_libraries_to_each_other(name: str, tmp_path: Path) -> None:
    installed = tmp_path / name
    own = _written(installed / "models" / "__init__.py")
    helper = _written(installed / "models" / "helper.py")
    deep = _written(installed / "models" / "layers" / "dense.py")
    _written(installed / "models" / "layers" / "__init__.py")
    _written(installed / "models_beside" / "__init__.py")
    _written(installed / "tensorflow" / "__init__.py")
    module = _written(installed / "single.py")
    finder = ModuleFinder([str(installed)])
    for importer in (own, helper, deep):
        assert finder.find("models.helper", importer) == helper
        assert finder.find("tensorflow", importer) is None
        assert finder.find("models_beside", importer) is None
        assert finder.find("single", importer) is None
    assert finder.find("models", module) is None


def test_packages_of_one_project_are_beside_each_other(tmp_path: Path) -> None:
    helper = _written(tmp_path / "helper" / "__init__.py")
    program = _written(tmp_path / "models" / "train.py")
    assert ModuleFinder([str(tmp_path)]).find("helper", program) == helper
