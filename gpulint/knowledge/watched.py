"""Library names that rules look for. Calling one emits an event of its own."""

from __future__ import annotations

_CALLBACKS = "tensorflow.keras.callbacks."

CLEARS_SESSION = frozenset({"tensorflow.keras.backend.clear_session", "tensorflow.keras.utils.clear_session"})
"""Functions that free the state Keras keeps for all models created so far."""

MAKES_GRAPH = "tensorflow.Graph"
"""Class of graphs, which free the models that are created in them."""

SWITCHES_GRAPH_MODE = {
    "disable_eager_execution": True,
    "disable_v2_behavior": True,
    "enable_eager_execution": False,
    "enable_v2_behavior": False,
}
"""Last name of the functions that switch a program to TensorFlow 1's graph mode, or away from it."""

RUNS_EAGERLY = frozenset(
    {"tensorflow.config.run_functions_eagerly", "tensorflow.config.experimental_run_functions_eagerly"}
)
"""Functions that disable compilation of all functions with True, and enable it again with False."""

SETS_FLOATX = frozenset({"tensorflow.keras.backend.set_floatx", "tensorflow.keras.config.set_floatx"})

SETS_POLICY = frozenset(
    {
        "tensorflow.keras.mixed_precision.set_global_policy",
        "tensorflow.keras.mixed_precision.set_dtype_policy",
        "tensorflow.keras.mixed_precision.experimental.set_policy",
        "tensorflow.keras.config.set_dtype_policy",
    }
)

GLOBAL_POLICY = frozenset(
    {
        "tensorflow.keras.mixed_precision.global_policy",
        "tensorflow.keras.mixed_precision.dtype_policy",
        "tensorflow.keras.mixed_precision.experimental.global_policy",
        "tensorflow.keras.config.dtype_policy",
    }
)

POLICIES = frozenset(
    {
        "tensorflow.keras.mixed_precision.Policy",
        "tensorflow.keras.mixed_precision.DTypePolicy",
        "tensorflow.keras.mixed_precision.experimental.Policy",
        "tensorflow.keras.dtype_policies.DTypePolicy",
        "tensorflow.keras.DTypePolicy",
    }
)

IMAGE_READERS = (
    *("PIL.Image.open", "SimpleITK.ReadImage", "cv2.imread", "imageio.", "matplotlib.image.imread"),
    *("matplotlib.pyplot.imread", "nibabel.load", "pydicom.", "rasterio.open", "skimage.io.", "tifffile."),
    *("tensorflow.keras.preprocessing.image.load_img", "tensorflow.keras.utils.load_img"),
)
"""Prefixes of the names of functions that read one image or volume from a file."""

TENSOR_READERS = (
    "tensorflow.audio.decode_",
    "tensorflow.image.decode_",
    "tensorflow.io.decode_",
    "tensorflow.io.read_file",
)
"""Prefixes of the names of operations that read or decode a file. Eager code runs them one at a time."""

_SCALES_OR_DECODES = (
    *(f"tensorflow.{module}.decode_" for module in ("image", "io")),
    *(f"tensorflow.{module}image.resize" for module in ("", "compat.v1.")),
    *("tensorflow.image.crop_and_resize", "tensorflow.io.decode_and_crop_jpeg", "tensorflow.io.read_file"),
)
_OF_NUMBERS = ("base64", "compressed", "csv", "json_example", "proto", "raw", "resize_with_crop_or_pad")
"""Ends of names that begin like those of images, of ops that copy or parse what they are given."""


def is_heavy(name: str) -> bool:
    """Whether an op reads a file, or decodes or scales an image: milliseconds, where others take microseconds."""
    return name.startswith(_SCALES_OR_DECODES) and not name.endswith(_OF_NUMBERS)


SAVES_MODEL = frozenset({"tensorflow.keras.models.save_model", "tensorflow.keras.saving.save_model"})

LOADS_MODEL = "tensorflow.keras.models.load_model"

_FUNCTIONS = frozenset(
    {
        LOADS_MODEL,
        MAKES_GRAPH,
        "horovod.keras.init",
        "horovod.tensorflow.init",
        "horovod.tensorflow.keras.init",
        "tensorflow.data.experimental.enable_debug_mode",
        "tensorflow.debugging.disable_check_numerics",
        "tensorflow.debugging.enable_check_numerics",
        "tensorflow.debugging.experimental.disable_dump_debug_info",
        "tensorflow.debugging.experimental.enable_dump_debug_info",
        "tensorflow.debugging.set_log_device_placement",
        "tensorflow.keras.Input",
        "tensorflow.profiler.experimental.start",
        "tensorflow.profiler.experimental.stop",
        "tensorflow.summary.create_file_writer",
        _CALLBACKS + "CSVLogger",
        _CALLBACKS + "ModelCheckpoint",
        _CALLBACKS + "TensorBoard",
    }
)

WATCHED = _FUNCTIONS | CLEARS_SESSION | RUNS_EAGERLY | SAVES_MODEL | SETS_FLOATX | SETS_POLICY
"""Functions and classes whose calls emit `LibraryCalled`."""

OBJECTS = frozenset(
    {
        "tensorflow.data.Options",
        "tensorflow.data.experimental.AutotuneOptions",
        "tensorflow.data.experimental.OptimizationOptions",
        "tensorflow.data.experimental.ThreadingOptions",
        "tensorflow.keras.preprocessing.image.ImageDataGenerator",
        "tensorflow.lookup.StaticHashTable",
        "tensorflow.lookup.StaticVocabularyTable",
        "tensorflow.lookup.experimental.MutableHashTable",
        "tensorflow.random.Generator.from_non_deterministic_state",
        "tensorflow.random.Generator.from_seed",
        "tensorflow.random.get_global_generator",
        "tensorflow.train.Checkpoint",
        "tensorflow.train.CheckpointManager",
    }
)
"""Calls that return an object whose attributes and methods are tracked."""

OPTIONS = frozenset(name for name in OBJECTS if name.endswith("Options"))
"""Classes with settings of tf.data. Nested ones are created when they are first read."""
