"""Identifiers that give a subject away, for `Rule.any_of_names`."""

from __future__ import annotations

from gpulint.knowledge import stateful

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
        ".apply_gradients",
        ".minimize",
        "on_batch_begin",
        "on_batch_end",
        "on_train_batch_begin",
        "on_train_batch_end",
        ".train_on_batch",
    }
)
"""Without one of these a program has no training step of its own."""

POLICY_WORDS = frozenset({"mixed_float16", "LossScaleOptimizer"})
"""Without one of these (names of policies, as strings too) a program computes nothing in float16."""

MODEL_WORDS = frozenset(
    {"Model", "Sequential", "applications", "clone_model", ".compile(", "from_config", "load_model"}
)
"""Without one of these a program has no Keras model."""

OPTION_WORDS = frozenset({"inject_prefetch", "map_parallelization", "apply_default_optimizations", "autotune"})
"""Without one of these a program leaves the optimisations of tf.data as they are."""

DATASET_WORDS = frozenset({"Dataset", "TFRecordDataset", "FixedLengthRecordDataset", "TextLineDataset", "dataset"})
"""Without one of these a program makes no pipeline."""

STATEFUL_WORDS = stateful.last_names() | {"random", ".lookup", "dropout", "StaticHashTable"}
"""Without one of these no map of a program is stateful."""

NAMES_OF_TENSORFLOW = frozenset({"tf", "tensorflow", "keras", "tf_keras", "K", "tfk", "tfkl", "tfd", "tfp", "hvd"})
"""What TensorFlow and parts of it are called, whoever imports them."""

OF_TENSORFLOW_ALONE = stateful.last_names() | DEVICE_WORDS | {"dropout", "function", "profiler", "random"}
"""Words that mean something only as names of TensorFlow's own: others have functions that are so called, too."""

PYTHON_WORDS = frozenset({"from_generator", "numpy_function", "py_func", "py_function"})
"""Without one of these no pipeline of a program runs Python."""

PREPARING_WORDS = TRAINING_WORDS | (STATEFUL_WORDS - PYTHON_WORDS) | {".fit(", ".shuffle"}
"""Without one of these a program has no pipeline that training reads, or that it makes for it."""

CLUSTER_WORDS = frozenset({"MultiWorkerMirroredStrategy", "CollectiveAllReduceStrategy"})
"""Without one of these a program makes no strategy of several workers."""
