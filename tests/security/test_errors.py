"""For any settings, arguments and files, a command ends with status 0, 1 or 2 and without a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gpulint.cli.main import COMMANDS, main
from gpulint.settings import OPTIONS

PROGRAM = 'import tensorflow as tf\n\nwith tf.device("/gpu:0"):\n    x = tf.zeros(4)\n'

HUGE = "0x" + "f" * 9000
"""A number that Python can parse, but refuses to print in decimal."""

VALUES = [
    '""', '"\\u0000x"', f'"{"x" * 5000}"', '"../../.."', '"/dev/zero"', '"~"', '"\\u001b[31m\\n::error::x"',
    '"**/**/[!"', "-1", "0", str(10**30), HUGE, "1e300", "nan", "-inf", "true", "1979-05-27",
    "07:32:00", "[]", '[""]', '["\\u0000"]',
    '["[", "]", "!", "\\\\", "**", "../x"]', f"[{HUGE}]", "[" * 200 + "]" * 200, "{}", '{"" = ""}',
    '{"\\u0000" = "python"}',
    '{py = "python", "" = "ipynb"}', '{"[" = ["GPU101"], "\\u0000" = []}', '{GPU101 = "off", "" = "error"}',
]  # fmt: skip


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gpulint.linting.workers.FORKS", False)  # hundreds of checks of a short file
    (tmp_path / "train.py").write_text(PROGRAM)
    (tmp_path / "plain.py").write_text("x = 1\n")
    return tmp_path


def run(*arguments: str, stdin: bytes | None = None) -> Result:
    """The result of a command, which must not raise or report an internal error."""
    done = CliRunner().invoke(main, arguments, input=stdin)
    assert done.exit_code in (0, 1, 2) and isinstance(done.exception, (SystemExit, type(None))), done.output[-2000:]
    assert "internal error" not in done.stderr and "Traceback" not in done.output, done.stderr
    return done


# ----------------------------------------------------------------------------------- settings


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.full)
def test_a_setting_is_taken_or_refused_in_one_line(project: Path, option: Any) -> None:
    for value in VALUES:
        (project / "gpulint.toml").write_text(f"{option.full} = {value}\n")
        done = run("check", "--no-cache", "plain.py")
        assert done.stderr.count("\n") <= 1, (value, done.stderr)
        if done.exit_code == 2 and "gpulint.toml" in done.stderr:
            assert "gpulint.toml:1: " in done.stderr or "gpulint.toml: " in done.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('\nbaseline = "\\u0000x"', "gpulint.toml:2: `baseline` must be a string without NUL, not '\\x00x'"),
        (
            "max-file-seconds = 10" + "0" * 30,
            "gpulint.toml:1: `max-file-seconds` must be a whole number from 0 on, 100",
        ),
        ("lint = 3", "gpulint.toml:1: unknown key `lint`"),
        (
            "[lint]\nselect = ['\\u0000']".replace("'", '"'),
            "gpulint.toml:2: `lint.select` must be a list of strings with",
        ),
        ("max-warnings = 1979-05-27", "gpulint.toml:1: `max-warnings` must be a whole number from 0 on, or -1, not "),
        ("probe.leak = nan", "`probe.leak` must be a number from 0 on, not nan"),
        (
            f"max-file-size = {HUGE}",
            "gpulint.toml:1: `max-file-size` must be a whole number from 0 on, 100,000,000 at most",
        ),
        ("a" * 5000 + " = 1", "unknown key `aaa"),
        ("a" * 900_000 + " = 1", "unknown key `aaa"),
        ("lint.select = ['" + "A" * 900_000 + "']", "select: there is no rule `AAA"),
        ("output-format = '" + "A" * 900_000 + "'", "there is no format `AAA"),
        ("output-format." + "a." * 900 + "a = 1", "a key has more than 20 parts"),
        ("output-format.a = 1", "`output-format` must be a string, not "),
    ],
)
def test_a_wrong_setting_is_named_with_its_row(project: Path, text: str, said: str) -> None:
    (project / "gpulint.toml").write_text(text)
    done = run("check", "--no-cache")
    assert done.exit_code == 2 and said in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert len(done.stderr) < 4_100


@pytest.mark.parametrize(
    "config",
    ["", "=", "a=", "lint.select=[", "a=" + "[" * 5000, "max-warnings=" + "9" * 5000, "nowhere.toml", ".", "a\0b",
     "\udcff=1", 'baseline="\\u0000"', "lint=3", "=\n=", "x" * 5000, "a." * 5000 + "a=1"],
)  # fmt: skip
def test_an_override_is_taken_or_refused_in_one_line(project: Path, config: str) -> None:
    done = run("check", "--no-cache", "--config", config)
    assert done.exit_code == 2 and done.stderr.count("\n") == 1, done.stderr


def test_files_that_extend_each_other_without_end_are_refused(project: Path) -> None:
    for number in range(2000):
        (project / f"{number}.toml").write_text(f"extend = '{number + 1}.toml'\n")
    (project / "gpulint.toml").write_text("extend = '0.toml'\n")
    done = run("check", "--no-cache")
    assert done.exit_code == 2 and "`extend` leads through more than 50 files" in done.stderr


# ---------------------------------------------------------------------------------- arguments

ODD = ["", "\udcff\udc80.py", "\x1b[31m\na.py", "a\0b.py", "x" * 300, "x/" * 3000, "**/[", "/dev/null", ".."]


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: ascii(odd[:12]))
@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "-n", "--isolated", "{}"),
        ("check", "-n", "--stdin-filename", "{}", "-"),
        ("check", "-n", "--diff", "--unsafe-fixes", "--stdin-filename", "{}", "-"),
        ("check", "-n", "--output-file", "{}", "plain.py"),
        ("check", "-n", "--baseline", "{}", "plain.py"),
        ("check", "-n", "--baseline", "{}", "--prune-baseline", "plain.py"),
        ("check", "-n", "--per-file-ignores", "{}:GPU1", "plain.py"),
        ("check", "-n", "--exclude", "{}", "plain.py"),
        ("check", "-n", "--extension", "{}:python", "plain.py"),
        ("check", "-n", "--select", "{}", "plain.py"),
        ("check", "--cache-dir", "{}", "plain.py"),
        ("plan", "{}"),
        ("rule", "{}"),
        ("config", "{}"),
    ],
    ids=" ".join,
)
def test_an_odd_argument_is_taken_or_refused(project: Path, arguments: tuple[str, ...], odd: str) -> None:
    if odd == ".." and arguments == ("check", "-n", "--isolated", "{}"):
        pytest.skip("other projects are above")
    run(*(word.replace("{}", odd) for word in arguments), stdin=PROGRAM.encode())


def test_standard_input_without_end_is_not_held(project: Path) -> None:
    done = run("check", "-n", "--config", "max-file-size=1", "-", stdin=b"#" * 1_000_001)
    assert (done.exit_code, done.stderr) == (2, "gpulint: standard input is larger than 1 MB (`max-file-size`)\n")
    assert run("check", "-n", "--config", "max-file-size=1", "-", stdin=b"#" * 1_000_000).exit_code == 0


def test_a_message_that_quotes_a_file_is_short(project: Path) -> None:
    (project / "train.py").write_text("# coding: " + "a" * 500_000 + "\n" + PROGRAM)
    done = run("check", "--no-cache", "--output-format", "concise", "train.py")
    assert "GPU001" in done.stdout and len(done.stdout) < 1_500


@pytest.mark.parametrize("jobs", ["0", "-1", "9" * 5000, "²", ""])
def test_a_wrong_number_of_processes_is_wrong_usage(project: Path, jobs: str) -> None:
    assert run("check", "--jobs", jobs).exit_code == 2
    assert run("check", "--max-warnings", "9" * 5000).exit_code == 2


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff\xfe", b"[]", b"{}", b"null", b'{"version": 1}', b'{"version": 1, "findings": {}}', b"[" * 100_000,
     b'{"version": 1, "findings": [{"path": 1}]}', b'{"version": ' + b"9" * 5000 + b', "findings": []}',
     b'{"version": [["x"]], "findings": []}', b'{"version": 1, "findings": [null]}',
     b'{"version": 1e999, "findings": []}', b'{"version": 2, "findings": []}', b"\x00" * 1000],
    ids=lambda content: ascii(content[:40]),
)  # fmt: skip
@pytest.mark.parametrize("option", ["--baseline", "--write-baseline", "--prune-baseline", "--fix"])
def test_a_broken_baseline_is_one_line_and_stays(project: Path, content: bytes, option: str) -> None:
    (project / "known.json").write_bytes(content)
    done = run("check", "-n", "--baseline", "known.json", *([] if option == "--baseline" else [option]), "plain.py")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1) and done.stderr.startswith("gpulint: known.json:")
    assert (project / "known.json").read_bytes() == content


def test_entries_of_a_baseline_may_name_anything(project: Path) -> None:
    entry = '{"path": "%s", "code": "\\u001b[31m", "context": "", "fingerprint": "x"}'
    paths = ["", "\\u0000", "\\ud800", "/etc/passwd", "../" * 2000, "a\\n::error::x"]
    (project / "known.json").write_text(f'{{"version": 1, "findings": [{", ".join(entry % path for path in paths)}]}}')
    done = run("check", "-n", "--baseline", "known.json", "plain.py")
    assert done.exit_code == 0 and done.stderr.count("\n") == 1 and "\x1b" not in done.stderr
    assert run("check", "-n", "--baseline", "known.json", "--prune-baseline", "plain.py").exit_code == 0


# -------------------------------------------------------------------------- what nobody expects


def test_an_unexpected_exception_is_one_line(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> str:
        raise RuntimeError("a\x1b[31m\n::error::b")

    for name in COMMANDS:
        command = main.get_command(None, name)  # type: ignore[arg-type]
        assert command is not None
        monkeypatch.setattr(command, "parse_args", lambda ctx, words: [])
        monkeypatch.setattr(command, "invoke", lambda ctx: fail())
        done = CliRunner().invoke(main, [name])
        assert done.exit_code == 2 and done.stdout == "", name
        assert done.stderr.startswith("gpulint: internal error: RuntimeError: a"), done.stderr
        assert done.stderr.count("\n") == 1 and "(test_errors.py:" in done.stderr and "\x1b" not in done.stderr
    shown = CliRunner().invoke(main, ["check", "-v"]).stderr
    assert "Traceback (most recent call last):\n" in shown and "\x1b" not in shown and "\n::" not in shown


def test_an_interrupt_is_no_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(ctx: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(main.get_command(None, "version"), "invoke", interrupt)  # type: ignore[arg-type]
    done = CliRunner().invoke(main, ["version"])
    assert done.exit_code == 1 and done.stderr.strip() == "Aborted!"


@pytest.mark.skipif(sys.platform == "win32", reason="a shell and its devices")
@pytest.mark.parametrize(
    ("command", "where", "statuses"),
    [
        ("check -n --isolated --output-format json", "| head -c 1 >/dev/null; exit ${PIPESTATUS[0]}", {0, 1}),
        ("check -n --isolated --output-format json", ">&-", {0, 1, 2}),
        ("check -n --isolated --diff --unsafe-fixes", ">/dev/full", {2}),
        ("plan many.py", "| head -c 1 >/dev/null; exit ${PIPESTATUS[0]}", {0, 1}),
        ("plan many.py", ">/dev/full", {2}),
    ],
)
def test_a_reader_that_goes_away_and_a_full_disk_are_no_traceback(
    project: Path, command: str, where: str, statuses: set[int]
) -> None:
    if where == ">/dev/full" and not os.path.exists("/dev/full"):
        pytest.skip("no device that is full")
    (project / "many.py").write_text(PROGRAM + 'with tf.device("/gpu:0"):\n    x = tf.zeros(4)\n' * 200)
    line = ["bash", "-c", f"{sys.executable} -m gpulint {command} {where}"]
    done = subprocess.run(line, cwd=project, capture_output=True, text=True, timeout=60, check=False)
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr, done.stderr
    assert done.returncode in statuses
    if where == ">/dev/full":
        assert done.stderr.count("\n") <= 2 and "No space left" in done.stderr, done.stderr
    else:
        assert "internal error" not in done.stderr


def test_a_narrow_encoding_is_no_error(project: Path) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    line = [sys.executable, "-m", "gpulint", "plan", "train.py"]
    done = subprocess.run(line, cwd=project, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "") and 'with tf.device("/gpu:0"):' in done.stdout
