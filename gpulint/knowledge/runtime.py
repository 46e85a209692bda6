"""Functions that configure or initialise TensorFlow's runtime.

Each entry was run in a fresh process on TensorFlow 2.16 and 2.21: `context.context()._initialized` before and after,
and whether the call raises once an operation has run. `set_soft_device_placement`, `optimizer.set_jit`,
`enable_op_determinism` and `set_synchronous_execution` do not raise then, and are not listed.
"""

from __future__ import annotations

from gpulint.knowledge.facts import Fact, Initialises, Kind

_CONFIG = "tensorflow.config."


def _configures(detail: str, *params: str, initialises: Initialises = Initialises.NO) -> Fact:
    return Fact(Kind.CONFIG, params, initialises, detail)


def _query(detail: str, initialises: Initialises, *params: str) -> Fact:
    return Fact(Kind.QUERY, params, initialises, detail)


def _starts(*params: str) -> Fact:
    return Fact(Kind.OTHER, params, Initialises.YES)


RUNTIME = {
    _CONFIG + "experimental.set_memory_growth": _configures(
        "memory_growth", "device", "enable", initialises=Initialises.DRIVER
    ),
    _CONFIG + "set_logical_device_configuration": _configures(
        "logical_devices", "device", "logical_devices", initialises=Initialises.DRIVER
    ),
    _CONFIG + "set_visible_devices": _configures(
        "visible_devices", "devices", "device_type", initialises=Initialises.DRIVER
    ),
    _CONFIG + "threading.set_inter_op_parallelism_threads": _configures("threading", "num_threads"),
    _CONFIG + "threading.set_intra_op_parallelism_threads": _configures("threading", "num_threads"),
    _CONFIG + "list_physical_devices": _query("physical", Initialises.DRIVER, "device_type"),
    _CONFIG + "get_visible_devices": _query("visible", Initialises.DRIVER, "device_type"),
    _CONFIG + "list_logical_devices": _query("logical", Initialises.YES, "device_type"),
    _CONFIG + "experimental.get_device_details": _query("details", Initialises.DRIVER, "device"),
    _CONFIG + "experimental.get_memory_info": _query("memory", Initialises.YES, "device"),
    "tensorflow.test.is_gpu_available": _query("legacy", Initialises.MAYBE),
    "tensorflow.test.gpu_device_name": _query("legacy", Initialises.MAYBE),
    "tensorflow.python.client.device_lib.list_local_devices": _query("legacy", Initialises.MAYBE),
    "tensorflow.compat.v1.InteractiveSession": _query("session", Initialises.DRIVER),
    "tensorflow.compat.v1.Session": _query("session", Initialises.DRIVER),
    "tensorflow.Variable": Fact(
        Kind.VARIABLE,
        ("initial_value", "trainable", "validate_shape", "caching_device", "name", "variable_def", "dtype"),
        Initialises.YES,
    ),
    "tensorflow.keras.Variable": Fact(Kind.VARIABLE, ("initializer", "shape", "dtype"), Initialises.YES),
    "tensorflow.random.Generator.from_seed": _starts("seed"),
    "tensorflow.random.Generator.from_non_deterministic_state": _starts(),
    "tensorflow.summary.create_file_writer": _starts("logdir"),
}
"""Canonical name → fact."""
