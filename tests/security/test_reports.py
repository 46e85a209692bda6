"""Captures and placement logs from elsewhere: reports on them show nothing else of this machine, obey nobody, and are
written where the user said."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from time import process_time
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gpulint.cli.main import main
from gpulint.probe.capture import reader
from gpulint.probe.capture.records import Variable
from gpulint.probe.measures.leaks import is_created_repeatedly
from gpulint.probe.placement_log.log_file import capture_of_log
from gpulint.probe.report import FORMATS
from gpulint.sources.reading import open_stream
from tests.processes import gpulint_within
from tests.security.test_output import HOSTILE, obeyed

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links and pipes")

SECRET = "the text of a private key"
WORDS = f"{HOSTILE} \n::error::x </script><img src=x onerror=1> "


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "id_rsa").write_text(f"{SECRET}\n")
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "train.py").write_text("import tensorflow as tf\n\nx = tf.zeros(4)\n")
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


def capture(project: Path, main: str, *records: Mapping[str, Any] | str) -> None:
    start = [
        {"kind": "start", "version": 1, "t": 1.0, "pid": 1},
        {"kind": "process", "t": 1.0, "main": main, "argv": [main], "python": "3.11", "cwd": str(project)},
    ]
    end = {"kind": "end", "status": 0, "t": 9.0, "seconds": 8.0}
    rows = [one if isinstance(one, str) else json.dumps(one) for one in (*start, *records, end)]
    (project / "run.jsonl").write_text("".join(f"{row}\n" for row in rows))


def evidence(path: str) -> list[Mapping[str, Any]]:
    """Records that show a row of a file in a report."""
    return [
        {"kind": "file", "id": 1, "path": path},
        {"kind": "modules", "paths": [path]},
        {"kind": "retraces", "rows": [[1, 1, "f", True, "shape", "x", "y", 90]]},
        {"kind": "exit", "error": "ValueError: x", "where": [path, 1], "frames": [[path, 1, "f"]], "t": 2},
    ]


def replay(*options: str) -> Result:
    return CliRunner().invoke(main, ["probe", "--replay", "run.jsonl", *options])


def test_no_other_file_of_this_machine_is_shown(project: Path) -> None:
    path = str(project.parent / "home" / "id_rsa")
    capture(project, path, *evidence(path))
    done = replay("--html", "page.html", "-v")
    assert done.exit_code in (0, 1), done.output
    assert SECRET not in done.output and SECRET not in (project / "page.html").read_text()


@pytest.mark.parametrize("kind", ["pipe", "endless"])
def test_a_pipe_or_device_as_a_program_is_not_read(project: Path, kind: str) -> None:
    path = project / "other.py"
    os.mkfifo(path) if kind == "pipe" else path.symlink_to("/dev/zero")
    capture(project, str(path), *evidence(str(path)))
    assert replay("--html", "page.html").exit_code in (0, 1)


HOSTILE_RECORDS = [
    {"kind": "file", "id": 1, "path": WORDS},
    {"kind": "retraces", "rows": [[1, 1, WORDS, True, WORDS, WORDS, WORDS, 90]]},
    {"kind": "exit", "error": WORDS, "where": [WORDS, 1], "frames": [[WORDS, 1, WORDS]], "t": 2},
    {"kind": "fault", "where": WORDS, "error": WORDS},
    {"kind": "lost", "evidence": WORDS, "reason": WORDS},
    {"kind": "keras", "version": WORDS},
    {"kind": "source", "path": WORDS, "modified": 0, "digest": "", "text": WORDS},
    {"kind": "variable", "name": WORDS, "shape": [1], "dtype": WORDS, "bytes": 9, "device": WORDS, "where": [WORDS, 1]},
    {"kind": "function", "name": WORDS, "where": [WORDS, 1], "traces": 90, "jit": False, "device": WORDS, "at": [1]},
    {"kind": "environment", "moment": "runtime", "values": {"TF_CONFIG": WORDS, "CUDA_VISIBLE_DEVICES": WORDS}},
    {"kind": "worker", "job": WORDS, "index": 0, "launcher": WORDS, "tasks": [[WORDS, 0]]},
]


@pytest.mark.parametrize("form", FORMATS)
def test_no_report_is_obeyed(project: Path, form: str) -> None:
    capture(project, WORDS, *HOSTILE_RECORDS)
    done = replay("--output-format", form, "--html", "page.html", "-v")
    lines = [row for row in done.stdout.splitlines() if form != "github" or not row.startswith("::")]
    assert done.exit_code in (0, 1, 2) and len(done.stdout) > 100
    assert obeyed("\n".join(lines)) == [] and obeyed(done.stderr) == []
    page = (project / "page.html").read_text()
    assert "onerror" in page and "<img" not in page and page.count("</script>") == page.count("<script")


def test_damaged_rows_are_counted(project: Path) -> None:
    capture(project, "train.py", "[" * 100_000, "null", '{"kind": ["x"]}', '{"kind": "memory", "t": [], "devices": 5}')
    assert replay().exit_code == 0


@pytest.mark.parametrize("option", ["--html", "--trace", "-o"])
@pytest.mark.parametrize("planted", ["link", "folder", "pipe"])
def test_a_report_is_not_written_through_what_the_project_planted(project: Path, option: str, planted: str) -> None:
    capture(project, "train.py")
    name = "page.html"
    if planted == "link":
        (project / name).symlink_to("../home/id_rsa")
    elif planted == "folder":
        (project / "out").symlink_to("../home")
        name = "out/id_rsa"
    else:
        os.mkfifo(project / name)
    done = replay(option, name)
    assert (done.exit_code, done.stdout) == (2, "") and "left as it is" in done.stderr, done.output
    assert (project.parent / "home" / "id_rsa").read_text() == f"{SECRET}\n"


@pytest.mark.parametrize("planted", ["directory", "file"])
def test_a_log_directory_is_not_written_through_what_the_project_planted(project: Path, planted: str) -> None:
    pytest.importorskip("tensorboard")
    capture(project, "train.py")
    home = project.parent / "home"
    assert replay("--tensorboard", "own").exit_code == 0
    (events,) = (project / "own").iterdir()
    if planted == "directory":
        (project / "logs").symlink_to("../home")
    else:
        (project / "logs").mkdir()
        (project / "logs" / events.name).symlink_to("../../home/id_rsa")
    done = replay("--tensorboard", "logs")
    assert done.exit_code == 2 and "left as it is" in done.stderr, done.output
    assert [(one.name, one.read_text()) for one in home.iterdir()] == [("id_rsa", f"{SECRET}\n")]


@pytest.mark.parametrize("pid", ["x/../../../home/evil", "../evil", 10**4000, ["x"], True, -1.5], ids=ascii)
def test_no_text_of_a_capture_names_a_file(project: Path, pid: object) -> None:
    pytest.importorskip("tensorboard")
    process = {"kind": "process", "t": 1.0, "pid": pid, "main": "train.py", "argv": [], "python": "", "cwd": "/"}
    capture(project, "train.py", process)
    done = replay("--tensorboard", "logs/run")
    written = [path for path in project.parent.rglob("*") if path.name not in ("train.py", "run.jsonl", "id_rsa")]
    assert (done.exit_code, done.stderr.count("\n")) in ((0, 0), (2, 1)), done.output
    assert all(path.is_dir() or path.parent == project / "logs" / "run" for path in written), written


DAMAGE: list[Mapping[str, Any]] = [
    {"kind": "file", "t": 1.0, "id": 1, "path": -1},
    {"kind": "end", "status": 0, "t": 9.0, "seconds": float("nan")},
    {"kind": "end", "signal": "x" * 9_999, "t": 9.0, "seconds": 8.0},
    {"kind": "devices", "t": 1.0, "physical": ["GPU:0"], "logical": ["GPU:" + "9" * 5_000, None]},
    {"kind": "host", "t": "x" * 9_999, "resident": [[]]},
]


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda one: str(one["kind"]))
@pytest.mark.parametrize("reported", [["--replay", "run.jsonl"], ["--compare", "run.jsonl", "run.jsonl"]], ids=str)
def test_a_damaged_capture_is_reported_or_one_short_line(
    project: Path, damage: Mapping[str, Any], reported: list[str]
) -> None:
    capture(project, "train.py", {"kind": "eager", "t": 2.0, "rows": [[1, 1, "x", 3]]}, damage)
    (project / "run.jsonl").write_text((project / "run.jsonl").read_text() + json.dumps(damage) + "\n")
    done = CliRunner().invoke(main, ["probe", *reported, "--exit-status", "program", "--html", "page.html"])
    assert "internal error" not in done.stderr and done.stderr.count("\n") <= 1, done.stderr
    assert len(done.stderr) < 600 and isinstance(done.exception, (SystemExit, type(None)))


def test_a_log_of_many_devices_takes_time_in_proportion(project: Path) -> None:
    device = "/job:localhost/replica:0/task:0/device:GPU:{0}"
    (project / "log").write_text("".join(f"n{one}: (Op{one}): {device.format(one)}\n" for one in range(3000)))
    done = CliRunner().invoke(main, ["probe", "--log", "log"])
    assert done.exit_code == 0 and "GPU:2999" in done.stdout


def test_long_names_in_a_log_take_time_in_proportion(project: Path) -> None:
    device = "/job:localhost/replica:0/task:0/device:GPU:0"
    row = f"! {'a' * 16_000}: (MatMul): {device}\n"
    (project / "log").write_text(f"n: (MatMul): {device}\n{row * 1_000}")
    done = gpulint_within(15, "probe", "--log", "log", cwd=project)
    assert done.returncode == 0 and "GPU:0" in done.stdout, done.stderr


def test_a_capture_of_many_or_huge_records_takes_time_in_proportion(project: Path) -> None:
    lost = [{"kind": "lost", "evidence": str(number), "reason": "r"} for number in range(60_000)]
    strategy = {"kind": "strategy", "class": "MirroredStrategy", "id": 1, "devices": [], "where": None}
    huge = {**strategy, "replicas": 10**10}
    capture(project, "train.py", *lost, huge, {"kind": "batch", "where": None, "size": 64})
    done = gpulint_within(20, "probe", "--replay", "run.jsonl", cwd=project)
    assert done.returncode in (0, 1) and done.stdout, done.stderr


def test_a_record_has_a_maximum_size(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "long.jsonl").write_text('{"kind": "start", "x": "' + "x" * 2_000)
    monkeypatch.setattr(reader, "MAX_RECORD", 1_000)
    with pytest.raises(reader.CaptureError, match="not a gpulint capture"):
        reader.read("long.jsonl")


def test_the_period_of_many_variables_is_found_in_one_pass() -> None:
    def variables(sizes: list[int]) -> list[Variable]:
        return [Variable("v", (), "float32", size, "GPU:0", None) for size in sizes]

    assert is_created_repeatedly(variables([1, 2, 3] * 3)) and is_created_repeatedly(variables([1] * 3))
    assert not is_created_repeatedly(variables([1, 2, 3] * 2)) and not is_created_repeatedly([])
    began = process_time()
    assert not is_created_repeatedly(variables([1] * 100_000 + [2]))
    assert process_time() - began < 10


def test_numbers_of_a_log_that_python_does_not_convert(project: Path) -> None:
    digits, device = "9" * 5_000, "/job:localhost/replica:0/task:0/device:GPU:0"
    created = f"Created device {device} with {{0}} MB memory:  -> device: {{1}}, name: A, pci bus id: 0000:00:00.0\n"
    rows = [
        f"n: (MatMul): {device}\n",
        created.format(digits, 0),
        created.format(1, digits),
        f"OOM when allocating tensor with shape[{digits},1] and type float on {device} by allocator GPU_0_bfc\n",
    ]
    (project / "log").write_text("".join(rows))
    done = CliRunner().invoke(main, ["probe", "--log", "log"])
    assert (done.exit_code, done.stderr) == (0, ""), done.output


@pytest.mark.parametrize("option", ["--log", "--replay"])
@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_what_is_no_file_is_one_line(project: Path, option: str, kind: str) -> None:
    path = project / "given"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        path.mkdir()
    done = CliRunner().invoke(main, ["probe", option, "given"])
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.output


def test_a_pipe_that_somebody_writes_to_is_read_to_its_end() -> None:
    reader, writer = os.pipe()
    with open(writer, "wb") as file:
        file.write(b"n: (MatMul): /job:localhost/replica:0/task:0/device:GPU:0\n")
    assert capture_of_log(f"/dev/fd/{reader}").logs["log"].placements == 1
    os.close(reader)
    with pytest.raises(OSError, match="not a regular file"):
        open_stream("/dev/null")
