"""Writing a file while real system calls fail: the file is the old or the new one, and nothing is left behind."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

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


def killed_at(number: int, path: str) -> Callable[[], None]:
    """Write, and die at the start or the end of the `number`-th call of the C library or the system."""

    def work() -> None:
        left = number

        def count(frame: Any, event: str, argument: Any) -> None:
            nonlocal left
            if event in ("c_call", "c_return"):
                left -= 1
                if not left:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.setprofile(count)
        replace_file(path, OLD, NEW)
        sys.setprofile(None)

    return work


@pytest.mark.parametrize("by_link", [False, True], ids=["the file", "a link to it"])
def test_killed_between_any_two_calls_the_file_is_the_old_one_or_the_new_one(file: Path, by_link: bool) -> None:
    path = file
    if by_link:
        (file.parent / "links").mkdir()
        path = file.parent / "links" / "program.py"
        path.symlink_to("../program.py")
    seen: dict[bytes, int] = {}
    for number in range(1, 2000):
        file.write_bytes(OLD)
        file.chmod(0o640)
        status = in_child(killed_at(number, str(path)))
        content = file.read_bytes()
        assert content in (OLD, NEW), number
        assert stat.S_IMODE(file.stat().st_mode) == 0o640
        assert path.is_symlink() is by_link
        left = [name for name in os.listdir(file.parent) if name not in (file.name, "links")]
        assert all(name.startswith(".gpulint-") for name in left) and len(left) <= 1
        for name in left:
            (file.parent / name).unlink()
        seen[content] = seen.get(content, 0) + 1
        if status == 0:
            break
        assert status == -signal.SIGKILL
    assert status == 0 and content == NEW and seen[OLD] > 20 and seen[NEW] > 3


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
