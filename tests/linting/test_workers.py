"""Checking with several processes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gpulint.linting.portions import portions
from tests import warm

DEADLY = '''
import os
import signal

from gpulint.plugin import Report, Rule, Severity


class Deadly(Rule):
    """Dies.

    ## What it does
    Kills the process that reads a program which names its signal.
    """

    code = "DIE001"
    name = "deadly"
    severity = Severity.WARNING
    why = "none"
    instead = "none"

    def on_end(self, plan):
        for word in plan.referenced:
            if word == "raises":
                raise RuntimeError("a rule at fault")
            if word.startswith("SIG"):
                os.kill(os.getpid(), getattr(signal, word))
            if word == "leaves":
                os._exit(7)
'''

PINNED = 'import tensorflow as tf\n\nwith tf.device("/gpu:0"):\n    x = tf.zeros(4)\n'
FILLER = ("# " + "x" * 98 + "\n") * 1500


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GPULINT_TRUST", str(tmp_path))
    (tmp_path / "deadly_rules").mkdir()
    (tmp_path / "deadly_rules" / "deadly.py").write_text(DEADLY)
    (tmp_path / "gpulint.toml").write_text("rule-paths = ['deadly_rules']\nexclude = ['deadly_rules']\n")
    for number in range(9):
        (tmp_path / f"program_{number}.py").write_text(PINNED + FILLER)
    return tmp_path


def check(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command in a separate process, so that its forks have no threads of the tests."""
    command = [sys.executable, "-m", "gpulint", "check", "--output-format", "concise", *arguments]
    return warm.gpulint().run(command, cwd=Path.cwd())


def test_any_number_of_processes_gives_the_same_bytes(project: Path) -> None:
    alone = check("--jobs", "1")
    assert (alone.returncode, alone.stdout.count("GPU101")) == (1, 9)
    for jobs in ("2", "3", "auto"):
        assert check("--jobs", jobs).stdout == alone.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals")
@pytest.mark.parametrize(("word", "reason"), [("SIGSEGV", "of SIGSEGV"), ("SIGKILL", "of SIGKILL"), ("leaves", "7")])
def test_a_process_that_dies_costs_only_the_file_that_it_was_at(project: Path, word: str, reason: str) -> None:
    (project / "program_4.py").write_text(f"{PINNED}{word} = 1\n{FILLER}")
    result = check("--jobs", "2")
    assert result.returncode == 1
    lines = result.stdout.splitlines()
    assert [line.split(":")[0] for line in lines[:-1]] == [f"program_{number}.py" for number in range(9)]
    (lost,) = [line for line in lines if "GPU001" in line]
    assert lost.startswith("program_4.py:1:1:") and reason in lost and "was not checked" in lost


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals")
def test_every_process_may_die(project: Path) -> None:
    for path in project.glob("program_*.py"):
        path.write_text(f"{PINNED}SIGSEGV = 1\n{FILLER}")
    result = check("--jobs", "3")
    assert (result.returncode, result.stdout.count("GPU001")) == (1, 9)


def test_a_fault_inside_a_process_is_an_error_of_the_run(project: Path) -> None:
    (project / "program_4.py").write_text(f"{PINNED}raises = 1\n{FILLER}")
    result = check("--jobs", "2")
    assert result.returncode == 2
    assert "program_4.py: internal error in DIE001: RuntimeError: a rule at fault" in result.stderr
    assert result.stdout.count("GPU101") == 8


def test_a_run_with_nothing_but_a_fault_did_not_pass(project: Path) -> None:
    for path in project.glob("program_*.py"):
        path.unlink()
    (project / "alone.py").write_text(PINNED.replace("gpu", "cpu") + "raises = 1\n")
    result = check("--jobs", "1")
    assert result.returncode == 2
    assert result.stdout == "No findings, but 1 internal error: not everything was checked.\n"


def test_a_rule_that_cannot_be_loaded_is_reported_before_any_process_starts(project: Path) -> None:
    (project / "deadly_rules" / "deadly.py").write_text("nonsense(")
    result = check("--jobs", "2")
    assert result.returncode == 2 and "cannot be imported" in result.stderr


@pytest.mark.parametrize("jobs", ["0", "-1", "many", "²"])
def test_a_wrong_number_of_processes_is_reported(project: Path, jobs: str) -> None:
    result = check(f"--jobs={jobs}")
    assert result.returncode == 2 and "neither a number of processes nor auto" in result.stderr


def test_portions_depend_on_names_and_sizes_only(tmp_path: Path) -> None:
    paths = []
    for number, size in enumerate([10, 50, 5, 5, 100, 1]):
        paths.append(str(tmp_path / f"{number}.py"))
        Path(paths[-1]).write_bytes(b"#" * size)
    missing = str(tmp_path / "missing.py")
    divided = portions([*paths, missing], 60)
    assert [len(portion) for portion in divided] == [2, 3, 2]
    assert [path for portion in divided for path in portion] == [*paths, missing]


def test_what_one_process_finds_in_the_files_of_another_is_not_lost(project: Path) -> None:
    (project / "shared.py").write_text("import tensorflow as tf\n\ndef at(d):\n    with tf.device(d):\n        pass\n")
    (project / "zz.py").write_text(f"import tensorflow as tf\nfrom shared import at\n{FILLER}at('/gpu:0')\n")
    runs = [json.loads(check("--output-format", "json", f"-j{jobs}").stdout) for jobs in (1, 2)]
    assert runs[0] == runs[1]
    assert "shared.py" in {one["filename"] for one in runs[0]}
    assert len({one["fingerprint"] for one in runs[0]}) == len(runs[0])
