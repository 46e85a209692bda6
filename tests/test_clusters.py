"""The recipes of docs/clusters.md: Ray Train for real, where it is installed; the others with the environment that
their launchers make."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import warm

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "docs" / "clusters.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^### (.+?)\n(.*?)(?=^##)", TEXT, re.DOTALL | re.MULTILINE))
HOSTS = ["train-worker-0.default.svc:2222", "train-worker-1.default.svc:2222"]

PROGRAM = """import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    weights = tf.Variable(tf.ones((4, 2)))


@tf.function
def step(x):
    def forward(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((x @ weights) ** 2)
        weights.assign_sub(0.001 * tf.distribute.get_replica_context().all_reduce("sum", tape.gradient(loss, weights)))

    strategy.run(forward, (x,))


for _ in range(6):
    step(tf.ones((8, 4)))
"""

RUN = """
import ray

{recipe}

if __name__ == "__main__":
    ray.init(num_cpus=2, include_dashboard=False, object_store_memory=100_000_000)
    train({script!r}, {captures!r}, 2)
"""


def config(index: int, hosts: list[str]) -> dict[str, str]:
    return {"TF_CONFIG": json.dumps({"cluster": {"worker": hosts}, "task": {"type": "worker", "index": index}})}


def kubernetes(index: int) -> dict[str, str]:
    told = json.loads(config(index, HOSTS)["TF_CONFIG"]) | {"environment": "cloud"}
    return {"TF_CONFIG": json.dumps(told), "KUBERNETES_SERVICE_HOST": "10.96.0.1"}


def slurm(index: int) -> dict[str, str]:
    return {"SLURM_PROCID": str(index), "SLURM_STEP_NUM_TASKS": "2", "SLURM_NTASKS": "2", "SLURM_LOCALID": str(index)}


def horovod(index: int) -> dict[str, str]:
    return {"HOROVOD_RANK": str(index), "HOROVOD_SIZE": "2", "HOROVOD_LOCAL_RANK": str(index)}


def mpi(index: int) -> dict[str, str]:
    return {"OMPI_COMM_WORLD_RANK": str(index), "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_RANK": str(index)}


LAUNCHERS = {"slurm": slurm, "kubernetes": kubernetes, "horovod": horovod, "mpi": mpi}
RECIPES = {
    "slurm": ("Slurm", r"srun gpulint (probe .*)"),
    "kubernetes": ("Kubernetes", r"command: \[gpulint, (probe, .*)\]"),
    "horovod": ("Horovod and MPI", r"horovodrun -np \d+ gpulint (probe .*)"),
    "mpi": ("Horovod and MPI", r"mpirun -np \d+ gpulint (probe .*)"),
}


@pytest.mark.parametrize("launcher", RECIPES)
def test_what_a_recipe_runs_in_each_worker_leaves_captures_that_are_joined(launcher: str, tmp_path: Path) -> None:
    section, pattern = RECIPES[launcher]
    found = re.search(pattern, SECTIONS[section])
    assert found is not None
    (tmp_path / "train.py").write_text("print('trained')\n")
    for index in range(2):
        done = gpulint(tmp_path, *found[1].replace(",", "").split(), **LAUNCHERS[launcher](index))
        assert (done.returncode, done.stderr) == (0, "")
    merged = gpulint(tmp_path, "probe", "--merge", "captures/", "--output-format", "json")
    assert merged.returncode == 0, merged.stderr
    told = json.loads(merged.stdout)["workers"]
    assert [(one["job"], one["index"], one["status"]) for one in told] == [("worker", 0, 0), ("worker", 1, 0)]


@pytest.mark.scale
def test_the_recipe_for_ray_probes_every_worker(tmp_path: Path) -> None:
    pytest.importorskip("ray.train")
    pytest.importorskip("tensorflow")
    (recipe,) = re.findall(r"```python\n# recipe: ray\n(.*?)```", SECTIONS["Ray Train"], re.DOTALL)
    (tmp_path / "train.py").write_text(PROGRAM)
    captures = f"{tmp_path / 'captures'}/"
    program = tmp_path / "on_ray.py"
    program.write_text(RUN.format(recipe=recipe, script=str(tmp_path / "train.py"), captures=captures))
    done = subprocess.run(
        [sys.executable, str(program)], cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    merged = gpulint(tmp_path, "probe", "--isolated", "--merge", "captures", "--output-format", "json")
    assert merged.returncode == 0, merged.stdout
    report = json.loads(merged.stdout)
    assert [(one["launcher"], one["steps"]) for one in report["workers"]] == [("TF_CONFIG", 6)] * 2
    assert report["strategies"][0]["replicas"] == 2


def gpulint(directory: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    return warm.gpulint().run([sys.executable, "-m", "gpulint", *arguments], cwd=directory, env=environment() | more)


def environment() -> dict[str, str]:
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1", "RAY_USAGE_STATS_ENABLED": "0"}
    return {**os.environ, **quiet, "PYTHONPATH": path}
