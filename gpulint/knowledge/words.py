"""Identifiers that a program about a subject contains, for `Rule.any_of_names`."""

from __future__ import annotations

from collections.abc import Mapping

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
"""A program that creates a strategy contains one of these words."""

DEVICE_WORDS = frozenset({"device(", "DeviceSpec"})
"""A program that places anything by hand contains one of these words."""

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
"""A program that configures a device contains one of these words."""

DEVICE_NAMES = r"(?i)device|gpu|cuda"
"""Pattern that matches the text of a file that names a device."""

ENVIRONMENT_WORDS = frozenset({"environ", "putenv"})
"""A program that sets an environment variable contains one of these words."""

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
"""A program with a training step of its own contains one of these words."""

POLICY_WORDS = frozenset({"mixed_float16", "LossScaleOptimizer"})
"""A program that computes anything in float16 contains one of these words (policy names may be in strings)."""

MODEL_WORDS = frozenset(
    {"Model", "Sequential", "applications", "clone_model", ".compile(", ".from_config", ".load_model", "load_model("}
)
"""A program with a Keras model contains one of these words."""

OPTION_WORDS = frozenset({"inject_prefetch", "map_parallelization", "apply_default_optimizations", "autotune"})
"""A program that changes the optimisations of tf.data contains one of these words."""

DATASET_WORDS = frozenset({"Dataset", "TFRecordDataset", "FixedLengthRecordDataset", "TextLineDataset", "dataset"})
"""A program that creates a pipeline contains one of these words."""

DATASET_SOURCES = frozenset(
    {
        *("Dataset", "TFRecordDataset", "FixedLengthRecordDataset", "TextLineDataset", "CsvDataset", "SqlDataset"),
        *("make_csv_dataset", "make_batched_features_dataset", "choose_from_datasets", "sample_from_datasets", "load("),
        *("audio_dataset_from_directory", "image_dataset_from_directory", "text_dataset_from_directory"),
        *("timeseries_dataset_from_array", "distribute_datasets_from_function", "experimental_distribute_dataset"),
        *("experimental_distribute_datasets_from_function", ".as_dataset("),
    }
)
"""A program in which the value of anything is a `tf.data` dataset contains one of these words."""

STATEFUL_WORDS = stateful.last_names() | {"random", ".lookup", "dropout", "StaticHashTable"}
"""A program with a stateful map contains one of these words."""

HOST_RANDOM_WORDS = frozenset({"random."})
"""A program that draws random numbers with Python's or NumPy's `random` contains this mark of an outline."""

NAMES_OF_TENSORFLOW = frozenset({"tf", "tensorflow", "keras", "tf_keras", "K", "tfk", "tfkl", "tfd", "tfp", "hvd"})
"""Usual names of TensorFlow and its parts in imports."""

OF_TENSORFLOW_ALONE = stateful.last_names() | DEVICE_WORDS | {"dropout", "function", "profiler", "random"}
"""Words that count only as members of TensorFlow's own modules: functions elsewhere have the same names."""

PYTHON_WORDS = frozenset({"from_generator", "numpy_function", "py_func", "py_function"})
"""A program with a pipeline that runs Python contains one of these words."""

PREPARING_WORDS = TRAINING_WORDS | (STATEFUL_WORDS - PYTHON_WORDS) | {".fit(", ".shuffle"}
"""A program with a pipeline that training reads, or that it creates for training, contains one of these words."""

CLUSTER_WORDS = frozenset({"MultiWorkerMirroredStrategy", "CollectiveAllReduceStrategy"})
"""A program that creates a multi-worker strategy contains one of these words."""

_OF_STRATEGIES = (
    *("DatasetDistributed", "LossCompiled", "Reduction", "ReplicaValueRead", "ScopeDropped", "ScopeEntered"),
    *("ScopeMade", "StrategyBuilt", "StrategyRun", "StrategyUsed"),
)

OF_EVENTS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(_OF_STRATEGIES, STRATEGY_WORDS),
    "DatasetBatched": frozenset(
        {
            *("batch", "padded_batch", "ragged_batch", "dense_to_ragged_batch", "bucket_by_sequence_length"),
            *("map_and_batch", "make_csv_dataset", "make_batched_features_dataset"),
            *("image_dataset_from_directory", "text_dataset_from_directory", "audio_dataset_from_directory"),
            *("timeseries_dataset_from_array", "batch_size"),
        }
    ),
    "DeviceEntered": DEVICE_WORDS,
    "DeviceNamed": DEVICE_WORDS | STRATEGY_WORDS | {"VirtualDeviceConfiguration"},
    "EagerModeSet": frozenset({"run_eagerly"}),
    "EnvironmentSet": ENVIRONMENT_WORDS,
    "FunctionTraced": frozenset({"function"}),
    "GradientsApplied": frozenset(
        {
            *(".apply_gradients", ".apply", ".minimize"),
            *("bfgs_minimize", "fmin_bfgs", "fmin_cg", "fmin_l_bfgs_b", "fmin_ncg", "fmin_tnc", "lbfgs_minimize"),
            *("least_squares", "minimize"),
        }
    ),
    "ModelCompiled": frozenset({".compile("}),
    "ModelFitted": frozenset({".fit(", ".fit_generator("}),
    "NetworkCalled": frozenset({"Layer"}),
    "RuntimeConfigured": CONFIG_WORDS,
    "TracedCalled": frozenset({"function"}),
    "UnknownFitted": frozenset({".fit(", ".fit_generator("}),
}
"""Kind of event → identifiers, at least one of which is in every program in which such an event occurs."""
