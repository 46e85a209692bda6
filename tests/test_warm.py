"""Programs that run in forks of a process which has imported what they need."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests import warm

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the forks read /proc"),
    pytest.mark.skipif(find_spec("psutil") is None, reason="needs gpulint[probe]"),
]

SHOWN = "import json, sys\nprint(json.dumps(['libcst' in sys.modules, sys.argv]))\n"


@pytest.mark.parametrize("command", ["", "-m gpulint probe --isolated"])
def test_a_program_and_what_the_probe_starts_are_forks(command: str, tmp_path: Path) -> None:
    (tmp_path / "prog.py").write_text(SHOWN)
    done = warm.gpulint().run([sys.executable, *command.split(), "prog.py", "a"], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[0]) == [True, ["prog.py", "a"]]


OTHER = """
import sys
from pathlib import Path
from tests import warm

warm.SESSION = sys.argv[1]
python = warm.Python("colorsys")
ran = "import colorsys, os; print(os.getppid())"
print(python.run([sys.executable, "-c", ran], cwd=Path(".")).stdout, flush=True)
sys.stdin.read()
"""


def test_processes_of_a_run_share_a_server_that_ends_after_them(tmp_path: Path) -> None:
    root = Path(__file__).parent.parent
    command = [sys.executable, "-c", OTHER, str(tmp_path)]
    processes = [
        subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    servers = set()
    for process in processes:
        assert process.stdout is not None
        status = Path("/proc", process.stdout.readline().strip(), "status").read_text()
        servers.add(status.partition("PPid:\t")[2].partition("\n")[0])
    (server,) = servers
    for process in processes:
        process.communicate(timeout=warm.SECONDS)
    end = time.monotonic() + warm.SECONDS
    while Path("/proc", server).exists() and time.monotonic() < end:
        time.sleep(0.05)
    assert not Path("/proc", server).exists()
