"""Which worker of a cluster a process is, as whoever launched it says in its environment.

`TF_CONFIG` is what TensorFlow itself reads (`tf.distribute.cluster_resolver.TFConfigClusterResolver`); Kubernetes'
TFJob, Ray Train and Vertex AI set it. The others set a rank and a number of ranks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from gpulint.probe.capture.records import Task, Worker

TF_CONFIG = "TF_CONFIG"

WORKER = "worker"
"""The job of a rank; TensorFlow's resolver for Slurm has the same name for it."""


class Ranks(NamedTuple):
    """How a launcher numbers its processes: the variable with a process' number, from 0, and the one with how many
    there are, "" where it says nothing of that."""

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
"""By who is nearer to the program: `mpirun` inside of a Slurm job has Slurm's variables, too, which number its own
daemons. Slurm counts a batch script as process 0, but only what `srun` starts is a step with a number of tasks. The
index is that of a Kubernetes Job whose `completionMode` is `Indexed`."""


def identify(environment: Mapping[str, str]) -> Worker | None:
    """Which worker a process with this environment is, None where nothing says so."""
    found = of_tf_config(environment.get(TF_CONFIG, ""))
    return found if found is not None else next(_of_ranks(environment), None)


def of_tf_config(text: str) -> Worker | None:
    """The worker that a TF_CONFIG speaks of, None where it names none. TensorFlow complains of one that it cannot
    read."""
    try:
        config = json.loads(text)
        job, index = config["task"]["type"], int(config["task"]["index"])
        tasks = [Task(str(job), place) for job, hosts in config["cluster"].items() for place in _indices(hosts)]
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    own = Task(str(job), index)
    return Worker(own.job, own.index, TF_CONFIG, tuple(dict.fromkeys([*tasks, own])))


def file_name(task: Task) -> str:
    """The name of a worker's capture in the directory of all of them."""
    return f"capture-{re.sub(r'[^A-Za-z0-9_.]', '_', task.job)}-{task.index}.jsonl"


def _indices(hosts: Any) -> list[int]:
    """A sparse cluster has a dictionary of those that a task needs to know."""
    return [int(index) for index in hosts] if isinstance(hosts, dict) else list(range(len(hosts)))


def _of_ranks(environment: Mapping[str, str]) -> Iterator[Worker]:
    for ranks in RANKS:
        rank, size = environment.get(ranks.rank, ""), environment.get(ranks.size, "")
        if rank.isdecimal() and (size.isdecimal() or not ranks.size):
            count = int(size) if size else 0
            yield Worker(WORKER, int(rank), ranks.launcher, tuple(Task(WORKER, index) for index in range(count)))
