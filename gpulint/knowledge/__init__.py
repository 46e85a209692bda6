"""Knowledge of TensorFlow and Keras, as tables.

`canonical(dotted)` maps every spelling of a public name to one. `fact(canonical_name)` says what the name is.
`has_gpu_kernel(canonical_name, dtype)` answers from the kernel registry.
"""

from __future__ import annotations

import builtins
import re
from functools import lru_cache

from gpulint.knowledge.facts import Fact, Initialises, Kind
from gpulint.knowledge.names import canonical
from gpulint.knowledge.runtime import RUNTIME
from gpulint.knowledge.strategies import STRATEGIES
from gpulint.knowledge.table import generated, generated_names, kernels

__all__ = [
    "FIRST_WITH_VARIABLES",
    "LEGACY_OPTIMIZERS",
    "canonical",
    "fact",
    "has_gpu_kernel",
    "method_params",
    "telling_words",
]

OTHER_LIBRARIES = {"tensorflow_datasets.load": Fact(Kind.DATASET, ("name", "split"), initialises=Initialises.YES)}
"""Names of other libraries that return data for TensorFlow programs. `tfds.load` creates a dataset of file names."""

LEGACY_OPTIMIZERS = "tensorflow.keras.optimizers.legacy."
"""Optimizers of Keras before 2.11. They create their variables late, under the strategy in force at that time."""

FIRST_WITH_VARIABLES = (2, 11)
"""First release in which optimizers create their variables when they are created.

Before it, all did so when they were first applied, as those of `legacy` still do: under the strategy in force then,
wherever the optimizer was created (run with tf_keras 2.21).
"""

_METHODS = {
    (Kind.MODEL, "compile"): (
        "optimizer",
        "loss",
        "loss_weights",
        "metrics",
        "weighted_metrics",
        "run_eagerly",
    ),
    (Kind.MODEL, "fit"): ("x", "y", "batch_size", "epochs", "verbose"),
}
"""Positional parameters of methods, without `self` (Keras 2 and 3 agree on these)."""


@lru_cache(maxsize=8192)
def fact(name: str) -> Fact | None:
    """Fact of a canonical name, None for unknown names."""
    if name.startswith(LEGACY_OPTIMIZERS):
        return generated(name.replace(".legacy.", "."))
    if (of_keras := _EARLIER.sub("tensorflow.keras.", name)) != name and (known := generated(canonical(of_keras))):
        return known
    return RUNTIME.get(name) or STRATEGIES.get(name) or OTHER_LIBRARIES.get(name) or _CASTS.get(name) or generated(name)


_CASTS = {
    f"tensorflow.compat.v1.to_{dtype}": Fact(Kind.OP, ("x", "name"))
    for dtype in ("bfloat16", "complex128", "complex64", "double", "float", "int32", "int64")
}
"""Operations with these names in TensorFlow 1 only. `tf.compat.v1` still has them."""

_EARLIER = re.compile(r"^tensorflow\.(?=(?:losses|metrics)\.)")
"""Modules whose functions the newest release has only in Keras (`tf.losses.mean_squared_error`)."""


_TRACKED_METHODS = frozenset(
    {
        *("scope", "run", "reduce", "gather", "all_reduce", "merge_call", "num_replicas_in_sync"),
        *("fit", "compile", "evaluate", "predict", "train_on_batch", "trainable_variables", "save", "get_weights"),
        *("apply_gradients", "apply", "minimize", "gradient", "update_state", "assign", "assign_add", "assign_sub"),
        *("batch", "padded_batch", "prefetch", "distribute_datasets_from_function", "environ", "putenv", "strategy"),
        *("experimental_distribute_dataset", "experimental_run_v2", "enter_context", "contextmanager"),
    }
)
"""Methods of library objects that emit events."""

_PYTHON = frozenset(dir(builtins)) | frozenset(name for kind in (str, list, dict, set) for name in dir(kind))


@lru_cache(maxsize=1)
def telling_words() -> frozenset[str]:
    """Words of which the own body of a function contains one if it does anything that is tracked."""
    known = {name.rpartition(".")[2] for name in (*generated_names(), *RUNTIME, *STRATEGIES, *OTHER_LIBRARIES)}
    return frozenset(known | _TRACKED_METHODS) - _PYTHON


def method_params(kind: Kind, method: str) -> tuple[str, ...]:
    """Names of a method's positional parameters, empty where no analysis needs them."""
    return _METHODS.get((kind, method), ())


def has_gpu_kernel(name: str, dtype: str | None) -> bool | None:
    """Whether an op runs on a GPU for inputs of `dtype` (None: unknown), None where the table does not say."""
    dtypes = kernels().get(name)
    if dtypes is None:
        return None
    if not dtypes:
        return False
    return None if dtype is None else dtype in dtypes
