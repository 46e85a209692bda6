"""Which files import which, found without parsing files that cannot import them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from gpulint.analysis import Project
from gpulint.linting.files import Files
from gpulint.linting.selection import Catalogue
from gpulint.server.buffers import Buffer, Document, Snapshot
from gpulint.server.folders import Folder
from gpulint.server.importers import Importers
from gpulint.settings import SettingsFinder
from tests.notebooks import notebook
from tests.server.programs import written

TF = "import tensorflow as tf\n"


def importers(folder: Path, *names: str, typed: Mapping[str, str] | None = None) -> list[str]:
    """The files that import others, by relative path; `typed`: texts of the editor."""
    finder = SettingsFinder()
    files = Files(finder)
    buffers = {
        str(folder / name): Buffer("", str(folder / name), (Document("", 1, text),))
        for name, text in (typed or {}).items()
    }
    snapshot = Snapshot(1, buffers)
    files.given = snapshot.contents
    project = Project([folder], files.read, files.written)
    found = Importers(Folder(str(folder), finder, Catalogue(()), True)).of(
        [str(folder / name) for name in names], snapshot, project
    )
    return [Path(path).relative_to(folder).as_posix() for path in found]


@pytest.mark.parametrize(
    "text",
    [
        "import helper\n",
        "import os, helper as h\n",
        "from helper import f\n",
        "from helper import (\n    f,  # (why)\n    g,\n)\n",
        "import os, \\\n    helper\n",
        "try:\n    import helper\nexcept ImportError: pass\n",
        "if 1: import helper\n",
        "from . import helper\n",
        "from . import (  # of this package :)\n    other,\n    helper,\n)\n",
    ],
)
def test_a_file_that_imports_another_in_any_way_is_found(text: str, tmp_path: Path) -> None:
    written(tmp_path, {"helper.py": TF, "train.py": TF + text, "other.py": TF + "# import it\n"})
    assert importers(tmp_path, "helper.py") == ["train.py"]


def test_what_imports_an_importer_is_found_behind_it(tmp_path: Path) -> None:
    written(
        tmp_path,
        {
            "lib/net.py": TF,
            "lib/__init__.py": TF + "from .net import *\n",
            "lib/steps.py": TF + "from . import build\n",
            "train.py": TF + "from lib import build\n",
            "main.py": TF + "import train\n",
        },
    )
    found = importers(tmp_path, "lib/net.py")
    assert found[0] == "lib/__init__.py" and sorted(found[1:3]) == ["lib/steps.py", "train.py"]
    assert found[3:] == ["main.py"]


def test_a_notebook_imports_and_so_does_what_is_not_saved(tmp_path: Path) -> None:
    written(tmp_path, {"helper.py": TF, "a.ipynb": notebook(TF, "!ls\nfrom helper import f\n"), "b.py": TF})
    assert importers(tmp_path, "helper.py") == ["a.ipynb"]
    assert importers(tmp_path, "helper.py", typed={"b.py": TF + "import helper\n"}) == ["a.ipynb", "b.py"]


def test_names_that_are_not_ascii_are_found(tmp_path: Path) -> None:
    written(tmp_path, {"größe.py": TF, "train.py": TF + "import größe\n"})
    assert importers(tmp_path, "größe.py") == ["train.py"]


def test_files_that_do_not_speak_of_tensorflow_are_no_programs(tmp_path: Path) -> None:
    written(tmp_path, {"helper.py": TF, "train.py": "import helper\n"})
    assert importers(tmp_path, "helper.py") == []
