"""A file that breaks the process that analyses it gets one finding, and no other file is affected."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpulint.linting.engine import Checker
from gpulint.linting.examined import Examined
from gpulint.linting.pack import load
from gpulint.linting.selection import Catalogue
from gpulint.settings import SettingsFinder
from tests import warm

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked, and limited, on Linux")

DEADLY = '''
import multiprocessing
import os
import signal

import gpulint.analysis.project.modules
import gpulint.analysis.driver.program
import gpulint.linting.workers
from gpulint.plugin import Report, Rule, Severity
from gpulint.syntax.parse import parse as real_parse

in_worker = multiprocessing.parent_process() is not None


def parse(source):
    if "KILLS_THE_PARSER" in source.text and in_worker and not os.path.exists("spares_all"):
        os.kill(os.getpid(), signal.SIGKILL)
    return real_parse(source)


gpulint.analysis.project.modules.parse = gpulint.analysis.driver.program.parse = parse
if os.path.exists("patient"):
    gpulint.linting.workers.PATIENCE = 1000
if in_worker and os.path.exists("kill_all"):
    os._exit(3)
if in_worker and os.path.exists("kill_once"):
    os.unlink("kill_once")
    os._exit(3)


class Deadly(Rule):
    """Does what a program's names say.

    ## What it does
    Ends, delays or fills the process.
    """

    code = "DIE001"
    name = "deadly"
    severity = Severity.WARNING
    why = "none"
    instead = "none"

    def on_end(self, plan):
        if "spins" in plan.referenced:
            while True:
                pass
        if "hoards" in plan.referenced:
            self.hoard = bytearray(3_000_000_000)
        if "raises_memory_error" in plan.referenced:
            raise MemoryError
        if "waits" in plan.referenced:
            os.read(os.pipe()[0], 1)
        for word in plan.referenced:
            if word.startswith("SIG"):
                os.kill(os.getpid(), getattr(signal, word))
'''

PINNED = 'import tensorflow as tf\n\nwith tf.device("/gpu:0"):\n    x = tf.zeros(4)\n'
NAMES = [f"program_{number}.py" for number in range(4)]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GPULINT_TRUST", str(tmp_path))
    (tmp_path / "deadly_rules").mkdir()
    (tmp_path / "deadly_rules" / "deadly.py").write_text(DEADLY)
    (tmp_path / "gpulint.toml").write_text("rule-paths = ['deadly_rules']\nexclude = ['deadly_rules']\n")
    for name in NAMES:
        (tmp_path / name).write_text(PINNED)
    return tmp_path


def check(*arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gpulint", "check", "--output-format", "concise", *arguments]
    return warm.gpulint().run(command, cwd=Path.cwd(), given=given)


def only_lost(result: subprocess.CompletedProcess[str], name: str, names: list[str] = NAMES) -> str:
    """The message about the only file without a result; all others must have their finding."""
    lines = result.stdout.splitlines()[:-1]
    assert sorted(line.split(":")[0] for line in lines) == sorted(names), result.stdout + result.stderr
    (lost,) = [line for line in lines if "GPU101" not in line]
    assert lost.startswith(f"{name}:1:1: error[GPU001] ") and result.returncode == 1 and result.stderr == ""
    return lost


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_signal_costs_one_file(project: Path, jobs: str) -> None:
    (project / NAMES[1]).write_text(f"{PINNED}SIGSEGV = 1\n")
    assert "died of SIGSEGV; it was not checked" in only_lost(check("-j", jobs), NAMES[1])


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_file_has_limited_time(project: Path, jobs: str) -> None:
    """Three seconds of processor time, however long a busy machine takes to give them."""
    (project / "patient").touch()
    (project / NAMES[2]).write_text(f"{PINNED}spins = 1\n")
    result = check("-j", jobs, "--config", "max-file-seconds = 3")
    assert "takes more than `max-file-seconds` (3)" in only_lost(result, NAMES[2])


def test_a_file_at_which_nothing_happens_is_given_up(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / NAMES[2]).write_text(f"{PINNED}waits = 1\n")
    result = check("--config", "max-file-seconds = 1")
    assert "there was no result within 10 seconds" in only_lost(result, NAMES[2])


@pytest.mark.parametrize("word", ["hoards", "raises_memory_error"])
def test_a_file_has_limited_memory(project: Path, word: str) -> None:
    (project / NAMES[0]).write_text(f"{PINNED}{word} = 1\n")
    result = check("--config", "max-file-memory = 1500")
    assert "`max-file-memory`" in only_lost(result, NAMES[0])


def test_what_comes_from_standard_input_is_isolated_too(project: Path) -> None:
    result = check("--stdin-filename", NAMES[0], "-", given=f"{PINNED}SIGABRT = 1\n")
    assert "died of SIGABRT" in only_lost(result, NAMES[0], NAMES[:1])


def test_fixes_of_the_others_are_made(project: Path) -> None:
    (project / NAMES[3]).write_text(deadly := f"{PINNED}SIGSEGV = 1\n")
    result = check("--fix", "--unsafe-fixes")
    assert result.stdout.splitlines()[0].startswith(f"{NAMES[3]}:1:1: error[GPU001]"), result.stdout
    assert (project / NAMES[3]).read_text() == deadly
    assert all("gpu:0" not in (project / name).read_text() for name in NAMES[:3])


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_module_that_kills_the_parser_costs_those_that_import_it_nothing(project: Path, jobs: str) -> None:
    (project / "zz.py").write_text(f"{PINNED}KILLS_THE_PARSER = 1\n")
    for name in NAMES:
        (project / name).write_text(f"from zz import KILLS_THE_OTHERS as k\n{PINNED}y = k()\n")
    assert "SIGKILL" in only_lost(check("-j", jobs), "zz.py", [*NAMES, "zz.py"])


def test_what_was_found_without_a_module_that_was_given_up_is_not_remembered(project: Path) -> None:
    (project / "zz.py").write_text(f"{PINNED}KILLS_THE_PARSER = 1\ndef k():\n    return tf.device('/gpu:1')\n")
    (project / NAMES[0]).write_text(f"from zz import k\n{PINNED}with k():\n    y = tf.zeros(4)\n")
    first, second = check("-v"), check("-v")
    assert first.stdout == second.stdout and "SIGKILL" in first.stdout
    assert "4 that mention it, 1 analysed in this run" in second.stderr
    (project / "spares_all").touch()
    spared = check()
    assert "GPU001" not in spared.stdout and spared.stdout == check("-n").stdout == check().stdout


def test_a_module_that_is_not_checked_itself_can_kill_the_parser_too(project: Path) -> None:
    (project / "zz.py").write_text(f"{PINNED}KILLS_THE_PARSER = 1\nk = print\n")
    (project / NAMES[0]).write_text(f"from zz import k\n{PINNED}y = k()\n")
    result = check(*NAMES)
    assert result.stdout.count("GPU101") == len(NAMES) and "GPU001" not in result.stdout


def test_a_process_that_dies_of_something_else_costs_no_file_anything(project: Path) -> None:
    (project / "kill_once").touch()
    result = check()
    assert result.stdout.count("GPU101") == len(NAMES) and "GPU001" not in result.stdout
    assert not (project / "kill_once").exists()


def test_when_no_process_can_begin_every_file_is_said_to_be_lost(project: Path) -> None:
    (project / "kill_all").touch()
    result = check()
    assert result.returncode == 1 and result.stdout.count("died with status 3; it was not checked") == len(NAMES)


def test_a_file_without_a_result_is_reported(project: Path) -> None:
    def forgetful(portions: object, shown: object, given: object) -> list[Examined]:
        return [Examined(os.path.abspath(NAMES[0]))]

    result = Checker(SettingsFinder(), Catalogue(load())).check(NAMES, examine=forgetful)
    assert [one.span.path for one in result.findings] == NAMES[1:]
    assert all(one.code == "GPU001" and "no process reported a result" in one.message for one in result.findings)
