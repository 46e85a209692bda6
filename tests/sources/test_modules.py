"""The files that imports resolve to."""

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


def test_a_module_of_a_package_does_not_hide_that_of_python(tmp_path: Path) -> None:
    agents = tmp_path / "agents"
    own = _written(agents / "random.py")
    helper = _written(agents / "helper.py")
    importer = _written(agents / "ppo.py")
    finder = ModuleFinder([str(tmp_path)])
    assert finder.find("random", importer) == own  # the folder of a script comes first on `sys.path`
    _written(agents / "__init__.py")
    finder = ModuleFinder([str(tmp_path)])
    assert finder.find("random", importer) is None
    assert finder.find_relative("random", 1, importer) == own
    assert finder.find("helper", importer) == helper  # old code imports so


def test_no_program_starts_in_a_package_that_the_importer_is_in(tmp_path: Path) -> None:
    package = tmp_path / "bandits"
    own = _written(package / "models" / "gpflow" / "models.py")
    importer = _written(package / "models" / "gpflow" / "builders.py")
    data = _written(package / "data.py")
    for folder in (package, package / "models", package / "models" / "gpflow"):
        _written(folder / "__init__.py")
    finder = ModuleFinder([str(tmp_path)])
    assert finder.find("gpflow.models", importer) == own  # a script in `bandits/models` finds it
    assert finder.find("gpflow.models", importer, depth=3) is None  # after `from ...data import Dataset`
    assert finder.find("bandits.models.gpflow.models", importer, depth=3) == own
    assert finder.find("bandits.data", importer, depth=1) == data
    assert ModuleFinder([str(package)]).find("bandits.data", importer, depth=3) == data  # seen from within


def test_a_project_below_the_root_is_started_from_its_own_directory(tmp_path: Path) -> None:
    server = tmp_path / "server"
    helper = _written(server / "models" / "helper.py")
    importer = _written(server / "jobs" / "training" / "run.py")
    finder = ModuleFinder([str(tmp_path)])
    assert finder.find("models.helper", importer) == helper
    assert finder.find("models.absent", importer) is None


@pytest.mark.parametrize("top", ["pyproject.toml", "setup.py", ".git"])
def test_nothing_above_a_project_belongs_to_it(top: str, tmp_path: Path) -> None:
    _written(tmp_path / "helper.py")
    _written(tmp_path / "project" / top)
    importer = _written(tmp_path / "project" / "jobs" / "run.py")
    assert ModuleFinder([]).find("helper", importer) is None


def test_nothing_above_a_root_is_searched(tmp_path: Path) -> None:
    _written(tmp_path / "helper.py")
    importer = _written(tmp_path / "root" / "jobs" / "run.py")
    assert ModuleFinder([str(tmp_path / "root")]).find("helper", importer) is None
    assert ModuleFinder([]).find("helper", importer) == str(tmp_path / "helper.py")


@pytest.mark.parametrize(
    ("directory", "package", "is_same"),
    [
        ("nets-main", "nets", True),
        ("org+dice_rl", "dice_rl", True),
        ("DeepNets-2.1", "deepnets", True),
        ("checkout", "nets", False),
        ("org+dice_rl", "dice", True),
        ("subnets", "nets", False),
    ],
)
def test_a_package_that_was_copied_into_another_directory(
    directory: str, package: str, is_same: bool, tmp_path: Path
) -> None:
    importer = _written(tmp_path / directory / "scripts" / "run.py")
    _written(tmp_path / directory / "__init__.py")
    _written(tmp_path / directory / "scripts" / "__init__.py")
    wanted = _written(tmp_path / directory / "layers.py")
    finder = ModuleFinder([str(tmp_path / directory)])
    assert finder.find(f"{package}.layers", importer) == (wanted if is_same else None)
    assert finder.find(package, importer) is None


@pytest.mark.parametrize(("name", "is_read"), [("keras", False), ("tensorflow", False), ("keras_nets", True)])
def test_packages_whose_names_are_known_are_not_read(name: str, is_read: bool, tmp_path: Path) -> None:
    program = _written(tmp_path / name / "train.py")
    helper = _written(tmp_path / name / "helper.py")
    _written(tmp_path / name / "__init__.py")
    finder = ModuleFinder([str(tmp_path)])
    assert finder.find(f"{name}.helper", program) == (helper if is_read else None)
    assert finder.find_relative("helper", 1, program) == helper


def test_the_names_in_a_package_are_its_modules_and_folders(tmp_path: Path) -> None:
    program = _written(tmp_path / "train.py")
    for name in ("__init__.py", "dense.py", "conv.py", "blocks/residual.py"):
        _written(tmp_path / "layers" / name)
    (tmp_path / "layers" / "README.md").write_text("")
    beside = str(tmp_path / "layers" / "dense.py")
    finder = ModuleFinder([str(tmp_path)])
    assert {"dense", "conv", "blocks"} <= set(finder.names_in("layers", 0, program))
    assert "README" not in finder.names_in("layers", 0, program)
    assert sorted(finder.names_in("", 1, beside)) == sorted(finder.names_in("layers", 0, program))
    assert finder.names_in("absent", 0, program) == []


def test_a_finder_resumes_while_all_modules_are_where_they_were(tmp_path: Path) -> None:
    importer = _written(tmp_path / "train.py")
    helper = _written(tmp_path / "helper.py")
    finder = ModuleFinder([str(tmp_path)])
    assert (finder.find("helper", importer), finder.find("models.unet", importer)) == (helper, None)
    _written(tmp_path / "log.txt")
    _written(tmp_path / "other.py")
    assert finder.resume({}) and finder.find("helper", importer) == helper
    assert finder.asked.keys() == {("helper", str(tmp_path))}
    unet = _written(tmp_path / "models" / "unet.py")
    assert not finder.resume({})
    finder = ModuleFinder([str(tmp_path)])
    assert finder.find("models.unet", importer) == unet
    Path(unet).unlink()
    assert not finder.resume({})


def test_a_finder_does_not_resume_where_all_names_matter(tmp_path: Path) -> None:
    importer = _written(tmp_path / "train.py")
    finder = ModuleFinder([str(tmp_path)])
    _written(tmp_path / "nets" / "unet.py")
    assert finder.names_in("nets", 0, importer) == ["unet"]
    assert finder.resume({})
    _written(tmp_path / "nets" / "vgg.py")
    assert not finder.resume({})


def test_a_finder_of_a_notebook_that_writes_modules_does_not_resume(tmp_path: Path) -> None:
    notebook = str(tmp_path / "train.ipynb")
    finder = ModuleFinder([str(tmp_path)])
    assert finder.resume({notebook: {"helper.py"}})
    assert finder.find("helper", notebook) == f"{notebook}/helper.py"
    assert not finder.resume({})


def test_a_file_replaced_by_a_folder_of_its_name_is_noticed(tmp_path: Path) -> None:
    importer = _written(tmp_path / "train.py")
    helper = _written(tmp_path / "helper.py")
    finder = ModuleFinder([str(tmp_path)])
    assert finder.find("helper", importer) == helper
    Path(helper).unlink()
    Path(helper).mkdir()
    assert not finder.resume({})


def test_the_names_in_a_package_are_no_file(tmp_path: Path) -> None:
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets" / "unet.py").touch()
    program = str(tmp_path / "train.py")
    finder = ModuleFinder([str(tmp_path)])
    assert finder.find("nets.*", program) is None and finder.find_relative("nets.*", 1, program) is None
    assert finder.matching("nets.*", str(tmp_path)) == (str(tmp_path / "nets" / "unet.py"),)
