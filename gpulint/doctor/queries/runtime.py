"""TensorFlow's view of this machine's GPUs, step by step; its log goes to standard error.

Listing allocates no GPU memory. `compute` then creates TensorFlow's devices, with memory growth, and runs a matrix
product and a convolution on each: only that shows whether cuBLAS and cuDNN work, and whether there are kernels for the
card.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from typing import Any


def ask(write: Callable[[str, Any], None], compute: bool) -> None:
    """Writes `begin` before each step, then `imported`, `build`, `gpus`, `logical` and `computed`."""
    write("begin", "import")
    began = time.monotonic()
    tf = importlib.import_module("tensorflow")

    version = getattr(tf, "__version__", "")
    write("imported", {"version": version, "seconds": round(time.monotonic() - began, 2)})
    write("begin", "build")
    if hasattr(tf, "sysconfig") and hasattr(tf.sysconfig, "get_build_info"):  # since 2.3
        write("build", dict(tf.sysconfig.get_build_info()))
    elif hasattr(tf, "test"):
        write("build", {"is_cuda_build": tf.test.is_built_with_cuda()})
    if not hasattr(tf, "config"):
        raise AttributeError("module 'tensorflow' has no attribute 'config'")
    config: Any = tf.config if hasattr(tf.config, "list_physical_devices") else tf.config.experimental
    write("begin", "list")
    gpus = config.list_physical_devices("GPU")
    write("gpus", [{"name": one.name, "details": _details(tf, one)} for one in gpus])
    if not (gpus and compute):
        return
    write("begin", "create")
    for one in gpus:
        tf.config.experimental.set_memory_growth(one, True)
    logical = [one.name for one in config.list_logical_devices("GPU")]
    write("logical", logical)
    for name in logical:
        _compute(tf, name, write)


def _details(tf: Any, gpu: Any) -> dict[str, Any]:
    try:
        return dict(tf.config.experimental.get_device_details(gpu))  # since 2.4
    except Exception:  # documented as best effort
        return {}


def _compute(tf: Any, device: str, write: Callable[[str, Any], None]) -> None:
    began = time.monotonic()
    with tf.device(device):
        write("begin", "matrix product on " + device)
        square = tf.ones((256, 256))
        tf.linalg.matmul(square, square).numpy()
        write("begin", "convolution on " + device)
        tf.nn.conv2d(tf.ones((1, 8, 8, 4)), tf.ones((3, 3, 4, 4)), 1, "SAME").numpy()
    write("computed", {"device": device, "seconds": round(time.monotonic() - began, 2)})
