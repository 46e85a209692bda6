"""Identifies which worker of a cluster a process is, from its launcher's environment variables.

`TF_CONFIG` is what TensorFlow itself reads (`tf.distribute.cluster_resolver.TFConfigClusterResolver`); Kubernetes'
TFJob, Ray Train and Vertex AI set it. Other launchers set a rank and a number of ranks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from gpulint.probe.capture.records import Task, Worker

TF_CONFIG = "TF_CONFIG"

WORKER = "worker"
"""The job of a rank, as in TensorFlow's Slurm resolver."""


class Ranks(NamedTuple):
    """A launcher's variables: the rank of a process, from 0, and the number of ranks, "" if it sets none."""

    launcher: str
    rank: str
    size: str


RANKS = (
    Ranks("Horovod", "HOROVOD_RANK", "HOROVOD_SIZE"),
    Ranks("Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    Ranks("MVAPICH", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"),
    Ranks("MPI", "PMI_RANK", "PMI_SIZE"),
    Ranks("Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
    Ranks("Kubernetes", "JOB_COMPLETION_INDEX", ""),
)
"""Innermost launcher first: `mpirun` inside a Slurm job also sees Slurm's variables, which number mpirun's own
daemons. Slurm gives a batch script rank 0, but only `srun` sets a number of tasks. The index is that of a Kubernetes
Job with `completionMode: Indexed`."""


def identify(environment: Mapping[str, str]) -> Worker | None:
    """The worker that a process with this environment is, or None."""
    found = of_tf_config(environment.get(TF_CONFIG, ""))
    return found if found is not None else next(_of_ranks(environment), None)


def of_tf_config(text: str) -> Worker | None:
    """The worker in a TF_CONFIG, None if it names none. TensorFlow reports an unreadable one."""
    try:
        config = json.loads(text)
        job, index = config["task"]["type"], int(config["task"]["index"])
        tasks = [Task(str(job), place) for job, hosts in config["cluster"].items() for place in _indices(hosts)]
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    own = Task(str(job), index)
    return Worker(own.job, own.index, TF_CONFIG, tuple(dict.fromkeys([*tasks, own])))


def file_name(task: Task) -> str:
    """File name of a worker's capture."""
    return f"capture-{re.sub(r'[^A-Za-z0-9_.]', '_', task.job)}-{task.index}.jsonl"


def _indices(hosts: Any) -> list[int]:
    """A sparse cluster is a dictionary of the members that a task needs to know."""
    return [int(index) for index in hosts] if isinstance(hosts, dict) else list(range(len(hosts)))


def _of_ranks(environment: Mapping[str, str]) -> Iterator[Worker]:
    for ranks in RANKS:
        rank, size = environment.get(ranks.rank, ""), environment.get(ranks.size, "")
        if rank.isdecimal() and (size.isdecimal() or not ranks.size):
            count = int(size) if size else 0
            yield Worker(WORKER, int(rank), ranks.launcher, tuple(Task(WORKER, index) for index in range(count)))
