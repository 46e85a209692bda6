"""All private API of TensorFlow that a simulation depends on.

Tested on 2.16, 2.18 and 2.21. Wrappers replace functions that TensorFlow's own Python code calls, so those must not
only exist but be called: `missing` checks the sources before the program runs, without importing TensorFlow.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from importlib import import_module
from typing import Any

from gpulint.probe.agent.executors import is_asynchronous

_NEEDED = {
    "python/eager/context.py": (
        *("pywrap_tfe.TF_ListPhysicalDevices()", "pywrap_tfe.TF_DeviceListName(", "pywrap_tfe.TF_DeviceListType("),
        *("pywrap_tfe.TF_GetDeviceDetails(", "pywrap_tfe.TFE_GetMemoryInfo(", "pywrap_tfe.TFE_ResetMemoryStats("),
        "pywrap_tfe.TFE_ContextGetExecutorForThread(self._context_handle)",
        *("def config(self)", "def device_name(self)", "self._thread_local_data.device_name"),
        *("self._soft_device_placement", "self._context_handle", "self._context_devices", "self._virtual_device_map"),
    ),
    "python/eager/executor.py": (
        *("pywrap_tfe.TFE_ExecutorIsAsync(self._handle)", "pywrap_tfe.TFE_DeleteExecutor(self._handle)"),
    ),
    "python/eager/core.py": ("class _NotOkStatusException(Exception)",),
    "python/eager/execute.py": ("pywrap_tfe.TFE_Py_Execute(", "pywrap_tfe.TFE_Py_ExecuteCancelable("),
    "python/ops/gen_math_ops.py": ("pywrap_tfe.TFE_Py_FastPathExecute(",),
    "python/framework/constant_op.py": ("ops.EagerTensor(value, ctx.device_name, dtype)",),
    "python/framework/ops.py": (
        *("TFE_Py_InitEagerTensor", "self._copy_to_device(device_name)", "op._set_device_from_string("),
        *("def _create_op_helper(self, op, compute_device", "TF_OperationDevice(self._c_op)"),
        "class SymbolicTensor(",
    ),
    "python/client/device_lib.py": ("_pywrap_device_lib.list_devices(",),
    "python/client/session.py": (
        *("tf_session.TF_NewSessionOptions(", "tf_session.TF_DeviceListName("),
        *("def _extend_graph(self)", "self._config = config"),
    ),
    "python/framework/test_util.py": ("_pywrap_util_port.IsGoogleCudaEnabled()",),
    "python/ops/collective_ops.py": ("communication_hint=",),
    "python/ops/nccl_ops.py": ("def _apply_all_reduce(reduction, tensors",),
    "python/framework/errors_impl.py": ("def __init__(self, node_def, op, message, error_code",),
    "python/ops/script_ops.py": ("def __call__(self, token, device, args)",),
}
"""File of TensorFlow → texts it must contain."""


class Unsupported(Exception):
    """GPUs cannot be simulated on this TensorFlow. The message says what is missing."""


def missing() -> str:
    """Private API that the installed TensorFlow lacks, in one line; "" if none, or if it is not installed."""
    try:
        found = importlib.util.find_spec("tensorflow")
    except (ImportError, ValueError):
        found = None
    if found is None or not found.submodule_search_locations:
        return ""
    root = next(iter(found.submodule_search_locations))
    for name, texts in _NEEDED.items():
        try:
            with open(os.path.join(root, name), encoding="utf-8") as file:
                source = file.read()
        except OSError:
            return f"this TensorFlow has no tensorflow/{name}"
        for text in texts:
            if text not in source:
                return f"this TensorFlow has no `{text}` in tensorflow/{name}"
    return ""


class Pieces:
    """The wrapped modules. Raises Unsupported if one is missing."""

    def __init__(self) -> None:
        self.tfe = _module("tensorflow.python.pywrap_tfe")
        self.sessions = _module("tensorflow.python.client.pywrap_tf_session")
        self.client = _module("tensorflow.python.client.session")
        self.device_list = _module("tensorflow.python.client._pywrap_device_lib")
        self.build = _module("tensorflow.python.util._pywrap_util_port")
        self.context = _module("tensorflow.python.eager.context")
        self.core = _module("tensorflow.python.eager.core")
        self.ops = _module("tensorflow.python.framework.ops")
        self.dtypes = _module("tensorflow.python.framework.dtypes")
        self.op_definitions = _module("tensorflow.python.framework.op_def_registry")
        self.kernels = _module("tensorflow.python.framework.kernels")
        self.errors = _module("tensorflow.python.framework.errors_impl")
        self.math = _module("tensorflow.python.ops.math_ops")
        self.nccl = _module("tensorflow.python.ops.nccl_ops")
        self.collectives = _module("tensorflow.python.ops.collective_ops")
        self.scripts = _module("tensorflow.python.ops.script_ops")
        self.config_proto = _module("tensorflow.core.protobuf.config_pb2")
        self.types_proto = _module("tensorflow.core.framework.types_pb2")
        self.attributes_proto = _module("tensorflow.core.framework.device_attributes_pb2")
        self.attribute_value = _module("tensorflow.core.framework.attr_value_pb2")

    def count_devices(self) -> None:
        """Counts the devices, also before the runtime is up, when a graph is built without it."""
        context = self.context.context()
        if context._context_handle is None:
            context.config  # noqa: B018 (counts them)

    def is_asynchronous(self) -> bool:
        """Whether this thread runs operations later, so that asking for a tensor's size waits for its value."""
        return is_asynchronous(self.tfe, self.context.context()._context_handle)

    def is_soft(self) -> bool:
        """Whether an operation may go to a device other than the requested one."""
        return self.context.context()._soft_device_placement is not False


def _module(name: str) -> Any:
    try:
        return sys.modules.get(name) or import_module(name)
    except ImportError as error:
        raise Unsupported(f"this TensorFlow has no {name} ({error})") from None
