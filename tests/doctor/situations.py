"""A healthy machine, of which tests change one thing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from gpulint.doctor import messages
from gpulint.doctor.answer import Answer
from gpulint.doctor.causes import diagnose
from gpulint.doctor.diagnosis import Diagnosis
from gpulint.doctor.evidence import Build, Card, Distribution, Evidence, Gpu, Interpreter, Library
from gpulint.doctor.machine import BusCard, Machine
from gpulint.probe.measures.cards import Row

FIXTURES = Path(__file__).parents[2] / "fixtures" / "doctor"
SITE = "/venv/lib/python3.11/site-packages"
GIB = 1 << 30

MACHINE = Machine(
    system="Linux",
    architecture="x86_64",
    distribution="ubuntu",
    bus_cards=(BusCard("0000:86:00.0", "nvidia"), BusCard("0000:87:00.0", "nvidia")),
    kernel_driver="550.54.15",
    device_files={f"/dev/{name}": True for name in ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm")},
    directory="/home/user/work",
)
REQUIRES = (
    "protobuf<8.0.0,>=6.31.1",
    "numpy>=1.26.0",
    'nvidia-cudnn-cu12<10.0,>=9.3.0.75; extra == "and-cuda"',
    'nvidia-cublas-cu12<13.0,>=12.5.3.2; extra == "and-cuda"',
    'nvidia-nccl-cu12<3.0,>=2.27.7; extra == "and-cuda"',
)
INTERPRETER = Interpreter(
    executable="/venv/bin/python",
    version="3.11.7",
    package=f"{SITE}/tensorflow",
    kind="package",
    distributions=(Distribution("tensorflow", "2.21.0", SITE),),
    requires=REQUIRES,
    wheels=(f"{SITE}/nvidia/cudnn/lib", f"{SITE}/nvidia/cublas/lib"),
)
BUILD = Build(
    cuda=True,
    cuda_version="12.5.1",
    cudnn_version="9",
    capabilities=("sm_60", "sm_70", "sm_80", "sm_89", "compute_90"),
)
H100 = "NVIDIA H100 80GB HBM3"
CARDS = (
    Card(0, H100, "GPU-aaaa", "0000:86:00.0", (9, 0)),
    Card(1, H100, "GPU-bbbb", "0000:87:00.0", (9, 0)),
)
GPUS = (
    Gpu("/physical_device:GPU:0", H100, "0000:86:00.0", (9, 0)),
    Gpu("/physical_device:GPU:1", H100, "0000:87:00.0", (9, 0)),
)
ANSWERED = Answer("answered", "convolution on /device:GPU:1", values={"gpus": [], "imported": {}})
COMPUTED = {"/device:GPU:0": 1.5, "/device:GPU:1": 0.5}
HEALTHY = Evidence(
    machine=MACHINE,
    interpreter=INTERPRETER,
    asked_tensorflow=ANSWERED,
    asked_libraries=Answer("answered", "libnccl.so.2"),
    asked_cards=Answer("answered", "memory"),
    messages=messages.read(""),
    version="2.21.0",
    build=BUILD,
    gpus=GPUS,
    libraries=tuple(
        Library(name, f"/usr/lib/{name}")
        for name in ("libcudart.so.12", "libcudnn.so.9", "libcuda.so.1", "libnvidia-ml.so.1")
    ),
    cards=CARDS,
    memory=tuple(Row(card.bus, H100, 80 * GIB, GIB, 0, 0, 0) for card in CARDS),
    driver="550.54.15",
    cuda_driver="12.4",
)


def on(evidence: Evidence = HEALTHY, *, environment: dict[str, str] | None = None, **changes: Any) -> Evidence:
    """A machine with other fields; those of its parts by their own names: `machine={…}`, `interpreter={…}`."""
    for part in ("machine", "interpreter", "build"):
        if isinstance(changes.get(part), dict):
            changes[part] = replace(getattr(evidence, part), **changes[part])
    if environment is not None:
        changes["machine"] = replace(changes.get("machine", evidence.machine), environment=environment)
    return replace(evidence, **changes)


NO_GPUS: dict[str, Any] = {"gpus": ()}
"""The change to a machine of which TensorFlow lists no GPU."""

NO_HARDWARE = on(
    machine={"bus_cards": (), "kernel_driver": "", "device_files": {}},
    cards=(),
    memory=(),
    gpus=(),
    driver="",
    cuda_driver="",
    no_cards="NVMLError_LibraryNotFound: NVML Shared Library Not Found",
)


def log(name: str) -> str:
    """A recorded log without the row that names its source."""
    text = (FIXTURES / name).read_text(encoding="utf-8")
    head, _, rest = text.partition("\n")
    assert head.startswith("# ")
    return rest


def only(evidence: Evidence) -> Diagnosis:
    """The only finding about a machine."""
    (one,) = diagnose(evidence)
    return one


def ids(evidence: Evidence) -> list[str]:
    """The findings about a machine."""
    return [one.id for one in diagnose(evidence)]


def said(name: str) -> messages.Messages:
    """What TensorFlow says in a recorded log."""
    return messages.read(log(name))
