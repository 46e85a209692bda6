"""`gpulint probe --local-workers` and `--merge` as a user runs them; programs without TensorFlow, for speed."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import warm
from tests.probe.launch.launched import until

BEGINNING = """import json, os, signal, sys, time
config = json.loads(os.environ["TF_CONFIG"])
index = config["task"]["index"]
"""

NO_PROGRAM = "gpulint: name one program, --replay CAPTURE, --compare BEFORE AFTER, --merge DIR or --log FILE"


TOGETHER = "open(f'{index}', 'w').close()\nwhile not all(map(os.path.exists, '012')): time.sleep(0.05)\n"
"""Three workers wait until all have started."""


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "gpulint", "probe", "--isolated", *arguments]


def probe(
    directory: Path, text: str, *arguments: str, stdin: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    (directory / "a.py").write_text(BEGINNING + text)
    return warm.gpulint().run(command(*arguments, "a.py"), cwd=directory, env=environment, given=stdin)


def workers(text: str) -> list[dict[str, Any]]:
    """The workers in the JSON report, which follows the workers' own output."""
    return list(json.loads(text[text.index("\n{\n") + 1 :] if not text.startswith("{") else text)["workers"])


def test_each_worker_is_one_of_a_cluster_on_loopback(tmp_path: Path) -> None:
    done = probe(
        tmp_path, "print(json.dumps([config, sys.argv]))\n", "--local-workers", "3", TF_CONFIG='{"cluster": {}}'
    )
    assert done.returncode == 0
    assert done.stderr == "gpulint: TF_CONFIG of the environment is ignored: each worker gets its own\n"
    told = dict(line.split("] ") for line in done.stdout.splitlines() if line.startswith("[worker"))
    assert sorted(told) == ["[worker 0", "[worker 1", "[worker 2"]
    configs = [json.loads(told[name])[0] for name in sorted(told)]
    assert [config["task"] for config in configs] == [{"type": "worker", "index": index} for index in range(3)]
    hosts = configs[0]["cluster"]["worker"]
    assert all(config["cluster"] == {"worker": hosts} for config in configs)
    assert len(set(hosts)) == 3 and all(host.startswith("127.0.0.1:") for host in hosts)


def test_bytes_and_streams_of_the_workers_are_kept_apart(tmp_path: Path) -> None:
    text = "os.write(1, b'\\xff out\\r\\n'); os.write(2, b'\\xfe errors\\n')\n"
    (tmp_path / "a.py").write_text(BEGINNING + text)
    line = command("--local-workers", "2", "-o", "report.txt", "a.py")
    done = subprocess.run(line, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert sorted(done.stdout.splitlines(keepends=True)) == [b"[worker 0] \xff out\r\n", b"[worker 1] \xff out\r\n"]
    assert sorted(done.stderr.splitlines()) == [b"[worker 0] \xfe errors", b"[worker 1] \xfe errors"]


def test_standard_input_is_worker_0s(tmp_path: Path) -> None:
    done = probe(tmp_path, "print(repr(sys.stdin.read()))\n", "--local-workers", "2", stdin="hello")
    assert "[worker 0] 'hello'\n" in done.stdout
    assert "[worker 1] ''\n" in done.stdout


@pytest.mark.parametrize(
    ("failure", "ended", "told"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", (None, 9), "Worker 1: signal 9 (SIGKILL), last line: working."),
        ("sys.exit(3)", (3, None), "Worker 1: status 3, SystemExit: 3."),
        (
            "import nothing_there",
            (1, None),
            "Worker 1: status 1, ModuleNotFoundError: No module named 'nothing_there'.",
        ),
    ],
)
def test_a_worker_that_fails_is_named_and_the_others_are_ended(
    failure: str, ended: tuple[int | None, int | None], told: str, tmp_path: Path
) -> None:
    # A worker is stopped anywhere on a row once its file exists, so the file and the wait share one.
    waits = "if index != 1: open(f'{index}', 'w').close(); time.sleep(600)\n"
    text = f"print('working', flush=True)\n{waits}{TOGETHER}{failure}\n"
    done = probe(tmp_path, text, "--local-workers", "3", "--capture", "seen")
    assert done.returncode == 4
    assert done.stdout.splitlines()[-1].endswith(told)
    merged = warm.gpulint().run(command("--merge", "seen", "--output-format", "json"), cwd=tmp_path)
    assert merged.returncode == 4
    told_of = workers(merged.stdout)
    assert [(one["status"], one["signal"]) for one in told_of] == [(None, 15), ended, (None, 15)]
    assert [one["reason"] for one in told_of] == ["peer", "exit", "peer"]
    assert told_of[0]["stopped_at"]["row"] == len(BEGINNING.splitlines()) + 2


def test_workers_that_ignore_sigterm_are_killed(tmp_path: Path) -> None:
    text = f"signal.signal(signal.SIGTERM, signal.SIG_IGN)\n{TOGETHER}if index:\n    sys.exit(1)\ntime.sleep(600)\n"
    done = probe(tmp_path, text, "--local-workers", "3", "--output-format", "json")
    assert done.returncode == 4
    assert workers(done.stdout)[0]["signal"] == 9


def test_a_worker_that_hangs_is_named_with_its_place_and_the_one_that_waits_is_not(tmp_path: Path) -> None:
    (tmp_path / "tensorflow" / "python").mkdir(parents=True)
    (tmp_path / "tensorflow" / "__init__.py").write_text("")
    (tmp_path / "tensorflow" / "python" / "__init__.py").write_text("import time\ndef wait():\n    time.sleep(600)\n")
    text = "if index == 0:\n    from tensorflow.python import wait\n    wait()\ntime.sleep(600)\n"
    done = probe(tmp_path, text, "--local-workers", "2", "--hang-after", "6")
    assert done.returncode == 124
    assert done.stdout.splitlines()[-1].endswith("Worker 1: stopped (hang) at a.py:7.")


def test_one_that_works_keeps_the_others_from_hanging(tmp_path: Path) -> None:
    """A worker that waits for another one to save a checkpoint is idle, but does not hang."""
    text = "if index == 0:\n    end = time.time() + 8\n    while time.time() < end: pass\nelse:\n    time.sleep(8)\n"
    assert probe(tmp_path, text, "--local-workers", "2", "--hang-after", "4").returncode == 0


def test_a_run_that_takes_too_long_is_stopped_as_a_whole(tmp_path: Path) -> None:
    done = probe(tmp_path, "time.sleep(600)\n", "--local-workers", "2", "--timeout", "6")
    assert done.returncode == 124
    assert "Worker 0: stopped (timeout) at a.py:4; worker 1: stopped (timeout) at a.py:4." in done.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_the_probe_ends_every_worker(number: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(BEGINNING + "open(f'{index}', 'w').close()\ntime.sleep(600)\n")
    process = subprocess.Popen(
        command("--local-workers", "2", "a.py"),
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # background jobs of a shell ignore SIGINT
    )
    until(lambda: (tmp_path / "0").exists() and (tmp_path / "1").exists())
    process.send_signal(number)
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 4
    assert output.splitlines()[-1].startswith((b"Worker 0", b"Worker 1"))


def test_each_worker_of_another_launcher_leaves_its_capture_and_they_are_joined(tmp_path: Path) -> None:
    for rank in range(2):
        slurm = {"SLURM_PROCID": str(rank), "SLURM_STEP_NUM_TASKS": "3", "TF_CONFIG": '{"task": {"index": 0}}'}
        assert probe(tmp_path, "", "--capture", "seen/", **slurm).returncode == 0
    assert {path.name for path in (tmp_path / "seen").glob("*.jsonl")} == {
        "capture-worker-0.jsonl",
        "capture-worker-1.jsonl",
    }
    done = warm.gpulint().run(command("--merge", "seen"), cwd=tmp_path)
    assert done.returncode == 1
    assert re.search(r"^  failed +worker 2", done.stdout, re.MULTILINE) and "left no capture" in done.stdout


def test_a_directory_for_a_process_without_a_number_is_reported(tmp_path: Path) -> None:
    done = probe(tmp_path, "", "--capture", "seen/", TF_CONFIG='{"task": {"index": 0}}')
    (path,) = (tmp_path / "seen").glob("*.jsonl")
    text = f"gpulint: the environment does not say which worker this is; its capture is {path}\n"
    assert done.stderr == text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--merge", "none"], "gpulint: none: No such file or directory"),
        (["--merge", "empty"], "gpulint: empty: contains no capture-*.jsonl"),
        (
            ["--merge", "empty", "a.py"],
            NO_PROGRAM,
        ),
        (
            ["--local-workers", "2"],
            NO_PROGRAM,
        ),
        (["--local-workers", "2", "--merge", "empty"], "gpulint: --local-workers needs a program to run"),
        (["--local-workers", "2", "none.py"], "gpulint: none.py: no such file"),
        (["--local-workers", "2", "--capture", "a.py", "a.py"], "gpulint: {}/a.py: File exists"),
    ],
)
def test_wrong_usage_is_one_line(arguments: list[str], message: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "a.py").write_text("")
    done = warm.gpulint().run(command(*arguments), cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, message.format(tmp_path) + "\n")
