"""The pytest plug-in, in separate test runs."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests import warm

MARKED = """
import pytest
import gpulint

@pytest.mark.gpulint(on="CPU", max_traces=1, limit_memory="100 MiB", expect=["devices.cpu == 1", "eager_ops <= 99"])
def test_good():
    import tensorflow as tf
    tf.function(lambda x: x @ x)(tf.ones((1024, 1024)))

@pytest.mark.gpulint(max_traces=1)
def test_retraces():
    import tensorflow as tf
    @tf.function
    def step(x):
        return tf.constant(x)
    step(1); step(2); step(3)

@pytest.mark.gpulint(limit_memory="1 MiB")
def test_memory():
    import tensorflow as tf
    kept = [tf.ones((1024, 1024)) for _ in range(3)]

@pytest.mark.gpulint
def test_inline():
    import tensorflow as tf
    gpulint.expect.on("CPU:7", tf.ones(3))

@pytest.mark.gpulint(on="GPU:1")
def test_gpu():
    raise AssertionError

@pytest.mark.gpulint(max_traces=1)
def test_unknown():
    pass

@pytest.mark.gpulint(max_traces=1)
def test_own_failure():
    raise KeyError("mine")

@pytest.mark.gpulint(expect="eager_ops >= 1")
class TestMarked:
    @pytest.mark.gpulint(expect="eager_ops >= 99")
    def test_both(self):
        import tensorflow as tf
        tf.ones(3)

def test_unmarked():
    assert not gpulint.expect.is_probed()
"""


def pytest_run(tmp_path: Path, text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A test run with the plug-in, whether or not it is installed as one."""
    (tmp_path / "test_it.py").write_text(text)
    options = ["-q", "--strict-markers", "-p", "no:cacheprovider", "-rA", "--tb=short", *arguments]
    if not any("gpulint" in entry for entry in arguments) or "--gpulint-probe" in arguments:
        options = ["-p", "gpulint.pytest_plugin", *options]
    command = [sys.executable, "-m", "pytest", *options, "test_it.py"]
    variables = {**warm.QUIET, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COLUMNS": "200"}
    return warm.python().run(command, cwd=tmp_path, env=variables)


@pytest.mark.tensorflow
def test_marked_tests_are_checked_against_their_expectations(tmp_path: Path) -> None:
    done = pytest_run(tmp_path, MARKED, "--gpulint-probe")
    lines = done.stdout.splitlines()
    outcomes = {line.split("::", 1)[1].split()[0]: line.split()[0] for line in lines if line[:4] in ("PASS", "FAIL")}
    assert outcomes == {
        "test_good": "PASSED",
        "test_retraces": "FAILED",
        "test_memory": "FAILED",
        "test_inline": "FAILED",
        "test_unknown": "PASSED",
        "test_own_failure": "FAILED",
        "TestMarked::test_both": "FAILED",
        "test_unmarked": "PASSED",
    }, done.stdout
    assert "FAILED test_it.py::test_retraces - Failed: fail: traces.max: expected <= 1, observed 3: `step`: 3" in lines
    assert "fail: memory.peak: expected <= 1MiB, observed 12 MiB: CPU:0: 12,582,912 bytes" in lines
    assert "it needs GPU:1, and TensorFlow has no GPU on this machine" in done.stdout
    assert any(line.startswith("fail: tensor of shape (3,): expected on CPU:7, observed 1 on CPU:0") for line in lines)
    assert "E   KeyError: 'mine'" in lines
    summary = lines[lines.index(next(line for line in lines if line.strip("= ") == "gpulint")) :]
    assert "test_it.py::test_good: 5 pass" in summary
    assert "test_it.py::test_unknown: 1 inconclusive" in summary
    assert "  inconclusive: traces.max: expected <= 1, observed no `tf.function` was run" in summary
    assert "test_it.py::TestMarked::test_both: 1 fail, 1 pass" in summary


PLAIN = """
import pytest

@pytest.mark.gpulint(on="GPU", nonsense=True)
def test_marked():
    pass
"""


def test_without_the_option_markers_are_known_and_nothing_happens(tmp_path: Path) -> None:
    done = pytest_run(tmp_path, PLAIN)
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout
    assert "gpulint" not in done.stdout
    listed = pytest_run(tmp_path, PLAIN, "--markers")
    assert (
        "@pytest.mark.gpulint(on, max_traces, limit_memory, expect): what the test's operations must do"
        in listed.stdout
    )


def test_a_marker_that_cannot_be_read_fails_its_test_with_one_line(tmp_path: Path) -> None:
    text = PLAIN + '\n@pytest.mark.gpulint("GPU")\ndef test_b(): pass\n'
    text += '\n@pytest.mark.gpulint(limit_memory="2 gigs")\ndef test_c(): pass\n'
    done = pytest_run(tmp_path, text, "--gpulint-probe")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert "the marker `gpulint` has no argument `nonsense`; it takes on, max_traces, limit_memory, expect" in lines
    assert "the marker `gpulint` takes keyword arguments: on, max_traces, limit_memory, expect" in lines
    assert any(line.startswith("the marker `gpulint`: `memory.peak <= 2 gigs`: `gigs` is not a unit") for line in lines)


def test_settings_of_the_root_directory_count(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "gpulint.toml").write_text("[probe]\nstrict = true\n")
    text = "import pytest\n\n@pytest.mark.gpulint(max_traces=1)\ndef test_a(): pass\n"
    done = pytest_run(tmp_path, text, "--gpulint-probe")
    assert "inconclusive: traces.max: expected <= 1, observed no `tf.function` was run" in done.stdout
    assert done.returncode == 1
    (tmp_path / "gpulint.toml").write_text("[probe]\nstrickt = true\n")
    wrong = pytest_run(tmp_path, text, "--gpulint-probe")
    assert wrong.returncode == 4
    assert "gpulint.toml:2: unknown key `probe.strickt`; did you mean `probe.strict`?" in wrong.stderr


def test_the_module_that_every_run_imports_imports_nothing_but_pytest() -> None:
    text = (
        "import sys, pytest\nbefore = set(sys.modules)\nimport gpulint.pytest_plugin\nprint(*set(sys.modules) - before)"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {"gpulint", "gpulint._version", "gpulint.pytest_plugin"}


@pytest.mark.skipif(find_spec("xdist") is None, reason="pytest-xdist is not installed")
def test_workers_tell_the_summary_what_came_of_their_tests(tmp_path: Path) -> None:
    text = "import pytest\n\n@pytest.mark.gpulint(expect='memory.host.peak <= 1 TiB')\ndef test_a(): pass\n"
    done = pytest_run(tmp_path, text, "--gpulint-probe", "-p", "xdist", "-n", "2")
    assert done.returncode == 0, done.stdout
    assert "test_it.py::test_a: 1 pass" in done.stdout.splitlines()
