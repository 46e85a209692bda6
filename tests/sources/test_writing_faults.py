"""Writing a file while real system calls fail: the file is the old or the new one, and nothing is left behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from gpulint.sources.writing import NotWritten, replace_file

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="processes are forked, and limited, on POSIX")

OLD, NEW = b"old\r\n" * 3, b"new\r\nlonger\r\n" * 900


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_bytes(OLD)
    path.chmod(0o640)
    return path


def in_child(work: Callable[[], object]) -> int:
    """The status of a forked process: 0, 9 if it raises NotWritten, or the negative number of a signal."""
    child = os.fork()
    if not child:
        status = 1
        try:
            work()
            status = 0
        except NotWritten:
            status = 9
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


KILLED = """
import json, os, signal, sys
import tempfile  # `replace_file` imports it: no call of that counts
from gpulint.sources.writing import replace_file

file, path, old, new = sys.argv[1], sys.argv[2], *map(bytes.fromhex, sys.argv[3:])


def work(left):
    # Write, and die at the start or the end of the `left`-th call of the C library or the system.
    def count(frame, event, argument):
        nonlocal left
        if event in ("c_call", "c_return"):
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(count)
    replace_file(path, old, new)
    sys.setprofile(None)
    os._exit(0)


for number in range(1, 2000):
    with open(file, "wb") as opened:
        opened.write(old)
    os.chmod(file, 0o640)
    child = os.fork()
    if not child:
        work(number)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with open(file, "rb") as opened:
        content = opened.read()
    folder = os.path.dirname(file)
    left = [name for name in os.listdir(folder) if name not in (os.path.basename(file), "links")]
    for name in left:
        os.unlink(os.path.join(folder, name))
    is_link = os.path.islink(path)
    print(json.dumps([status, content.hex(), os.stat(file).st_mode, is_link, left]))
    if status != -signal.SIGKILL:
        break
"""


@pytest.mark.parametrize("by_link", [False, True], ids=["the file", "a link to it"])
def test_killed_between_any_two_calls_the_file_is_the_old_one_or_the_new_one(file: Path, by_link: bool) -> None:
    path = file
    if by_link:
        (file.parent / "links").mkdir()
        path = file.parent / "links" / "program.py"
        path.symlink_to("../program.py")
    # Forks of a small process: a fork of the test run copies all that its tests have left in memory.
    command = [sys.executable, "-c", KILLED, str(file), str(path), OLD.hex(), NEW.hex()]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    *killed, last = map(json.loads, done.stdout.splitlines())
    seen = Counter[bytes]()
    for number, (_, text, mode, is_link, left) in enumerate([*killed, last], 1):
        content = bytes.fromhex(text)
        assert content in (OLD, NEW), number
        assert stat.S_IMODE(mode) == 0o640
        assert is_link is by_link
        assert all(name.startswith(".gpulint-") for name in left) and len(left) <= 1
        seen[content] += 1
    assert all(status == -signal.SIGKILL for status, *_ in killed)
    assert (last[0], content) == (0, NEW) and seen[OLD] > 20 and seen[NEW] > 3


def test_a_file_that_may_not_grow_is_left_as_it_was(file: Path) -> None:
    import resource

    def work() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        replace_file(str(file), OLD, NEW)

    assert in_child(work) == 9
    assert file.read_bytes() == OLD and os.listdir(file.parent) == [file.name]


def test_without_handles_the_file_is_left_as_it_was(file: Path) -> None:
    import resource

    def work() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
        replace_file(str(file), OLD, NEW)

    assert in_child(work) == 9
    assert file.read_bytes() == OLD and os.listdir(file.parent) == [file.name]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_the_owner_stays(file: Path) -> None:
    os.chown(file, 1234, 4321)
    replace_file(str(file), OLD, NEW)
    assert (file.stat().st_uid, file.stat().st_gid, file.read_bytes()) == (1234, 4321, NEW)


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="root reads and writes what nobody else may"
)
@pytest.mark.parametrize("protect", ["file", "directory"])
def test_what_another_user_may_not_write_is_left_as_it_was(file: Path, protect: str) -> None:
    for parent in (file.parent, *file.parents):
        if parent.is_relative_to("/tmp") and parent != Path("/tmp"):
            parent.chmod(0o755)
    file.chmod(0o444 if protect == "file" else 0o666)
    file.parent.chmod(0o777 if protect == "file" else 0o555)

    def work() -> None:
        os.setgid(65534)
        os.setuid(65534)
        replace_file(str(file), OLD, NEW)

    assert in_child(work) == 9
    assert file.read_bytes() == OLD and os.listdir(file.parent) == [file.name]


FULL = """
    mount -t tmpfs -o size=16k none {directory} || exit 77
    printf 'import tensorflow as tf\\n\\nwith tf.device("/gpu:0"):\\n    x = tf.zeros(4)\\n' > {directory}/program.py
    cp {directory}/program.py {before}
    {prepare}
    cd {directory} || exit 77
    {python} -m gpulint check --isolated -n --fix --unsafe-fixes program.py
    echo "status $?"
    cmp {directory}/program.py {before} && ls -A {directory}
"""


@pytest.mark.skipif(shutil.which("unshare") is None, reason="mounting takes a namespace of one's own")
@pytest.mark.parametrize(
    ("prepare", "reason", "left"),
    [
        (
            "head -c 16384 /dev/zero > {directory}/filler 2> /dev/null",
            "No space left on device",
            "filler\nprogram.py\n",
        ),
        ("mount -o remount,ro {directory}", "read-only", "program.py\n"),
    ],
    ids=["full", "read-only"],
)
def test_the_command_leaves_files_on_such_a_disk_as_they_were(
    tmp_path: Path, prepare: str, reason: str, left: str
) -> None:
    directory = tmp_path / "disk"
    directory.mkdir()
    script = textwrap.dedent(FULL).format(
        directory=directory,
        before=tmp_path / "before",
        python=sys.executable,
        prepare=prepare.format(directory=directory),
    )
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 77 or "unshare:" in done.stderr:
        pytest.skip(f"no such disk can be made here: {done.stderr}")
    assert f"status 1\n{left}" in done.stdout, done.stdout + done.stderr
    assert reason in done.stderr and done.stderr.count("\n") == 1
    assert "GPU101" in done.stdout
