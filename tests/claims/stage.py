"""The child side of the runtime claims: runs programs on a small stage set up inside real TensorFlow.

It runs in a fork of a process that has imported TensorFlow (`tests.warm`). Its argument is a job as JSON: program,
args, gpus, devices, observe, directory, seconds, and the file of the report.

The stage has two pieces, each there only when the program's `# run:` line asks for it:

* `gpus=N` enters N entries into the list of *physical* GPUs. The checks behind `tf.config` (late, mixed or
  contradictory configuration) are Python code over that list, so TensorFlow's own code answers, its own errors
  are raised. No kernel stands behind these GPUs.
* `devices=N` splits the CPU into N logical devices and lets them stand for GPU 0 … N-1: the GPU names that
  `tf.device` and the strategies are given are turned into the names of these devices, and
  `tf.config.list_logical_devices("GPU")` names them. `MirroredStrategy()` without arguments takes them all,
  as TensorFlow does by itself where there is no GPU.
"""

from __future__ import annotations

import json
import os
import re
import runpy
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

HEAVY = frozenset({"MatMul", "BatchMatMulV2", "Conv2D", "Conv3D", "Einsum"})
"""Operations that represent the work of a model: their devices are where the program computes."""

SHAPE_INFERENCE = "scratch_graph"
"""Name of the graphs in which Keras 3 only infers shapes; they are never run."""

DEFAULT_DEVICE = "CPU:0"

GPU_NAME = re.compile(r"^/?(?:device:)?gpu:(\d+)$", re.IGNORECASE)


def stand_in(name: Any) -> Any:
    """The logical CPU that acts as a named GPU; other names are returned unchanged."""
    match = GPU_NAME.match(name) if isinstance(name, str) else None
    return f"/device:CPU:{match[1]}" if match else name


def _enter_physical_gpus(tf: Any, count: int) -> None:
    context = sys.modules["tensorflow.python.eager.context"].context()
    context._initialize_physical_devices()
    for index in range(count):
        gpu = tf.config.PhysicalDevice(f"/physical_device:GPU:{index}", "GPU")
        context._physical_devices.append(gpu)
        context._physical_device_to_index[gpu] = len(context._physical_devices) - 1
        context._visible_device_list.append(gpu)
        context._memory_growth_map[gpu] = None


def _first_argument_translated(function: Callable[..., Any], keyword: str, position: int) -> Callable[..., Any]:
    def translate(value: Any) -> Any:
        return [stand_in(each) for each in value] if isinstance(value, list | tuple) else stand_in(value)

    def translated(*args: Any, **kwargs: Any) -> Any:
        arguments = list(args)
        if keyword in kwargs:
            kwargs[keyword] = translate(kwargs[keyword])
        elif len(arguments) > position:
            arguments[position] = translate(arguments[position])
        return function(*arguments, **kwargs)

    return translated


def _let_cpus_stand_for_gpus(tf: Any, count: int) -> None:
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * count)

    for namespace in (tf, tf.compat.v2, tf.compat.v1):
        namespace.device = _first_argument_translated(namespace.device, "device_name", 0)
    for strategy, keyword in (
        (tf.distribute.MirroredStrategy, "devices"),
        (tf.distribute.OneDeviceStrategy, "device"),
    ):
        strategy.__init__ = _first_argument_translated(strategy.__init__, keyword, 1)

    listed = tf.config.list_logical_devices

    def list_logical_devices(device_type: str | None = None) -> list[Any]:
        if device_type == "GPU":
            listed()
            return [tf.config.LogicalDevice(f"/device:GPU:{index}", "GPU") for index in range(count)]
        found: list[Any] = listed(device_type)
        return found

    for namespace in (tf.config, tf.config.experimental, tf.compat.v2.config):
        namespace.list_logical_devices = list_logical_devices


class Observer:
    """The devices of the program's operations, as TensorFlow's operation callbacks report them."""

    def __init__(self, tf: Any, root: Path) -> None:
        self.root = str(root)
        self.resource = tf.resource
        self.context = sys.modules["tensorflow.python.eager.context"].context
        self.busy: set[str] = set()
        self.crossings: set[tuple[str, int]] = set()

    def __call__(
        self, op_type: Any, inputs: Any, attrs: Any, outputs: Any, op_name: Any = None, graph: Any = None
    ) -> None:
        name = op_type.decode() if isinstance(op_type, bytes) else str(op_type)
        if name in HEAVY and not str(getattr(graph, "name", "")).startswith(SHAPE_INFERENCE):
            # A graph node without a device runs where its function is called: in the device scope around the trace.
            device = outputs[0].device or self.context().device_name
            self.busy.add(device.rpartition("device:")[2] if device else DEFAULT_DEVICE)
        if graph is not None or self.context().device_name:
            return
        read = {tensor.device for tensor in inputs if tensor.dtype != self.resource}
        if len(read) > 1:
            row = self._row_of_program()
            if row is not None:
                self.crossings.add(row)

    def _row_of_program(self) -> tuple[str, int] | None:
        frame = sys._getframe()
        while frame is not None:
            if frame.f_code.co_filename.startswith(self.root):
                return frame.f_code.co_filename, frame.f_lineno
            frame = frame.f_back  # type: ignore[assignment]
        return None


def set_up(gpus: int, devices: int) -> None:
    """Add entries to the list of physical GPUs, and let logical CPUs act as GPUs."""
    import tensorflow as tf

    if gpus:
        _enter_physical_gpus(tf, gpus)
    if devices:
        _let_cpus_stand_for_gpus(tf, devices)


def perform(job: dict[str, Any]) -> dict[str, Any]:
    """Run a program as `__main__`; return how it ended and where it computed."""
    import tensorflow as tf

    program = Path(job["program"])
    observer = Observer(tf, program.parent)
    sys.argv = [program.name, *job["args"]]
    sys.path[0] = str(program.parent)
    os.chdir(job["directory"])
    raised = None
    row = 0
    try:
        set_up(job["gpus"], job["devices"])
        if job["observe"]:
            sys.modules["tensorflow.python.framework.op_callbacks"].add_op_callback(observer)
        runpy.run_path(str(program), run_name="__main__")
    except SystemExit as end:
        if end.code:
            raised = ("SystemExit", str(end.code))
    except BaseException as error:
        traceback.print_exc()
        raised = (type(error).__name__, str(error))
        rows = [
            frame.lineno or 0
            for frame in traceback.extract_tb(error.__traceback__)
            if frame.filename.startswith(str(program.parent))
        ]
        row = rows[-1] if rows else 0
    return {
        "raised": raised,
        "row": row,
        "busy": sorted(observer.busy),
        "crossings": sorted(observer.crossings),
    }


def main() -> None:
    """Run the job and write the report of it."""
    job = json.loads(sys.argv[1])
    signal.alarm(job["seconds"])
    report = perform(job)
    sys.stdout.flush()
    sys.stderr.flush()
    Path(job["report"]).write_text(json.dumps(report), encoding="utf-8")
    os._exit(0)  # threads of TensorFlow crash in some of the ordinary ends


if __name__ == "__main__":
    main()
