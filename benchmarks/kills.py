"""Kills checks and fixes (SIGKILL) at random moments while others run: what they leave on disk must be consistent.

    PYTHONPATH=. python benchmarks/kills.py [--cache 200] [--fixes 200] [--from SEED]

In each cache trial, the files of a project are changed, two checks of it share a cache, and one is killed after a
random time. A third check must then have the same result as one without a cache. In each fix trial, one run of `check
--fix --unsafe-fixes` is killed; each file must have either its old or its new content. The table counts the runs that
were killed before they ended, and the faults. The exit status is 1 if there was a fault.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FIXTURES = Path(__file__).parent.parent / "fixtures"
FILES = 12
STATES = 3
FIXED = 24


def programs() -> list[Path]:
    """Some programs of the fixtures, spread over all."""
    found = sorted(path for path in FIXTURES.rglob("*.py") if 500 < path.stat().st_size < 6_000)
    return found[:: len(found) // FILES][:FILES]


def lay_out(project: Path, state: int) -> None:
    """The project in one of its states: in each, other files begin with other rows."""
    for number, path in enumerate(programs()):
        rows = "# changed\n" * ((number + state) % STATES)
        (project / f"p{number}.py").write_text(rows + path.read_text())


def started(project: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "gpulint", "check", "--output-format", "json", *options, "."]
    environment = {**os.environ, "PYTHONPATH": os.path.abspath(os.environ.get("PYTHONPATH", "."))}
    return subprocess.Popen(
        command,
        cwd=project,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def seconds_of(project: Path, *options: str) -> float:
    """How long a whole run takes."""
    start = time.monotonic()
    started(project, *options).communicate()
    return time.monotonic() - start


def killed(run: subprocess.Popen[str], seconds: float) -> bool:
    """Whether a run, its processes included, was killed before it ended."""
    try:
        run.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(run.pid, signal.SIGKILL)
        run.communicate()
        return True
    return False


def cache_rounds(count: int, rng: random.Random, directory: Path) -> int:
    """Kill checks that share a cache; the number of faults."""
    project = directory / "project"
    project.mkdir()
    expected: list[str] = []
    for state in range(STATES):
        lay_out(project, state)
        expected.append(started(project, "-n").communicate()[0])
    longest = seconds_of(project, "-n")
    in_time = faults = 0
    for number in range(count):
        if rng.random() < 0.3:
            shutil.rmtree(project / ".gpulint_cache", ignore_errors=True)
        state = rng.randrange(STATES)
        lay_out(project, state)
        jobs = rng.choice(("-j1", "-j2"))
        first, second = started(project, jobs), started(project, "-j1")
        in_time += killed(first, rng.random() * longest)
        outputs = [second.communicate(), started(project, jobs).communicate()]
        for output, errors in outputs:
            if output != expected[state] or errors:
                faults += 1
                print(f"round {number}: {errors or 'another output'}", flush=True)
    print(f"cache: {count} rounds, {in_time} killed in time, {faults} faults", flush=True)
    return faults


def fixable(project: Path) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """Files that have fixes, some of the same content, by name: as they are, and as they become."""
    sources = sorted(path for path in FIXTURES.rglob("*.py") if 500 < path.stat().st_size < 4_000)[::4]
    for number, path in enumerate(sources):
        (project / f"p{number}.py").write_bytes(path.read_bytes())
    started(project, "-n", "--fix", "--unsafe-fixes").communicate()
    pairs = [(path.read_bytes(), (project / f"p{number}.py").read_bytes()) for number, path in enumerate(sources)]
    pairs = [pair for pair in pairs if pair[0] != pair[1]]
    for path in project.glob("*.py"):
        path.unlink()
    chosen = {f"p{number}.py": pairs[number % len(pairs)] for number in range(FIXED)}
    return {name: old for name, (old, _) in chosen.items()}, {name: new for name, (_, new) in chosen.items()}


def fix_rounds(count: int, rng: random.Random, directory: Path) -> int:
    """Kill runs that write fixes, most of them while they write; the number of faults."""
    project = directory / "fixed"
    project.mkdir()
    old, new = fixable(project)
    in_time = faults = both = left = 0
    for number in range(count):
        for name, content in old.items():
            (project / name).write_bytes(content)
        run = started(project, "-n", "--fix", "--unsafe-fixes")
        if number % 4:
            await_writing(run, project, old)
            in_time += killed(run, rng.random() * 0.02)
        else:
            in_time += killed(run, rng.random() * 2)
        now = {name: (project / name).read_bytes() for name in old}
        torn = [name for name in old if now[name] not in (old[name], new[name])]
        both += now not in (old, new)
        for path in [path for path in project.iterdir() if path.name not in old and path.is_file()]:
            left += 1
            if not path.name.startswith(".gpulint-"):
                torn.append(path.name)
            path.unlink()
        faults += len(torn)
        if torn:
            print(f"round {number}: {', '.join(torn)}", flush=True)
    print(
        f"fixes: {count} rounds of {len(old)} files, {in_time} killed in time, {both} left some files fixed and others "
        f"not, {left} temporary files left, {faults} faults",
        flush=True,
    )
    return faults


def await_writing(run: subprocess.Popen[str], project: Path, old: dict[str, bytes]) -> None:
    """Wait until a run has written its first file, or ends."""
    times = {name: (project / name).stat().st_mtime_ns for name in old}
    while run.poll() is None and all((project / name).stat().st_mtime_ns == at for name, at in times.items()):
        time.sleep(0.001)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=int, default=200, metavar="ROUNDS")
    parser.add_argument("--fixes", type=int, default=200, metavar="ROUNDS")
    parser.add_argument("--from", dest="seed", type=int, default=0, metavar="SEED")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="gpulint-kills-") as directory:
        faults = cache_rounds(options.cache, rng, Path(directory)) + fix_rounds(options.fixes, rng, Path(directory))
    print(f"{time.monotonic() - start:.0f} s")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
