"""Canonical names: one for all spellings of a public name.

Canonical names are spelled from `tensorflow.`. Keras, imported from any package, is under `tensorflow.keras.`. The
aliases inside the public API are generated from TensorFlow itself (`scripts/generate_api_table.py`): names of the same
object are one name.
"""

from __future__ import annotations

import re
from functools import lru_cache

from gpulint.knowledge.facts import Kind
from gpulint.knowledge.table import aliases, generated, names_of_classes

_PACKAGES = (
    ("tensorflow.compat.v2.", "tensorflow."),
    ("tensorflow._api.v2.", "tensorflow."),
    ("tensorflow.python.keras.", "tensorflow.keras."),
    ("tensorflow.python.data.ops.dataset_ops.", "tensorflow.data."),
    ("tensorflow.python.data.Dataset", "tensorflow.data.Dataset"),
    ("tensorflow.python.data.TFRecordDataset", "tensorflow.data.TFRecordDataset"),
    ("tensorflow.python.data.TextLineDataset", "tensorflow.data.TextLineDataset"),
    ("tensorflow_core._api.v2.", "tensorflow."),
    ("tensorflow_core.python.keras.", "tensorflow.keras."),
    ("tensorflow_core.", "tensorflow."),
    ("tf_keras.src.", "tensorflow.keras."),
    ("tf_keras.", "tensorflow.keras."),
    ("keras.src.", "tensorflow.keras."),
    ("keras.api.", "tensorflow.keras."),
    ("keras.", "tensorflow.keras."),
    ("keras_preprocessing.", "tensorflow.keras.preprocessing."),
)
"""Prefix of a name → replacement. The first match applies."""

_WHOLE = {
    "keras": "tensorflow.keras",
    "tf_keras": "tensorflow.keras",
    "keras_preprocessing": "tensorflow.keras.preprocessing",
    "tensorflow.compat.v2": "tensorflow",
    "tensorflow_core": "tensorflow",
    "tensorflow_core.python.keras": "tensorflow.keras",
    "tensorflow.python.keras": "tensorflow.keras",
    **{
        f"tensorflow_datasets.{module}.load": "tensorflow_datasets.load"
        for module in ("api", "core.load", "public_api")
    },
}

_DISTRIBUTE = "tensorflow.distribute."
_BACKEND = "tensorflow.keras.backend."

_OF_BACKEND = (
    *("abs", "all", "any", "arange", "argmax", "argmin", "binary_crossentropy", "cast", "categorical_crossentropy"),
    *("clip", "concatenate", "cos", "cumprod", "cumsum", "dot", "elu", "equal", "exp", "expand_dims", "greater"),
    *("greater_equal", "hard_sigmoid", "less", "less_equal", "log", "logsumexp", "max", "maximum", "mean", "min"),
    *("minimum", "not_equal", "ones", "ones_like", "prod", "relu", "repeat", "reshape", "round", "sigmoid", "sign"),
    *("sin", "softmax", "softplus", "softsign", "sparse_categorical_crossentropy", "sqrt", "square", "squeeze"),
    *("stack", "std", "stop_gradient", "sum", "tanh", "tile", "transpose", "var", "zeros", "zeros_like"),
)
"""Operations of `keras.backend` that `keras.ops` has under the same name.

Some have another default axis (run on 2.21).
"""

ALIASES = {
    _DISTRIBUTE + "experimental.MultiWorkerMirroredStrategy": _DISTRIBUTE + "MultiWorkerMirroredStrategy",
    _DISTRIBUTE + "experimental.TPUStrategy": _DISTRIBUTE + "TPUStrategy",
    _DISTRIBUTE + "experimental.CentralStorageStrategy": _DISTRIBUTE + "CentralStorageStrategy",
    _DISTRIBUTE + "experimental.ParameterServerStrategy": _DISTRIBUTE + "ParameterServerStrategy",
    _DISTRIBUTE + "experimental.CollectiveAllReduceStrategy": _DISTRIBUTE + "MultiWorkerMirroredStrategy",
    "tensorflow.keras.losses.LossFunctionWrapper": "tensorflow.keras.Loss",
    "tensorflow.config.experimental.set_visible_devices": "tensorflow.config.set_visible_devices",
    "tensorflow.config.experimental.get_visible_devices": "tensorflow.config.get_visible_devices",
    "tensorflow.config.experimental.list_physical_devices": "tensorflow.config.list_physical_devices",
    "tensorflow.config.experimental.list_logical_devices": "tensorflow.config.list_logical_devices",
    "tensorflow.config.experimental.set_virtual_device_configuration": (
        "tensorflow.config.set_logical_device_configuration"
    ),
    "tensorflow.config.experimental.VirtualDeviceConfiguration": "tensorflow.config.LogicalDeviceConfiguration",
    "tensorflow.distribute.get_strategy": "tensorflow.distribute.get_strategy",
    "tensorflow.keras.models.Model": "tensorflow.keras.Model",
    "tensorflow.keras.models.Sequential": "tensorflow.keras.Sequential",
    "tensorflow.keras.layers.Input": "tensorflow.keras.Input",
    "tensorflow.keras.layers.InputLayer": "tensorflow.keras.layers.InputLayer",
    "tensorflow.keras.saving.load_model": "tensorflow.keras.models.load_model",
    "tensorflow.keras.models.clone_and_build_model": "tensorflow.keras.models.clone_model",
    "tensorflow.keras.experimental.WideDeepModel": "tensorflow.keras.Model",
    "tensorflow.keras.utils.data_utils.Sequence": "tensorflow.keras.utils.Sequence",
    "tensorflow.keras.utils.all_utils.Sequence": "tensorflow.keras.utils.Sequence",
    _BACKEND + "constant": "tensorflow.constant",
    _BACKEND + "gather": "tensorflow.gather",
    _BACKEND + "shape": "tensorflow.shape",
    _BACKEND + "flatten": "tensorflow.keras.ops.reshape",
    _BACKEND + "batch_dot": "tensorflow.keras.ops.matmul",
    _BACKEND + "permute_dimensions": "tensorflow.keras.ops.transpose",
    _BACKEND + "pow": "tensorflow.keras.ops.power",
    **{f"{_BACKEND}{name}": f"tensorflow.keras.ops.{name}" for name in _OF_BACKEND},
}
"""Names of equivalent things that the generated table does not join (different classes, or since removed)."""

_OPTIMIZER = re.compile(r"tensorflow\.keras\.optimizers\.experimental\.(\w+)\Z")
_INNER = re.compile(r"tensorflow\.(?:python\.distribute|keras)\..*\.(\w+)\Z")


_NAMES = frozenset({"keras", "keras_preprocessing", "tensorflow", "tensorflow_core", "tf_keras"})
"""Packages of TensorFlow and Keras."""


def is_tensorflow(dotted: str) -> bool:
    """Whether a dotted name belongs to TensorFlow or Keras."""
    return dotted.partition(".")[0] in _NAMES


def public_name(dotted: str) -> str | None:
    """Public name of TensorFlow or Keras spelled from `tensorflow.`, otherwise as written.

    None for private names and those of other packages (`tf_keras` keeps what Keras 2 had).
    """
    package, _, rest = dotted.partition(".")
    if package == "tensorflow" and not rest.startswith(("python.", "_api.", "core.", "compat.")):
        return dotted
    if package == "keras" and not rest.startswith(("src.", "api.", "engine.", "backend.tensorflow_backend")):
        return f"tensorflow.{dotted}"
    return None


PRIVATE = "tensorflow.python"
"""Package of TensorFlow's private names, which include a copy of Keras 2."""


SOURCE = "keras.src"
"""Package of Keras's own modules, which have names that the public ones lack."""


FIRST = "tensorflow.compat.v1"
"""Module with the names and arguments of TensorFlow 1."""


def package_of(dotted: str, package: str = "") -> str:
    """Package that a name is imported from, as `removed.since` expects it: a module of TensorFlow or Keras whose names
    are not the public ones, otherwise `package`, or the outermost package."""
    apart = (module for module in (PRIVATE, SOURCE, FIRST) if dotted.startswith(f"{module}."))
    return next(apart, package or dotted.partition(".")[0])


@lru_cache(maxsize=16384)
def canonical(dotted: str) -> str:
    """Canonical name for `dotted`. Names of other libraries and unknown names are returned unchanged."""
    if dotted in _WHOLE:
        return _WHOLE[dotted]
    if not is_tensorflow(dotted):
        return dotted
    name = dotted
    for prefix, replacement in _PACKAGES:
        if name.startswith(prefix):
            name = replacement + name[len(prefix) :]
            break
    if name.startswith(f"{FIRST}."):
        newer = "tensorflow." + name[len(FIRST) + 1 :]
        return _alias(newer) if _is_compatible(newer) else name
    return _alias(name)


def _is_compatible(newer: str) -> bool:
    """Whether `tensorflow.compat.v1` has the same under this name: a class of Keras, the configuration of devices, an
    operation."""
    if newer in COMPATIBLE or newer.startswith("tensorflow.config.") or _alias(newer) in names_of_classes().values():
        return True
    known = generated(_alias(newer))
    return known is not None and known.kind in (Kind.OP, Kind.REDUCTION)


COMPATIBLE = frozenset(
    {
        "tensorflow.device",
        "tensorflow.DeviceSpec",
        "tensorflow.GradientTape",
        "tensorflow.function",
        "tensorflow.distribute.get_strategy",
        "tensorflow.distribute.MirroredStrategy",
        "tensorflow.distribute.OneDeviceStrategy",
        "tensorflow.distribute.experimental.MultiWorkerMirroredStrategy",
    }
)
"""Names that `tensorflow.compat.v1` also has, for the same thing."""


def _alias(name: str) -> str:
    if (direct := ALIASES.get(name)) is not None:
        return direct
    if (same := aliases().get(name)) is not None:
        return same
    if match := _OPTIMIZER.match(name):
        return f"tensorflow.keras.optimizers.{match[1]}"
    if name.count(".") > 3 and ".legacy." not in name and (match := _INNER.match(name)):
        return names_of_classes().get(match[1], name)
    return name
