"""`gpulint check` caches its results, and `gpulint clean` deletes them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import warm

PINNED = 'import tensorflow as tf\n\nwith tf.device("/gpu:0"):\n    x = tf.zeros(4)\n'
RULE = '''"""A rule of the user's."""

import tensorflow_words

from gpulint.plugin import Report, Rule, Severity, Site


class Named(Rule):
    """Names what it was told to.

    ## What it does
    Reports every program.
    """

    code = "USR001"
    name = "named"
    severity = Severity.WARNING
    why = "none"
    instead = "none"

    def on_end(self, plan):
        yield Report(Site(plan.path, 1), f"{tensorflow_words.WORD} RULE")
'''


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GPULINT_CACHE_DIR", raising=False)
    monkeypatch.delenv("GPULINT_NO_CACHE", raising=False)
    (tmp_path / "program.py").write_text(PINNED)
    return tmp_path


def run(
    *arguments: str, command: str = "check", stdin: str = "", is_fresh: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run gpulint, with `is_fresh` in a new process, which reads `PYTHONPATH`."""
    python = warm.Fresh() if is_fresh else warm.gpulint()
    line = [sys.executable, "-m", "gpulint", command, *arguments]
    return python.run(line, cwd=Path.cwd(), env={}, given=stdin)


def analysed(result: subprocess.CompletedProcess[str]) -> int:
    """The number of analysed files, as reported by `-v`."""
    (line,) = [line for line in result.stderr.splitlines() if line.endswith("analysed in this run")]
    return int(line.rpartition(", ")[2].split()[0])


def records(directory: Path) -> list[Path]:
    return sorted(directory.glob("**/*.z"))


def test_the_second_run_analyses_nothing_and_says_the_same(project: Path) -> None:
    first, second = run("-v"), run("-v")
    assert (analysed(first), analysed(second)) == (1, 0)
    assert (first.returncode, first.stdout) == (second.returncode, second.stdout)
    assert "GPU101" in first.stdout and 'tf.device("/gpu:0")' in second.stdout


@pytest.mark.parametrize("form", ["full", "json", "sarif", "rdjson", "junit", "gitlab", "grouped"])
def test_every_format_has_the_same_bytes(project: Path, form: str) -> None:
    (project / "silent.py").write_text(PINNED.replace(":\n", ":  # gpulint: ignore[GPU101] known\n"))
    outputs = [run("--output-format", form, *more).stdout for more in (["-n"], [], [])]
    assert outputs[0] == outputs[1] == outputs[2] != ""


def test_a_cold_run_of_several_processes_is_remembered(project: Path) -> None:
    for number in range(6):
        (project / f"program_{number}.py").write_text(PINNED + ("# " + "x" * 98 + "\n") * 2500)
    without = run("-n", "-j2")
    first, second = run("-v", "-j2"), run("-v", "-j2")
    assert without.stdout == first.stdout == second.stdout
    assert (analysed(first), analysed(second)) == (7, 0)
    (project / "program_3.py").write_text(PINNED + "\n")
    assert analysed(third := run("-v", "-j2")) == 1
    assert third.stdout == run("-n").stdout


def test_no_cache_neither_reads_nor_writes(project: Path) -> None:
    run("--no-cache")
    run("-n")
    assert not (project / ".gpulint_cache").exists()


def test_the_environment_an_option_and_a_setting_name_the_directory(
    project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    run("--cache-dir", str(elsewhere / "option"))
    (project / "gpulint.toml").write_text("cache-dir = 'setting'\n")
    run()
    monkeypatch.setenv("GPULINT_CACHE_DIR", str(elsewhere / "variable"))
    run()
    assert all(records(one) for one in (elsewhere / "option", project / "setting", elsewhere / "variable"))
    assert not (project / ".gpulint_cache").exists()


def test_each_project_has_its_own(project: Path) -> None:
    (project / "inner").mkdir()
    (project / "inner" / "gpulint.toml").write_text("")
    (project / "inner" / "program.py").write_text(PINNED)
    (project / "gpulint.toml").write_text("")
    run()
    assert len(records(project / ".gpulint_cache")) == 2  # of the program, and of the run
    assert len(records(project / "inner" / ".gpulint_cache")) == 1


def test_a_directory_that_cannot_be_made_costs_nothing_but_a_word(project: Path) -> None:
    (project / ".gpulint_cache").write_text("")
    quiet, verbose = run(), run("-v")
    assert quiet.stdout == verbose.stdout == run("-n").stdout
    assert quiet.stderr == ""
    assert verbose.stderr.count("nothing was cached") == 1


def test_standard_input_is_not_remembered(project: Path) -> None:
    run("-", "--stdin-filename", "program.py", stdin=PINNED)
    assert not (project / ".gpulint_cache").exists()


def test_settings_of_what_is_found_count_and_those_of_the_output_do_not(project: Path) -> None:
    run()
    assert analysed(run("-v", "--output-format", "junit", "--max-warnings", "3")) == 0
    assert analysed(run("-v", "--ignore", "GPU101")) == 1
    assert analysed(run("-v", "--target-tensorflow", "2.10")) == 1
    assert analysed(run("-v")) == 0


def test_a_fix_is_not_served_again(project: Path) -> None:
    (project / "program.py").write_text(
        "import tensorflow as tf\n\ndef step(x):\n    x = x.gpu()\n    return x\n"
        "tf.config.experimental.list_physical_devices('GPU')\n" + PINNED
    )
    before = run("--unsafe-fixes")
    assert run("--unsafe-fixes").stdout == before.stdout
    fixed = run("--fix", "--unsafe-fixes")
    after = run("--unsafe-fixes")
    assert "fixed" in fixed.stdout
    assert after.stdout == run("-n", "--unsafe-fixes").stdout != before.stdout


def test_comments_and_a_baseline_are_applied_to_what_is_remembered(project: Path) -> None:
    run()
    assert run("--baseline", "known.json", "--write-baseline").returncode == 0
    assert analysed(accepted := run("-v", "--baseline", "known.json")) == 0
    assert accepted.returncode == 0
    run("--add-ignore=known")
    assert run().returncode == 0
    assert "unused" not in run().stdout


def test_the_code_of_the_users_rules_and_of_what_they_import_counts(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "own").mkdir()
    (project / "own" / "named.py").write_text(RULE)
    (project / "words").mkdir()
    (project / "words" / "tensorflow_words.py").write_text("WORD = 'one'\n")
    monkeypatch.setenv("PYTHONPATH", str(project / "words"), prepend=":")
    monkeypatch.setenv("GPULINT_TRUST", str(project))
    (project / "gpulint.toml").write_text("rule-paths = ['own']\nexclude = ['own', 'words']\n")
    assert "one RULE" in run(is_fresh=True).stdout
    assert analysed(run("-v", is_fresh=True)) == 0
    (project / "words" / "tensorflow_words.py").write_text("WORD = 'two'\n")
    shutil.rmtree(project / "words" / "__pycache__", ignore_errors=True)
    assert "two RULE" in run(is_fresh=True).stdout
    (project / "own" / "named.py").write_text(RULE.replace("RULE", "LAW").replace("LAW)", "RULE)"))
    assert "two LAW" in run(is_fresh=True).stdout


def test_a_cache_that_somebody_else_wrote_runs_nothing_and_breaks_nothing(project: Path) -> None:
    first = run()
    for path in records(project / ".gpulint_cache"):
        path.write_bytes(b"cos\nsystem\n(S'touch owned'\ntR.")
    assert run().stdout == first.stdout
    for path in records(project / ".gpulint_cache"):
        content = json.dumps([[{}, []], ["not", {"what": "it"}, 1]]).encode()
        from gpulint.linting.provenance import digest

        path.write_bytes(digest(content).encode() + b"\n" + content)
    assert run().stdout == first.stdout
    assert not (project / "owned").exists()


def test_clean_deletes_caches_and_nothing_else(project: Path) -> None:
    (project / "inner").mkdir()
    (project / "inner" / "gpulint.toml").write_text("")
    (project / "inner" / "program.py").write_text(PINNED)
    (project / "mine" / ".gpulint_cache").mkdir(parents=True)
    run()
    cleaned = run(command="clean")
    assert cleaned.returncode == 0 and cleaned.stdout.count("Removing") == 2
    assert not (project / ".gpulint_cache").exists() and not (project / "inner" / ".gpulint_cache").exists()
    assert (project / "mine" / ".gpulint_cache").exists()
    assert analysed(run("-v")) == 2


def test_a_cached_run_imports_neither_the_analysis_nor_the_rules(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import tensorflow as tf\n\nwith tf.device('/gpu:0'):\n    x = tf.zeros(4)\n")
    program = (
        "import sys\nfrom gpulint.cli.main import main\ntry:\n    main(['check', '.'])\nexcept SystemExit:\n    pass\n"
        "print([name for name in ('gpulint.analysis', 'gpulint.rules', 'libcst') if name in sys.modules])\n"
    )
    command = [sys.executable, "-c", program]
    outs = [subprocess.run(command, cwd=tmp_path, capture_output=True, text=True).stdout for _ in range(2)]
    assert "GPU101" in outs[1] and outs[1].endswith("[]\n")
