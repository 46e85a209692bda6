"""Which worker a process is, from the environment that its launcher sets."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from gpulint.probe.capture.records import Task
from gpulint.probe.cluster.folder import capture_of
from gpulint.probe.cluster.identity import identify


def config(job: str, index: int, **cluster: object) -> dict[str, str]:
    return {"TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": job, "index": index}})}


TFJOB = {
    "TF_CONFIG": '{"cluster":{"ps":["mnist-ps-0.default.svc:2222"],"worker":["mnist-worker-0.default.svc:2222",'
    '"mnist-worker-1.default.svc:2222"]},"task":{"type":"worker","index":1},"environment":"cloud"}'
}
"""As Kubeflow's training operator sets it for a TFJob."""

SLURM = {
    "SLURM_PROCID": "2",
    "SLURM_NTASKS": "4",
    "SLURM_STEP_NUM_TASKS": "4",
    "SLURM_STEP_TASKS_PER_NODE": "2(x2)",
    "SLURM_STEP_NODELIST": "gpu[03-04]",
    "SLURM_LOCALID": "0",
}
BATCH_SCRIPT = {"SLURM_PROCID": "0", "SLURM_NTASKS": "4", "SLURM_JOB_ID": "77"}
OPEN_MPI = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_RANK": "1"}
HOROVOD = {"HOROVOD_RANK": "3", "HOROVOD_SIZE": "4", "HOROVOD_LOCAL_RANK": "1", "HOROVOD_GLOO_RENDEZVOUS_PORT": "9"}


@pytest.mark.parametrize(
    ("environment", "launcher", "task", "workers"),
    [
        (config("worker", 1, worker=["a:1", "b:1", "c:1"]), "TF_CONFIG", Task("worker", 1), 3),
        (config("chief", 0, chief=["a:1"], worker=["b:1", "c:1"]), "TF_CONFIG", Task("chief", 0), 3),
        (config("worker", 4, worker={"4": "a:1"}, ps=["b:1"]), "TF_CONFIG", Task("worker", 4), 2),
        (config("evaluator", 0, chief=["a:1"]), "TF_CONFIG", Task("evaluator", 0), 2),
        (TFJOB, "TF_CONFIG", Task("worker", 1), 3),
        (SLURM, "Slurm", Task("worker", 2), 4),
        ({**SLURM, **config("worker", 0, worker=["a:1"])}, "TF_CONFIG", Task("worker", 0), 1),
        (OPEN_MPI, "Open MPI", Task("worker", 1), 2),
        ({**OPEN_MPI, **SLURM}, "Open MPI", Task("worker", 1), 2),
        (HOROVOD, "Horovod", Task("worker", 3), 4),
        ({**HOROVOD, **OPEN_MPI}, "Horovod", Task("worker", 3), 4),
        ({"PMI_RANK": "1", "PMI_SIZE": "8"}, "MPI", Task("worker", 1), 8),
        ({"MV2_COMM_WORLD_RANK": "0", "MV2_COMM_WORLD_SIZE": "2"}, "MVAPICH", Task("worker", 0), 2),
        ({"JOB_COMPLETION_INDEX": "5"}, "Kubernetes", Task("worker", 5), 0),
    ],
)
def test_the_launcher_says_which_worker_it_is(
    environment: dict[str, str], launcher: str, task: Task, workers: int
) -> None:
    found = identify(environment)
    assert found is not None
    assert (found.launcher, found.task, len(found.tasks)) == (launcher, task, workers)


@pytest.mark.parametrize(
    "environment",
    [
        {},
        BATCH_SCRIPT,
        {"TF_CONFIG": ""},
        {"TF_CONFIG": "{"},
        {"TF_CONFIG": "[1]"},
        {"TF_CONFIG": '{"cluster": {"worker": ["a:1"]}}'},
        {"TF_CONFIG": '{"cluster": null, "task": {"type": "worker", "index": 0}}'},
        {"OMPI_COMM_WORLD_RANK": "one", "OMPI_COMM_WORLD_SIZE": "2"},
        {"PMI_RANK": "1"},
    ],
)
def test_what_says_nothing_of_a_worker_makes_none(environment: dict[str, str]) -> None:
    assert identify(environment) is None


def test_a_capture_is_the_file_that_is_named_or_the_workers_own_in_a_directory(tmp_path: Path) -> None:
    new, there = tmp_path / "new", tmp_path / "there"
    there.mkdir()
    assert capture_of(str(tmp_path / "a.jsonl"), SLURM)[0] == str(tmp_path / "a.jsonl")
    assert capture_of(f"{new}/", SLURM)[0] == str(new / "capture-worker-2.jsonl")
    assert new.is_dir()
    assert capture_of(str(there), OPEN_MPI)[0] == str(there / "capture-worker-1.jsonl")
    path, found = capture_of(str(there), {})
    assert found is None
    assert path.startswith(f"{there}/capture-") and path.endswith(f"-{os.getpid()}.jsonl")


def test_the_name_of_a_job_is_no_path(tmp_path: Path) -> None:
    path, _ = capture_of(f"{tmp_path}/", config("../etc", 0, worker=["a:1"]))
    assert path == str(tmp_path / "capture-.._etc-0.jsonl")
