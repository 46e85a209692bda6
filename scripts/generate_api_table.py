"""Write gpulint/knowledge/api.json from the installed TensorFlow and Keras.

Run it with the newest TensorFlow that gpulint targets:

    python scripts/generate_api_table.py gpulint/knowledge/api.json

Every public name is grouped with the others that are the same object. The canonical one has the fewest dots, then
stands outside `experimental` and `legacy`, then in the order of `PREFERRED`, then comes first in the alphabet.
`tf.losses` and its like are shortcuts into Keras and never canonical.
"""

from __future__ import annotations

import inspect
import json
import sys
import types
from collections import defaultdict
from typing import Any

import keras
import tensorflow as tf

OP_MODULES = (
    "", "audio", "bitwise", "dtypes", "image", "io", "linalg", "math", "nn", "quantization", "ragged", "random",
    "sets", "signal", "sparse", "strings", "keras.ops", "keras.activations",
)  # fmt: skip
"""Modules whose public functions take and return tensors."""

NO_OPS = frozenset(
    [
        "device",
        "function",
        "name_scope",
        "init_scope",
        "executing_eagerly",
        "custom_gradient",
        "recompute_grad",
        "load_library",
        "load_op_library",
        "register_tensor_conversion_function",
        "type_spec_from_value",
        "py_function",
        "numpy_function",
        "control_dependencies",
        "variable_creator_scope",
        "no_gradient",
        "get_static_value",
        "is_tensor",
        "is_symbolic_tensor",
        "inside_function",
        "as_dtype",
        "Assert",
        "assert_equal",
        "assert_greater",
        "assert_less",
        "assert_rank",
        "get_logger",
        "print",
        "grad_pass_through",
        "set_random_seed",
        "set_seed",
        "nondifferentiable",
        "get_current_name_scope",
        "get_global_generator",
        "set_global_generator",
        "create_rng_state",
        "get_device",
        "cond",
        "while_loop",
        "map_fn",
        "scan",
        "foldl",
        "foldr",
        "switch_case",
        "case",
        "vectorized_map",
        "gradients",
        "hessians",
        "stop_recording",
        "convert_to_numpy",
        "is_int",
        "is_float",
        "dtype",
        "associative_scan",
        "get",
        "serialize",
        "deserialize",
        "all_candidate_sampler",
        "write_file",
        "write_graph",
        "gfile",
        "read_file",
        "matching_files",
        "match_filenames_once",
        "parse_tensor",
        "VarLenFeature",
        "TFRecordWriter",
    ]
)
"""Public functions of these modules that are not ops, or do not always return a tensor."""

PREFERRED = ("losses", "layers", "metrics", "optimizers")

DATASETS = (
    "data.Dataset.from_tensor_slices", "data.Dataset.from_tensors", "data.Dataset.from_generator", "data.Dataset.range",
    "data.Dataset.list_files", "data.Dataset.zip", "data.Dataset.random", "data.Dataset.load",
    "data.Dataset.choose_from_datasets", "data.Dataset.sample_from_datasets", "data.TextLineDataset",
    "data.TFRecordDataset", "data.FixedLengthRecordDataset", "data.experimental.CsvDataset",
    "data.experimental.make_csv_dataset", "data.experimental.make_batched_features_dataset",
    "data.experimental.SqlDataset", "keras.utils.image_dataset_from_directory",
    "keras.utils.text_dataset_from_directory", "keras.utils.audio_dataset_from_directory",
    "keras.utils.timeseries_dataset_from_array",
)  # fmt: skip

MODEL_FACTORIES = ("keras.models.load_model", "keras.models.clone_model", "keras.models.model_from_json")


def walk(module: Any, prefix: str, found: dict[str, Any], seen: set[int], depth: int = 0) -> None:
    """All public names below a module."""
    if id(module) in seen or depth > 5:
        return
    seen = seen | {id(module)}
    for name in dir(module):
        if name.startswith("_") or name in (
            "compat",
            "python",
            "core",
            "tools",
            "raw_ops",
            "lite",
            "estimator",
            "src",
        ):
            continue
        try:
            value = getattr(module, name)
        except Exception:
            continue
        dotted = f"{prefix}.{name}" if prefix else name
        if isinstance(value, types.ModuleType):
            if "tensorflow" in value.__name__ or "keras" in value.__name__:
                walk(value, dotted, found, seen, depth + 1)
        elif callable(value):
            found[dotted] = value


def rank(name: str) -> tuple[Any, ...]:
    """Sort key of the names of one object, preferred ones first."""
    parts = name.split(".")
    second = next((index for index, word in enumerate(PREFERRED) if word in parts), len(PREFERRED))
    shortcut = parts[0] in ("losses", "metrics", "optimizers", "initializers")
    return (
        len(parts) + 2 * shortcut,
        "experimental" in name or "legacy" in name,
        second,
        parts[-1].islower() and "_" not in name,
        name,
    )


def parameters(value: Any) -> list[str]:
    """Names of the positional parameters, without self."""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return []
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [name for name, parameter in signature.parameters.items() if parameter.kind in kinds and name != "self"]


def has_state(layer: type) -> bool:
    """Whether constructing a layer creates variables or tensors (random state, tables), which starts the runtime."""
    if layer.__name__ == "ThresholdedReLU":
        return True
    for arguments in ((), (0.5,), (4,), (4, 3)):
        try:
            made = layer(*arguments)
        except Exception:
            continue
        parts = [made, *(part for part in vars(made).values() if isinstance(part, keras.Layer))]
        return any(
            part.variables
            or hasattr(part, "lookup_table")
            or any(isinstance(value, keras.random.SeedGenerator) for value in vars(part).values())
            for part in parts
        )
    return False


def makes_variables(metric: type) -> bool:
    """Whether a metric creates its variables when it is constructed, not at its first update."""
    for arguments in ((), (4,), (0.5,), (4, 3)):
        try:
            return bool(metric(*arguments).variables)
        except Exception:
            continue
    return True


def kind_of(name: str, value: Any) -> tuple[str, str] | None:
    """(kind, detail) of a canonical name."""
    if isinstance(value, type):
        for kind, base in (
            ("model", keras.Model),
            ("layer", keras.layers.Layer),
            ("optimizer", keras.optimizers.Optimizer),
            ("loss", keras.losses.Loss),
            ("metric", keras.metrics.Metric),
        ):
            if issubclass(value, base):
                if kind == "metric":
                    return kind, "" if makes_variables(value) else "late"
                return kind, "state" if kind == "layer" and has_state(value) else ""
        return None
    module, _, last = name.rpartition(".")
    if module == "keras.losses" and last not in NO_OPS:
        return "loss-function", ""
    if module.startswith("keras.applications") and last[0].isupper():
        return "model-factory", ""
    if (last in ("reduce_mean", "reduce_sum") and module in ("", "math")) or name in (
        "keras.ops.mean",
        "keras.ops.sum",
    ):
        return "reduction", "mean" if last.endswith("mean") else "sum"
    if module in OP_MODULES and last not in NO_OPS and not last.startswith("assert_"):
        return "op", ""
    return None


def main() -> None:
    found: dict[str, Any] = {}
    walk(tf, "", found, set())
    keras_names: dict[str, Any] = {}
    walk(keras, "keras", keras_names, set())
    found |= keras_names
    groups: dict[int, list[str]] = defaultdict(list)
    for name, value in found.items():
        groups[id(value)].append(name)
    facts: dict[str, list[Any]] = {}
    aliases: dict[str, str] = {}
    for names in groups.values():
        names.sort(key=rank)
        canonical, value = names[0], found[names[0]]
        if (kind := kind_of(canonical, value)) is None:
            continue
        keep = kind[0] in ("op", "reduction", "loss", "loss-function")
        facts[canonical] = [kind[0], kind[1], parameters(value) if keep else []]
        aliases |= dict.fromkeys(names[1:], canonical)
    for name in (*DATASETS, *MODEL_FACTORIES):
        facts[name] = ["dataset" if name in DATASETS else "model-factory", "", []]
    aliases["keras.preprocessing.image_dataset_from_directory"] = "keras.utils.image_dataset_from_directory"
    table = {
        "tensorflow": tf.__version__,
        "keras": keras.__version__,
        "facts": dict(sorted(facts.items())),
        "aliases": dict(sorted(aliases.items())),
    }
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(table, file, indent=0, separators=(",", ":"))
        file.write("\n")
    print(f"{len(facts)} names, {len(aliases)} aliases")


if __name__ == "__main__":
    main()
