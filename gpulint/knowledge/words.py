"""Identifiers that give a subject away, for `Rule.speaks_of`."""

from __future__ import annotations

STRATEGY_WORDS = frozenset(
    {
        "MirroredStrategy",
        "MultiWorkerMirroredStrategy",
        "CentralStorageStrategy",
        "ParameterServerStrategy",
        "ParameterServerStrategyV2",
        "TPUStrategy",
        "OneDeviceStrategy",
        "CollectiveAllReduceStrategy",
    }
)
"""Without one of these a program makes no strategy."""

DEVICE_WORDS = frozenset({"device(", "DeviceSpec"})
"""Without one of these a program places nothing by hand."""

CONFIG_WORDS = frozenset(
    {
        "set_memory_growth",
        "set_logical_device_configuration",
        "set_virtual_device_configuration",
        "set_visible_devices",
        "set_inter_op_parallelism_threads",
        "set_intra_op_parallelism_threads",
        "enable_op_determinism",
        "set_jit",
    }
)
"""Without one of these a program configures no device."""

DEVICE_NAMES = r"(?i)device|gpu|cuda"
"""What the text of a file that names a device matches."""

ENVIRONMENT_WORDS = frozenset({"environ", "putenv"})
"""Without one of these a program sets no environment variable."""

TRAINING_WORDS = frozenset(
    {
        "GradientTape",
        "apply_gradients",
        "minimize",
        "on_batch_begin",
        "on_batch_end",
        "on_train_batch_begin",
        "on_train_batch_end",
        "train_on_batch",
    }
)
"""Without one of these a program has no training step of its own."""

POLICY_WORDS = frozenset(
    {"mixed_precision", "set_global_policy", "set_dtype_policy", "set_policy", "Policy", "DTypePolicy"}
)
"""Without one of these a program sets no dtype policy."""
