"""Known errors of TensorFlow about devices, memory and strategies, with their meaning and the rule or check about
them."""

from __future__ import annotations

import re
from typing import NamedTuple


class Known(NamedTuple):
    """An error, identified by a part of its text. `code`: the rule of `gpulint check` that predicts it, the check of
    the probe, or ""."""

    text: str
    means: str
    code: str = ""


_OUT = "out-of-memory"

KNOWN = (
    Known("OOM when allocating", "The device is full. Use a smaller batch or model, or more GPUs.", _OUT),
    Known("Dst tensor is not initialized", "The GPU is full: a copy from the host did not fit.", _OUT),
    Known("CUDA_ERROR_OUT_OF_MEMORY", "The card is full; other programs may be using it.", "mem-foreign"),
    Known("Out of memory", "An allocation was refused. Use a smaller batch or model, or more GPUs.", _OUT),
    Known("Memory growth cannot differ", "Set memory growth for all GPUs or for none.", "GPU303"),
    Known(
        "Physical devices cannot be modified after being initialized",
        "Memory growth and limits must be set before the first operation.",
        "GPU301",
    ),
    Known(
        "Virtual devices cannot be modified after being initialized",
        "GPUs must be split before the first operation.",
        "GPU301",
    ),
    Known(
        "Visible devices cannot be modified after being initialized",
        "Devices must be hidden before the first operation.",
        "GPU301",
    ),
    Known("Cannot set memory growth on device when virtual", "A split GPU has a limit and no growth.", "GPU306"),
    Known("Mixing different tf.distribute.Strategy", "A variable was created outside the strategy's scope.", "GPU201"),
    Known(
        "must only be passed a variable created in this",
        "The optimizer and the variables come from different strategies, or one of them from none.",
        "GPU202",
    ),
    Known("under a different strategy scope", "The optimizer was created outside the strategy's scope.", "GPU202"),
    Known('Need to be inside "with strategy.scope()"', "Create and compile the model in `strategy.scope()`.", "GPU201"),
    Known(
        "Collective ops must be configured at program startup",
        "Create MultiWorkerMirroredStrategy before anything else of TensorFlow.",
        "GPU702",
    ),
    Known("merge_call called while defining a new graph", "Replicas cannot merge inside a branch or a loop.", "GPU215"),
    Known("`merge_call` called while", "Replicas cannot merge inside a branch or a loop.", "GPU215"),
    Known("gradient_accumulation_steps", "Keras cannot accumulate gradients under this strategy.", "GPU215"),
    Known(
        "You must feed a value for placeholder tensor 'cond/",
        "The replicas of the first step created variables: build the model and the optimizer in the scope first "
        "(`optimizer.build(model.trainable_variables)`).",
        "GPU217",
    ),
    Known("Could not satisfy device specification", "The requested device does not exist.", "GPU107"),
    Known("Could not satisfy explicit device specification", "The requested device does not exist.", "GPU107"),
    Known("unknown device", "The requested device does not exist.", "GPU107"),
    Known("Cannot assign a device for operation", "The device, or its kernel for the operation, is missing.", "GPU105"),
    Known("tried to create variables on non-first call", "A `tf.function` creates variables again on each call."),
    Known(
        "Trying to access resource",
        "XLA compiles for one device, and a variable is on another: create the whole model in `strategy.scope()`.",
    ),
    Known("Detected unsupported operations when trying to compile", "XLA cannot compile this: drop `jit_compile`."),
    Known(
        "Inputs to operation AddN of type AddN must have the same size",
        "The replicas have results of different sizes, as of an uneven last batch: pass `drop_remainder=True`.",
        "replica-batch",
    ),
    Known("Failed to get convolution algorithm", "cuDNN did not start, usually for lack of memory.", "growth-set"),
    Known("could not create cudnn handle", "cuDNN did not start, usually for lack of memory.", "growth-set"),
    Known("No algorithm worked", "cuDNN had too little memory for a convolution. Use a smaller batch.", _OUT),
    Known("DNN library is not found", "cuDNN is missing, or another version: ask `gpulint doctor`."),
    Known("libdevice not found", "XLA needs CUDA's libdevice: ask `gpulint doctor`."),
    Known("no kernel image is available", "TensorFlow was not built for this card: ask `gpulint doctor`."),
    Known("CUDA_ERROR_NO_DEVICE", "The driver shows no GPU: ask `gpulint doctor`."),
    Known("failed call to cuInit", "The driver does not start: ask `gpulint doctor`."),
    Known("only supports the NHWC tensor format on the CPU", "The operation fell back to the CPU.", "no-cpu-fallback"),
    Known("only supports NHWC", "The operation fell back to the CPU.", "no-cpu-fallback"),
    Known("unhandled cuda error", "NCCL failed: set NCCL_DEBUG=WARN to see why."),
    Known("Socket closed", "A worker of the cluster has ended: look at its own output.", "worker-joined"),
    Known("heartbeat timeout", "A worker of the cluster has ended: look at its own output.", "worker-joined"),
    Known(
        "PerReplica",
        "A per-replica value is used as one tensor: reduce it first. Keras 3's `fit` fails so on several workers.",
        "GPU214",
    ),
)  # fmt: skip

_NOISE = re.compile(
    r"^( +File |Detected at node|Graph execution error:$|\s*$|\t \[\[|Hint: |\d+ root error\(s\) found"
    r"|Exception encountered when calling )"
)
_FRAME = re.compile(r"\x1b\[\d*m|\{\{function_node \S+\}\} *")
"""How Keras highlights an error inside a layer, and how TensorFlow names the graph that it is in."""

_ROOT = re.compile(r"^\(\d+\) [A-Z_]+: +")
"""How TensorFlow numbers the errors of several devices."""


def known(error: str) -> Known | None:
    """The known error whose text occurs first."""
    lowered = error.lower()
    return next((one for one in KNOWN if one.text.lower() in lowered), None)


_TRACED = ": in user code:\n"
"""How AutoGraph begins the message of an error in code that it traces: the stack and the error itself follow."""

_TOLD = re.compile(r"\n\n {4,}([A-Za-z_][\w.]*: .)")


def headline(error: str) -> str:
    """Type and relevant line of an error: for an error in a graph, or while tracing one, that is not the first line."""
    if _TRACED in error and (told := _TOLD.search(error, error.rfind('File "'))) is not None:
        return headline(error[told.start(1) :].replace("\n    ", "\n"))
    kind, _, rest = error.partition(": ")
    lines = [line for line in _FRAME.sub("", rest).split("\n") if not _NOISE.match(line)]
    return f"{kind}: {_ROOT.sub('', lines[0].strip())}" if lines else error.split("\n")[0]
