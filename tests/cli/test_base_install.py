"""Commands that only read code work without the libraries of `gpulint[probe]`; the others name what they need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from gpulint.cli.main import PROBE_LIBRARIES

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent.parent
BASE = """
import sys

for name in ("psutil", "pynvml", "pygments", "rich"):
    sys.modules[name] = None
from gpulint.cli.main import main

sys.exit(main())
"""


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command where none of the libraries can be imported."""
    line = [sys.executable, "-c", BASE, *arguments]
    return subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "--extension", "md", "."),
        ("check", "--fix", "--unsafe-fixes"),
        ("check", "--python", sys.executable),
        ("plan", "."),
        ("rule", "--all"),
        ("config", "--schema", "gpulint.toml"),
        ("config", "--schema", "doctor"),
        ("config", "--schema", "probe"),
        ("clean",),
        ("version",),
        ("server", "--help"),
    ],
)
def test_commands_that_read_code_need_none_of_them(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    program = "import tensorflow as tf\n\nwith tf.device('/gpu:0'):\n    x = tf.zeros(4)\n"
    (tmp_path / "train.py").write_text(program)
    (tmp_path / "README.md").write_text(f"```python\n{program}```\n")
    done = run(tmp_path, *arguments)
    assert done.returncode in (0, 1) and done.stderr == ""
    assert arguments[:2] != ("check", "--extension") or done.stdout.count("warning[GPU101]") == 2


@pytest.mark.parametrize("command", ["probe", "doctor"])
def test_commands_that_run_programs_name_what_they_need_in_one_line(tmp_path: Path, command: str) -> None:
    done = run(tmp_path, command, *(["train.py"] if command == "probe" else []))
    assert done.returncode == 2
    assert done.stderr == "gpulint: this command needs psutil: pip install nvidia-ml-py psutil pygments rich\n"


def test_an_installation_for_linting_is_small() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    base = {Requirement(one).name for one in project["dependencies"]}
    assert base == {"click", "libcst", "markdown-it-py", "packaging", "platformdirs", "tomli"}
    extra = {Requirement(one).name for one in project["optional-dependencies"]["probe"]}
    assert extra == {*PROBE_LIBRARIES, "nvidia-ml-py"}
