"""Completion in real shells, with the scripts that gpulint prints for them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from gpulint.cli.main import COMMANDS, main
from tests.checking import PACK

ROOT = Path(__file__).resolve().parents[2]
FROM_BASH = """
eval "$(gpulint generate-shell-completion bash)"
compopt() { :; }
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_gpulint_completion gpulint
printf '%s\\n' "${COMPREPLY[@]}"
"""
FROM_ZSH = """
compdef() { :; }
_describe() { local -a found=("${(@P)3}"); print -l -- "${found[@]%%:*}" }
compadd() { local -a found=("${(@P)argv[-1]}"); print -l -- "${found[@]}" }
eval "$(gpulint generate-shell-completion zsh)"
words=("$@") CURRENT=$#
_gpulint_completion
"""
FROM_FISH = """
gpulint generate-shell-completion fish | source
complete --do-complete "$argv" | string split --fields 1 \\t
"""

Complete = Callable[..., list[str]]


@pytest.fixture(params=["bash", "zsh", "fish"])
def complete(request: pytest.FixtureRequest, tmp_path: Path) -> Complete:
    """What a shell offers for the last of some words."""
    shell = request.param
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    program = tmp_path / "bin" / "gpulint"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\nfrom gpulint.cli.main import main\n\nmain(prog_name='gpulint')\n")
    program.chmod(0o755)
    (tmp_path / "train.py").write_text("")
    environment = {
        **os.environ,
        "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))),
        "HOME": str(tmp_path),
    }

    def asked(*words: str) -> list[str]:
        command = {
            "bash": ["bash", "--norc", "-c", FROM_BASH, "bash", "gpulint", *words],
            "zsh": ["zsh", "-f", "-c", FROM_ZSH, "zsh", "gpulint", *words],
            "fish": ["fish", "--no-config", "-c", FROM_FISH, " ".join(("gpulint", *words))],
        }[shell]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
        assert done.stderr == "", done.stderr
        return [line for line in done.stdout.splitlines() if line]

    return asked


def test_each_shell_completes_with_the_script_it_is_given(complete: Complete) -> None:
    assert complete("pro") == ["probe"]
    assert complete("check", "--output-format", "json") == ["json", "json-full", "json-lines"]
    assert complete("check", "--ignore", "GPU1,model-o") == ["GPU1,model-outside-scope"]


def offered(*words: str) -> list[str]:
    """What is offered for the last of some words."""
    *before, last = words
    shell = ShellComplete(main, {}, "gpulint", "_GPULINT_COMPLETE")
    return [item.value for item in shell.get_completions(list(before), last)]


def test_options_rules_and_settings_are_completed() -> None:
    assert offered("check", "--unsafe") == ["--unsafe-fixes"]
    assert offered("rule", "gpu60") == sorted(rule.code for rule in PACK if rule.code.startswith("GPU60"))
    assert offered("explain", "model-o") == ["model-outside-scope"]
    assert offered("check", "--select", "AL") == ["ALL"]
    assert offered("config", "lint.sel") == ["lint.select"]
    assert "GPU101" in offered("rule", "") and "hardcoded-device" not in offered("rule", "")


def test_every_command_is_offered() -> None:
    assert [name for name in offered("") if not name.startswith("-")] == list(COMMANDS)


def test_rules_of_the_project_are_offered_while_they_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GPULINT_TRUST", str(tmp_path))
    (tmp_path / "gpulint.toml").write_text('rule-paths = ["lint"]\n')
    (tmp_path / "lint").mkdir()
    (tmp_path / "lint" / "small.py").write_text(
        'from gpulint.plugin import Rule, Severity\n\n\nclass SmallBatch(Rule):\n    "Batch too small"\n\n'
        "    code = 'ACM001'\n    name = 'small-batch'\n    severity = Severity.WARNING\n    why = instead = 'x'\n"
    )
    assert offered("rule", "ACM") == ["ACM001"]
    (tmp_path / "lint" / "small.py").write_text("import nowhere\n")
    assert offered("rule", "ACM") == []
    assert offered("rule", "GPU70") == ["GPU701", "GPU702", "GPU703", "GPU704", "GPU705", "GPU706"]
