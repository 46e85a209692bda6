"""Records that are torn, foreign or cannot be written are treated as missing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpulint.caching import store
from gpulint.caching.store import BETWEEN_PRUNINGS, MAX_AGE, Store, is_cache, prune

NAME = "ab12" * 8
SERIES = "0.1.0-" + "5" * 32
KEY = b"k" * 32


def opened(directory: Path, series: str = SERIES) -> Store:
    return Store(str(directory), series, KEY)


def file_of(directory: Path) -> Path:
    (path,) = directory.glob("*/*.z")
    return path


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    opened(tmp_path / "cache").put(NAME, ["é\udc80", {"a": [1, None]}])
    assert opened(tmp_path / "cache").get(NAME) == ["é\udc80", {"a": [1, None]}]
    assert opened(tmp_path / "cache", SERIES.replace("5", "6")).get(NAME) is None


def test_the_directory_says_what_it_is_to_version_control_and_backups(tmp_path: Path) -> None:
    directory = tmp_path / "cache"
    opened(directory).put(NAME, [])
    assert (directory / ".gitignore").read_text().splitlines()[-1] == "*"
    assert (directory / "CACHEDIR.TAG").read_bytes().startswith(b"Signature: 8a477f597d28d172789f06886806bc55\n")
    assert is_cache(str(directory)) and not is_cache(str(tmp_path))


def test_a_record_torn_at_any_byte_is_absent(tmp_path: Path) -> None:
    made = opened(tmp_path)
    made.put(NAME, ["content"])
    path = file_of(tmp_path)
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        assert made.get(NAME) is None
    for position in range(len(whole)):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :])
        assert made.get(NAME) is None


@pytest.mark.parametrize("content", [b"", b"\n", b"\xff\xfe\n[]", b"[" * 100_000])
def test_a_foreign_file_is_absent(tmp_path: Path, content: bytes) -> None:
    made = opened(tmp_path)
    made.put(NAME, [])
    file_of(tmp_path).write_bytes(content)
    assert made.get(NAME) is None
    file_of(tmp_path).write_bytes(made._digest(NAME, content) + b"\n" + content)
    assert made.get(NAME) is None


def test_a_directory_in_place_of_a_record_is_a_trouble_that_is_reported_and_not_raised(tmp_path: Path) -> None:
    made = opened(tmp_path)
    made.put(NAME, [])
    path = file_of(tmp_path)
    path.unlink()
    path.mkdir()
    assert made.get(NAME) is None
    made.put(NAME, [])
    assert str(tmp_path) in made.trouble


def test_a_file_in_place_of_the_directory_is_a_trouble(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("")
    made = opened(tmp_path / "cache")
    assert made.get(NAME) is None
    made.put(NAME, [])
    assert made.trouble
    made.prune()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
def test_a_full_disk_is_a_trouble_that_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = opened(tmp_path)
    made.put(NAME, ["old"])
    real = open

    def full(path: str, mode: str = "r", *more: object) -> object:
        return os.fdopen(os.open("/dev/full", os.O_WRONLY), "wb") if "x" in mode else real(path, mode)

    monkeypatch.setattr(store, "open", full, raising=False)
    made.put(NAME, ["new"])
    assert "No space left" in made.trouble
    monkeypatch.undo()
    assert made.get(NAME) == ["old"]
    assert len(list(tmp_path.glob("*/*.z*"))) == 1


def test_what_nobody_used_for_long_and_what_is_too_much_is_deleted(tmp_path: Path) -> None:
    made = opened(tmp_path)
    now = time.time()
    names = [letter * 32 for letter in "abcd"]
    for number, name in enumerate(names):
        made.put(name, [os.urandom(850).hex()])
        path = tmp_path / SERIES / f"{name}.z"
        os.utime(path, (now, now - number * 60))
    left_by_a_killed_run = tmp_path / SERIES / f"{names[0]}.z.0123456789abcdef"
    left_by_a_killed_run.write_text("half")
    os.utime(left_by_a_killed_run, (now, now - BETWEEN_PRUNINGS - 60))
    os.utime(tmp_path / SERIES / f"{names[1]}.z", (now, now - MAX_AGE - 60))
    prune(str(tmp_path), max_bytes=2500)
    assert [name for name in names if made.get(name)] == [names[0], names[2]]
    assert not left_by_a_killed_run.exists()
    assert is_cache(str(tmp_path))


def test_a_record_that_is_used_counts_as_young(tmp_path: Path) -> None:
    made = opened(tmp_path)
    made.put(NAME, [])
    long_ago = time.time() - MAX_AGE - 60
    os.utime(file_of(tmp_path), (long_ago, long_ago))
    assert made.get(NAME) == []
    prune(str(tmp_path))
    assert made.get(NAME) == []


WRITER = f"""
import sys
from gpulint.caching.store import Store

made = Store(sys.argv[1], {SERIES!r}, {KEY!r})
print("ready", flush=True)
while True:
    for letter in "abc":
        made.put({NAME!r}, [letter] * 20_000)
"""


def test_readers_find_whole_records_while_others_write_and_are_killed(tmp_path: Path) -> None:
    made = opened(tmp_path)
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    for _ in range(4):
        writers = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2)]
        for writer in writers:
            assert writer.stdout is not None
            writer.stdout.readline()
        for _ in range(50):
            found = made.get(NAME)
            assert found is None or (len(found) == 20_000 and len(set(found)) == 1)
        for writer in writers:
            writer.send_signal(signal.SIGKILL)
            writer.communicate()
        assert made.get(NAME) is None or len(set(made.get(NAME))) == 1
    made.put(NAME, json.loads("[1]"))
    assert made.get(NAME) == [1]
