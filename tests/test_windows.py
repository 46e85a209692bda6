"""gpulint within the limits of Windows, as imposed by `tests.windows`."""

from __future__ import annotations

import asyncio
import json
import ntpath
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpulint.server.buffers import path_of, with_usual_drive
from gpulint.syntax import stack
from tests import warm, windows
from tests.cli.test_doctor import LISTS_NONE
from tests.doctor.standin import environment, tensorflow
from tests.server.programs import PINNED

ROOT = Path(__file__).parents[1]
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def run() -> Run:
    python = warm.Python(*windows.LIBRARIES) if sys.platform == "linux" else warm.Fresh()
    return lambda *words, **more: python.run([sys.executable, "-m", "tests.windows", *words], cwd=ROOT, **more)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_bytes(PINNED.replace("\n", "\r\n").encode())
    return path


def test_check_finds_what_it_finds_elsewhere(run: Run, program: Path) -> None:
    done = run("check", "--isolated", "--no-cache", "--output-format", "json", str(program))
    assert done.returncode == 1, done.stderr
    (found,) = json.loads(done.stdout)
    assert (found["code"], found["location"]["row"]) == ("GPU101", 3)


def test_a_fix_keeps_the_line_ends(run: Run, program: Path) -> None:
    program.write_bytes(b'import os\r\n\r\nos.environ["TF_GPU_THREAD_COUNT"] = 2\r\nimport tensorflow as tf\r\n')
    done = run("check", "--isolated", "--no-cache", "--fix", str(program))
    assert done.returncode == 0, done.stderr
    assert program.read_bytes().splitlines(keepends=True)[2] == b'os.environ["TF_GPU_THREAD_COUNT"] = "2"\r\n'


def test_plan_shows_devices(run: Run, program: Path) -> None:
    done = run("plan", str(program))
    assert done.returncode == 0 and "operations go to /GPU:0" in done.stdout, done.stderr


def test_doctor_reports(run: Run, tmp_path: Path) -> None:
    done = run("doctor", "--output-format", "json", env=environment(tensorflow(tmp_path, LISTS_NONE)))
    assert done.returncode in (0, 1), done.stderr
    assert json.loads(done.stdout)["version"]


def test_probe_says_in_one_line_what_it_needs(run: Run, program: Path) -> None:
    done = run("probe", str(program))
    assert done.returncode == 2 and done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert "probe needs Linux or macOS" in line


def test_estimate_says_in_one_line_what_it_needs(run: Run, program: Path) -> None:
    done = run("estimate", "--gpu", "T4", str(program))
    assert done.returncode == 2 and done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert "an estimate needs Linux or macOS" in line


def test_a_program_nested_too_deeply_for_the_stack_is_reported(run: Run, tmp_path: Path) -> None:
    deep = "import tensorflow as tf\n\n\ndef f(n):\n    return f(n + 1)\n\n\nf(0)\nx = " + "-" * 900 + "1\n"
    (tmp_path / "deep.py").write_text(deep)
    done = run("check", "--isolated", "--no-cache", str(tmp_path))
    assert done.returncode in (0, 1), done.stderr


def test_the_server_publishes_and_ends(program: Path) -> None:
    async def talk() -> tuple[list[str], int]:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.windows", "server"),
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert process.stdin is not None and process.stdout is not None

        def send(method: str, params: Any, number: int | None = None) -> None:
            message = {"jsonrpc": "2.0", "method": method, "params": params}
            data = json.dumps(message | ({"id": number} if number is not None else {})).encode()
            process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)

        async def received() -> Any:
            size = int((await process.stdout.readline()).split(b":")[1])
            while (await process.stdout.readline()).strip():
                pass
            return json.loads(await process.stdout.readexactly(size))

        uri = program.as_uri()
        folders = [{"uri": program.parent.as_uri(), "name": "project"}]
        send("initialize", {"capabilities": {}, "processId": None, "rootUri": None, "workspaceFolders": folders}, 1)
        send("initialized", {})
        document = {"uri": uri, "languageId": "python", "version": 1, "text": program.read_bytes().decode()}
        send("textDocument/didOpen", {"textDocument": document})
        while (told := await received()).get("method") != "textDocument/publishDiagnostics":
            pass
        send("shutdown", None, 2)
        while (await received()).get("id") != 2:
            pass
        send("exit", None)
        return [one["code"] for one in told["params"]["diagnostics"]], await process.wait()

    assert asyncio.run(asyncio.wait_for(talk(), 200)) == (["GPU101"], 0)


def test_a_stack_is_no_larger_than_the_system_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stack, "LARGEST_STACK", 64 * 1024 * 1024)
    before = threading.stack_size(), sys.getrecursionlimit()
    seen = stack.on_stack(lambda: (threading.stack_size(), sys.getrecursionlimit()), 256 * 1024 * 1024, 40_000)
    assert seen[1] == 10_000
    assert (threading.stack_size(), sys.getrecursionlimit()) == before


@pytest.mark.parametrize(
    ("path", "usual"),
    [
        ("c:\\Users\\a.py", "C:\\Users\\a.py"),
        ("C:\\Users\\a.py", "C:\\Users\\a.py"),
        ("\\\\server\\share\\a.py", "\\\\server\\share\\a.py"),
        ("a.py", "a.py"),
    ],
)
def test_editors_and_the_system_write_drives_differently(path: str, usual: str) -> None:
    assert with_usual_drive(path, ntpath.splitdrive) == usual


def test_elsewhere_paths_stay_as_they_are(tmp_path: Path) -> None:
    assert path_of((tmp_path / "c:" / "a.py").as_uri(), str(tmp_path)) == str(tmp_path / "c:" / "a.py")


def test_a_path_on_another_drive_is_shown_in_full(monkeypatch: pytest.MonkeyPatch, program: Path) -> None:
    def relpath(path: str, start: str = ".") -> str:
        raise ValueError(f"path is on mount 'D:', start on mount 'C:' {path} {start}")

    from gpulint import check_source

    monkeypatch.setattr("os.path.relpath", relpath)
    (found,) = check_source(PINNED, str(program)).findings
    assert found.span.path == str(program) and found.fingerprint
