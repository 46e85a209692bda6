"""Terminals and CI systems obey nothing that a command prints, whatever a repository contains."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from gpulint.cli import watching
from gpulint.cli.main import main
from gpulint.output.escapes import printable_block, toml_string
from gpulint.output.formats import NAMES as FORMATS
from tests.notebooks import notebook
from tests.output.readers import azure_command, github_command

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such file names")

COMMANDS = (
    "\x1b[31m",
    "\x1b]0;t\x07",
    "\x9b2J",
    "\u202e",
    "##vso[task.complete]",
    "##[error]",
    "##teamcity[x]",
    "\x7f\x08",
)
NAMES = [
    "::error::a.py", "\n::error::b.py", "\r::warning::c.py", " \t::notice::d.py", "##vso[task.setvariable]e.py",
    "##[group]f.py", "##teamcity[x 'y']g.py", "\x1b[2J\x1b]0;t\x07h.py", "\u202e\u2066i.py", "\udcff\udc9bj.py",
    "a\"b\\c'##vso[k.py",
]  # fmt: skip
HOSTILE = " ".join(COMMANDS)
PROGRAM = f"""import os
import tensorflow as tf
# {HOSTILE}
'''
::error::of a text
\t::error::behind blanks
{HOSTILE}
'''
os.environ["CUDA_VISIBLE_DEVICES"] = 0  # {HOSTILE}
with tf.device("/gpu:0{HOSTILE.replace(chr(34), "")}"):
    x = tf.zeros(4, name="{HOSTILE}")
model = tf.keras.Sequential([tf.keras.layers.Dense(1, name="{HOSTILE}")], name="{HOSTILE}")
"""
OPTIONS = ("check", "--isolated", "--no-cache")


def obeyed(text: str) -> list[str]:
    """The parts of a text that a terminal, GitHub, Azure Pipelines or TeamCity obeys."""
    found = re.findall("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", text)
    return found + re.findall(r"(?m)##\w*\[|^[ \t]*::(?! )", text)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = tmp_path_factory.mktemp("hostile")
    for name in NAMES:
        (project / name).write_text(PROGRAM)
    (project / "folder\n::error::x").mkdir()
    (project / "folder\n::error::x" / "a.py").write_text(PROGRAM)
    (project / "##[a].ipynb").write_text(notebook("import os\nimport tensorflow as tf", PROGRAM + "x = '\r::error::x'"))
    (project / "##vso[broken]\n::error::y.py").write_text(f"import tensorflow as tf\nx = '{HOSTILE}\n::error::c\n")
    return project


def run(project: Path, *arguments: str, stdin: str | None = None) -> tuple[str, str]:
    before = os.getcwd()
    os.chdir(project)
    try:
        done = CliRunner().invoke(main, arguments, input=stdin)
    finally:
        os.chdir(before)
    assert isinstance(done.exception, (SystemExit, type(None))), done.exception
    assert obeyed(done.stderr_bytes.decode()) == []
    return done.stdout_bytes.decode("utf-8", "surrogateescape"), done.stderr_bytes.decode()


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("more", [(), ("--statistics",)], ids=["findings", "statistics"])
def test_every_format(project: Path, form: str, more: tuple[str, ...]) -> None:
    out, _ = run(project, *OPTIONS, "--output-format", form, *more)
    assert out
    if more or form not in ("github", "azure"):
        assert obeyed(out) == []
        return
    for line in out.splitlines():
        command = github_command(line) if form == "github" else azure_command(line)
        assert command is not None and command.name in ("error", "warning", "notice", "task.logissue")
        assert obeyed(line.removeprefix("::").removeprefix("##vso[")) == []


@pytest.mark.parametrize(
    "more", [("--show-files",), ("--diff", "--unsafe-fixes"), ("-v",), ("--add-ignore=x",)], ids=str
)
def test_every_listing(project: Path, tmp_path: Path, more: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    copy = tmp_path / "copy"
    shutil.copytree(project, copy)
    out, err = run(copy, *OPTIONS, *more)
    assert obeyed(out) == [] and out + err


@pytest.mark.parametrize("form", ["text", "json"])
def test_plans(project: Path, form: str) -> None:
    for path in sorted(project.glob("**/*.*"), key=os.fsencode):
        out, err = run(project, "plan", "--output-format", form, "--", str(path.relative_to(project)))
        assert obeyed(out) == [] and out + err
        if form == "json" and out:
            json.loads(out)


def test_settings(tmp_path: Path) -> None:
    settings = {
        "baseline": HOSTILE + "\n::error::x",
        "src": ["::error::x", "\n::error::y\\", '"'],
        "extension": {"##vso[x]": "python", "\n": "ipynb"},
    }
    folder = tmp_path / "##[x]\n::error::"
    folder.mkdir()
    table = "".join(
        f"{toml_string(key)} = {toml_string(value)}\n"
        for key, value in ((key, value) for key, value in settings.items() if isinstance(value, str))
    )
    table += f"src = [{', '.join(map(toml_string, settings['src']))}]\n[extension]\n"
    table += "".join(
        f"{toml_string(key)} = {toml_string(value)}\n" for key, value in dict(settings["extension"]).items()
    )
    (folder / "gpulint.toml").write_text(table)
    (folder / "a.py").write_text("")
    out, _ = run(folder, "check", "--show-settings")
    assert obeyed(out) == []
    read = tomllib.loads(out)
    assert {key: read[key] for key in settings} == settings


@pytest.mark.parametrize("name", [*NAMES, HOSTILE], ids=ascii)
def test_messages(project: Path, tmp_path: Path, name: str) -> None:
    for arguments in (
        ("check", f"{name}.nowhere"),
        ("check", f"--{name}"),
        ("check", "--output-format", name),
        ("check", "--select", name),
        ("check", "--config", name),
        ("check", "--config", f"lint.select=[{json.dumps(name)}]"),
        ("check", "--since", name),
        ("check", "--baseline", f"nowhere/{name}"),
        ("check", "--per-file-ignores", name),
        ("check", "--extension", name),
        ("check", "-o", f"nowhere/{name}"),
        ("check", "--jobs", name),
        ("plan", f"{name}.nowhere"),
        ("rule", name),
        ("config", name),
        (name,),
        (f"--{name}",),
    ):
        out, err = run(tmp_path, *arguments)
        assert obeyed(out) == [] and err, arguments


def test_stale_entries_of_a_baseline(tmp_path: Path) -> None:
    entries = [{"path": name, "code": HOSTILE, "context": name, "fingerprint": name} for name in NAMES[:3]]
    (tmp_path / "##[x]\n.json").write_text(json.dumps({"version": 1, "findings": entries}))
    (tmp_path / "a.py").write_text("")
    _, err = run(tmp_path, *OPTIONS, "--baseline", "##[x]\n.json")
    assert err.count("\n") == 1 and "error" in err


def test_changed_files_of_a_watch(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    watchfiles = pytest.importorskip("watchfiles")
    changes = [{(watchfiles.Change.modified, os.path.abspath(name)) for name in NAMES}]
    monkeypatch.setattr(watchfiles, "watch", lambda *paths, **options: iter(changes))
    watching.repeat((), lambda: None)
    assert obeyed(capsys.readouterr().err) == []


def test_a_rule_that_raises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "own.py").write_text(RULE)
    (tmp_path / "gpulint.toml").write_text("rule-paths = ['rules']\n")
    (tmp_path / "a.py").write_text("import tensorflow as tf\n\nx = tf.zeros(4)\n")
    monkeypatch.setenv("GPULINT_TRUST", str(tmp_path))
    out, err = run(tmp_path, "check", "-n", "-v", "a.py")
    assert obeyed(out) == [] and "Traceback (most recent call last)" in err
    for form in ("text", "json"):
        assert obeyed(run(tmp_path, "rule", "OWN001", "--output-format", form)[0]) == []
        assert obeyed(run(tmp_path, "rule", "--all", "--output-format", form)[0]) == []


RULE = '''
from gpulint.plugin import Report, Rule, Severity


class Own(Rule):
    """\\x1b[31m ##vso[x]

    \\n::error::x ##[y]
    """

    code, name, severity = "OWN001", "own", Severity.WARNING
    why = instead = "\\n::error::x ##vso[y]"

    def on_end(self, plan):
        raise ValueError("\\x1b[31m\\n::error::x ##vso[y]")
'''

# --------------------------------------------------------------------------------- diffs


FIXABLE = (
    f"# {HOSTILE}\n'''\n::error::x\n'''\nimport os\nimport tensorflow as tf\nos.environ['CUDA_VISIBLE_DEVICES'] = 0\n"
)


@pytest.fixture
def fixable(tmp_path: Path) -> Path:
    folder = tmp_path / "fixable"
    folder.mkdir()
    for name in NAMES:
        (folder / name).write_text(FIXABLE)
    return folder


def difference(folder: Path, stdout: int, **environment: str) -> bytes:
    """The diff, printed to a pipe or to `stdout`."""
    bare = {key: value for key, value in os.environ.items() if key not in ("CI", "GITHUB_ACTIONS", "TF_BUILD")}
    line = [sys.executable, "-m", "gpulint", *OPTIONS, "--diff"]
    done = subprocess.run(
        line, cwd=folder, env={**bare, **environment}, stdout=stdout, stderr=subprocess.PIPE, check=False, timeout=60
    )
    assert done.returncode == 1 and b"Would fix" in done.stderr and obeyed(done.stderr.decode()) == []
    return done.stdout or b""


@pytest.mark.skipif(shutil.which("git") is None, reason="git is what reads the diff")
def test_git_applies_a_diff_in_a_pipe_or_file_and_no_name_in_it_is_obeyed(fixable: Path, tmp_path: Path) -> None:
    diff = difference(fixable, subprocess.PIPE)
    with open(tmp_path / "diff", "wb") as file:
        difference(fixable, file.fileno(), CI="true")
    assert (tmp_path / "diff").read_bytes() == diff
    heads = [line for line in diff.decode().split("\n") if line.startswith(("--- ", "+++ "))]
    assert len(heads) == 2 * len(NAMES) and obeyed("\n".join(heads)) == []
    subprocess.run(["git", "apply", "-p0", "--unsafe-paths", "-"], cwd=fixable, input=diff, check=True)
    assert sorted(os.listdir(fixable)) == sorted(NAMES)
    assert {path.read_text() for path in fixable.iterdir()} == {FIXABLE.replace("] = 0", "] = '0'")}


@pytest.mark.parametrize("variable", ["CI", "GITHUB_ACTIONS", "TF_BUILD"])
def test_a_diff_in_a_log_of_ci_is_not_obeyed(fixable: Path, variable: str) -> None:
    diff = difference(fixable, subprocess.PIPE, **{variable: "true"}).decode()
    assert obeyed(diff) == [] and diff.count("+os.environ") == len(NAMES)


def test_a_diff_on_a_terminal_is_not_obeyed(fixable: Path) -> None:
    import pty

    ours, theirs = pty.openpty()
    (fixable / NAMES[0]).rename(fixable / "a.py")
    for name in NAMES[1:]:  # a terminal buffers little until it is read
        (fixable / name).unlink()
    difference(fixable, theirs)
    os.close(theirs)
    shown = os.read(ours, 100_000).decode().replace("\r\n", "\n")
    os.close(ours)
    assert obeyed(shown) == [] and "+os.environ" in shown


def test_a_diff_that_nothing_obeys_is_for_patch_even_in_ci(tmp_path: Path) -> None:
    text = "import os\r\nimport tensorflow as tf\r\nif os:\r\n\tos.environ['CUDA_VISIBLE_DEVICES'] = 0  # é\r\n"
    (tmp_path / "a.py").write_bytes(text.encode())
    diff = difference(tmp_path, subprocess.PIPE, CI="true")
    assert diff == difference(tmp_path, subprocess.PIPE)


# ------------------------------------------------------------------------------- the parts


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("::error::x", "\ufffd:error::x"),
        ("a\n\t ::error::x\r::b", "a\n\t \ufffd:error::x\r\ufffd:b"),
        ("a ::b\n c::d", "a ::b\n c::d"),
        ("##vso[x ##[y ##teamcity[z ## [", "##vso\ufffdx ##\ufffdy ##teamcity\ufffdz ## ["),
        ("a\tb\r\n\x0c\x1b", "a\tb\r\n\ufffd\ufffd"),
    ],
)
def test_a_block_keeps_what_nothing_obeys(text: str, shown: str) -> None:
    assert printable_block(text) == shown


@pytest.mark.parametrize("text", [*NAMES[:-2], HOSTILE, "\\", '"', "\\##[x", "é\U0001f600"], ids=ascii)
def test_a_string_of_toml_is_read_back(text: str) -> None:
    assert obeyed(toml_string(text)) == [] and tomllib.loads(f"a = {toml_string(text)}") == {
        "a": text.encode(errors="replace").decode()
    }
