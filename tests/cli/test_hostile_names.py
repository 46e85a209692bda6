"""File names and source that look like commands: they neither break the output nor take effect."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote_to_bytes

import pytest
from click.testing import CliRunner

from gpulint.cli.main import main
from gpulint.output.formats import NAMES as FORMATS
from tests.output.readers import azure_command, github_command, old_github_command

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such file names")

NAMES = [
    b"a\nb.py", b"\x1b[31mred\x1b]0;title\x07.py", b"<img src=x onerror=alert(1)>.py", b"a,line=9::x.py",
    b"a;b|c.py", b"{}.py", b'"q" \'q\'.py',
    b"100%0A%25.py", b"-n.py", b"--fix.py", b"\xff\xfe.py", b"::error::x.py", b"##vso[task.complete]y.py", b"]]>.py",
    b"\xe2\x80\xaegnp.py", b"back\\slash.py", b" lead.py", b"&amp;.py", b"${HOME}`id`.py", b"\r.py",
]  # fmt: skip
PROGRAM = (
    "import tensorflow as tf\n\n\ndef é(s):\n    "
    "with tf.device('/gpu:0'):  # \x1b[31m\x07 ::error::c ##vso[x]c <script>\n"
    "        return tf.zeros(4, name='\x1b]0;t\x07 <b>&\u202e ##vso[task.complete]')\n\n\nopt = "
    "tf.keras.optimizers.Adam(name='\x1b[31m')\n'''\n::error::injected\n##[error]injected\n'''\n"
)
FIXABLE = "import tensorflow as tf\n\nwith tf.device('/gpu:0'):\n    x = '\x1b[31m --- a.py'\n    y = tf.zeros(4)\n"
BROKEN = b"import tensorflow as tf\nx = '\x1b[31m\n::error::c ##vso[x]\n"


OF_CI = ("CI", "GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION")
"""If one of these is set, commands to the CI system are replaced in a diff."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = tmp_path_factory.mktemp("hostile")
    for name in NAMES:
        (project / os.fsdecode(name)).write_text(PROGRAM)
    (project / "\x1b[2Jbroken\n.py").write_bytes(BROKEN)
    return project


def run(project: Path, *arguments: str, status: int = 1) -> tuple[str, str]:
    """The command's output, which must have no byte with a meaning to a terminal, and its errors."""
    before = os.getcwd()
    os.chdir(project)
    try:
        done = CliRunner().invoke(main, arguments)
    finally:
        os.chdir(before)
    out, err = done.stdout_bytes.decode("utf-8"), done.stderr_bytes.decode("utf-8")
    assert done.exit_code == status and done.exception.__class__ in (SystemExit, type(None)), err
    for text in (out, err):
        assert not re.findall("[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text)
    return out, err


COUNTED: dict[str, Callable[[str], int]] = {
    "text": lambda text: len(re.findall(r"(?m)^warning\[GPU101\]", text)),
    "full": lambda text: len(re.findall(r"(?m)^warning\[GPU101\]", text)),
    "concise": lambda text: len(re.findall(r"(?m):5:10: warning\[GPU101\] ", text)),
    "grouped": lambda text: len(re.findall(r"(?m)^ +5:10 +warning\[GPU101\] ", text)),
    "pylint": lambda text: len(re.findall(r"(?m):5: \[GPU101\(", text)),
    "json": lambda text: sum(one["code"] == "GPU101" for one in json.loads(text)),
    "json-full": lambda text: sum(one["code"] == "GPU101" for one in json.loads(text)["findings"]),
    "json-lines": lambda text: sum(json.loads(one)["code"] == "GPU101" for one in text.splitlines()),
    "sarif": lambda text: sum(one["ruleId"] == "GPU101" for one in json.loads(text)["runs"][0]["results"]),
    "gitlab": lambda text: sum(one["check_name"] == "hardcoded-device" for one in json.loads(text)),
    "rdjson": lambda text: sum(one["code"]["value"] == "GPU101" for one in json.loads(text)["diagnostics"]),
    "junit": lambda text: sum(
        case.get("name", "").startswith("GPU101 hardcoded-device") and case.find("failure") is not None
        for case in ElementTree.fromstring(text).findall(".//testcase[@line='5']")
    ),
    "github": lambda text: sum("GPU101" in (github_command(one) or ("", {}, ""))[2] for one in text.splitlines()),
    "azure": lambda text: sum(
        (azure_command(one) or ("", {"code": ""}, ""))[1]["code"] == "GPU101" for one in text.splitlines()
    ),
}
"""Number of findings that the reader of each format finds."""


@pytest.mark.parametrize("form", FORMATS)
def test_the_reader_of_each_format_finds_every_file_and_nothing_else(form: str, project: Path) -> None:
    text, _ = run(project, "check", "--isolated", "--output-format", form)
    assert COUNTED[form](text) == len(NAMES)
    assert text.count("injected") == 0
    if form != "azure":
        assert not any(azure_command(line) or old_github_command(line) for line in text.splitlines())
    if form != "github":
        assert not any(github_command(line) for line in text.splitlines())


def test_sarif_has_the_bytes_of_every_name(project: Path) -> None:
    text, _ = run(project, "check", "--isolated", "--output-format", "sarif")
    results = [one for one in json.loads(text)["runs"][0]["results"] if one["ruleId"] == "GPU101"]
    uris = [one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for one in results]
    assert sorted(map(unquote_to_bytes, uris)) == sorted(NAMES)


def test_what_is_reported_beside_the_findings_is_one_line_each(project: Path) -> None:
    out, _ = run(project, "check", "--show-files", status=0)
    assert len(out.splitlines()) == len(NAMES) + 1 and out.count("\N{REPLACEMENT CHARACTER}") > 5
    _, err = run(project, "check", "\x1b[31mnowhere\n::error::x.py")
    assert len(err.splitlines()) == 1
    _, err = run(project, "check", "--config", "\x1b[31m\n.toml", status=2)
    assert len(err.splitlines()) == 1
    out, _ = run(project, "check", "--statistics")
    assert {line.split("\t")[1] for line in out.splitlines()} == {"GPU001", "GPU101"}


@pytest.mark.parametrize("name", NAMES, ids=repr)
def test_a_plan_is_shown_of_every_file(name: bytes, project: Path) -> None:
    out, _ = run(project, "plan", "--", os.fsdecode(name), status=0)
    assert "│ " in out and "/gpu:0" in out
    if name == NAMES[1]:
        written = json.loads(run(project, "plan", "--output-format", "json", "--", os.fsdecode(name), status=0)[0])
        assert written["notes"]


@pytest.mark.skipif(shutil.which("git") is None, reason="git is what reads the diff")
def test_a_diff_is_applied_by_git_whatever_the_files_are_called(project: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in NAMES:
        (copy / os.fsdecode(name)).write_text(FIXABLE)
    before = {path.name: path.read_bytes() for path in copy.iterdir()}
    environment = {key: value for key, value in os.environ.items() if key not in OF_CI}
    done = subprocess.run(
        [sys.executable, "-m", "gpulint", "check", "--isolated", "-n", "--diff", "--unsafe-fixes"],
        cwd=copy, capture_output=True, check=False, env=environment,
    )  # fmt: skip
    assert done.returncode == 1 and b"Traceback" not in done.stderr
    applied = subprocess.run(
        ["git", "apply", "-p0", "--unsafe-paths", "-"], cwd=copy, input=done.stdout, capture_output=True, check=False
    )
    assert applied.returncode == 0, applied.stderr
    changed = [name for name, data in before.items() if (copy / name).read_bytes() != data]
    assert sorted(os.fsencode(name) for name in changed) == sorted(NAMES)
    assert sorted(before) == sorted(path.name for path in copy.iterdir())
