"""The knowledge tables (spellings, facts, kernels), compared with TensorFlow itself."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gpulint.knowledge import canonical, fact, has_gpu_kernel
from gpulint.knowledge.devices import parse_device
from gpulint.knowledge.facts import Initialises, Kind
from gpulint.knowledge.names import ALIASES
from gpulint.knowledge.runtime import RUNTIME
from gpulint.knowledge.strategies import STRATEGIES
from gpulint.knowledge.table import _api, aliases, generated_names, op_kernels
from gpulint.knowledge.words import DATASET_SOURCES
from gpulint.syntax.outline import in_any_form
from tests.claims.claim import Claim
from tests.claims.runner import Stage


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("keras.layers.Dense", "tensorflow.keras.layers.Dense"),
        ("tf_keras.layers.Dense", "tensorflow.keras.layers.Dense"),
        ("tensorflow.python.keras.layers.core.Dense", "tensorflow.keras.layers.Dense"),
        ("tensorflow.python.data.Dataset.from_tensors", "tensorflow.data.Dataset.from_tensors"),
        ("keras.src.layers.core.dense.Dense", "tensorflow.keras.layers.Dense"),
        ("tensorflow.compat.v2.keras.models.Model", "tensorflow.keras.Model"),
        ("tensorflow_core.python.keras.models.Model", "tensorflow.keras.Model"),
        ("tensorflow_core.keras.losses.MSE", canonical("tensorflow.keras.losses.MSE")),
        ("tensorflow.keras.models.Sequential", "tensorflow.keras.Sequential"),
        ("tensorflow.math.reduce_mean", "tensorflow.reduce_mean"),
        ("tensorflow.losses.mse", canonical("tensorflow.keras.losses.mean_squared_error")),
        ("tensorflow.python.distribute.mirrored_strategy.MirroredStrategy", "tensorflow.distribute.MirroredStrategy"),
        ("tensorflow.compat.v1.device", "tensorflow.device"),
        ("tensorflow.compat.v1.placeholder", "tensorflow.compat.v1.placeholder"),
        ("numpy.mean", "numpy.mean"),
    ],
)
def test_every_spelling_reaches_one_name(spelling: str, name: str) -> None:
    assert canonical(spelling) == name


def test_facts_say_what_a_name_is() -> None:
    kinds = {
        "tensorflow.keras.Model": Kind.MODEL,
        "tensorflow.keras.applications.ResNet50": Kind.MODEL_FACTORY,
        "tensorflow.keras.optimizers.legacy.Adam": Kind.OPTIMIZER,
        "tensorflow.data.Dataset.from_tensor_slices": Kind.DATASET,
        "tensorflow.reduce_mean": Kind.REDUCTION,
        "tensorflow.distribute.MirroredStrategy": Kind.STRATEGY,
    }
    assert {name: known.kind for name in kinds if (known := fact(name))} == kinds
    assert fact("tensorflow.no_such_name") is None


def test_kernels_are_answered_by_name_and_dtype() -> None:
    assert has_gpu_kernel("tensorflow.strings.lower", None) is False
    assert has_gpu_kernel("tensorflow.linalg.cholesky", "float32") is True
    assert has_gpu_kernel("tensorflow.linalg.cholesky", "float16") is False
    assert has_gpu_kernel("tensorflow.linalg.cholesky", None) is None
    assert has_gpu_kernel("tensorflow.matmul", "float32") is None


def test_a_function_has_no_gpu_kernel_where_what_it_calls_has_none() -> None:
    assert has_gpu_kernel("tensorflow.nn.ctc_beam_search_decoder", None) is False
    assert has_gpu_kernel("tensorflow.strings.split", None) is False
    assert has_gpu_kernel("tensorflow.nn.ctc_loss", None) is None
    assert has_gpu_kernel("tensorflow.nn.sampled_softmax_loss", None) is None
    assert has_gpu_kernel("tensorflow.image.resize", None) is None


@pytest.mark.parametrize("text", ["", "/", "gpu", "/GPU:0", "/cpu", "gpu:*", "/device:gpu:1", "/job:w/task:1/GPU:2"])
def test_legal_device_names_parse(text: str) -> None:
    assert parse_device(text) is not None


@pytest.mark.parametrize("text", ["gpu0", "/GPU0", "cuda:0", "/gpu:0,1", "gpu:-1", "/device:GPU", "/cpu:0/gpu:0"])
def test_malformed_device_names_do_not(text: str) -> None:
    assert parse_device(text) is None


# --------------------------------------------------------------------------- on TensorFlow


def resolved(name: str) -> Any:
    """The object of a canonical name, None if this TensorFlow does not have it."""
    import keras
    import tensorflow as tf

    def follow(start: Any, parts: list[str]) -> Any:
        for part in parts:
            start = getattr(start, part, None)
        return start

    parts = name.split(".")[1:]
    found = follow(tf, parts)
    return follow(keras, parts[1:]) if found is None and parts[0] == "keras" else found


def is_newest() -> bool:
    """Whether the installed TensorFlow is the one that the tables were generated from."""
    import tensorflow as tf

    return bool(tf.__version__ == _api()["tensorflow"])


@pytest.mark.tensorflow
def test_generated_names_exist_and_are_what_the_table_says() -> None:
    import keras

    bases = {
        "model": keras.Model,
        "layer": keras.layers.Layer,
        "optimizer": keras.optimizers.Optimizer,
        "loss": keras.losses.Loss,
        "metric": keras.metrics.Metric,
    }
    missing = []
    for name, (kind, _, _) in _api()["facts"].items():
        value = resolved(f"tensorflow.{name}")
        if value is None:
            missing.append(name)
        elif kind in bases:
            assert issubclass(value, bases[kind]), name
        else:
            assert callable(value), name
    assert len(missing) <= (0 if is_newest() else 0.25 * len(_api()["facts"])), missing


@pytest.mark.tensorflow
def test_generated_parameters_are_those_of_the_signatures() -> None:
    if not is_newest():
        pytest.skip("the table holds the newest release's signatures")
    checked = 0
    for name, (_, _, params) in _api()["facts"].items():
        if params:
            signature = inspect.signature(resolved(f"tensorflow.{name}"))
            names = [one.name for one in signature.parameters.values() if one.kind in POSITIONAL and one.name != "self"]
            assert names == params, name
            checked += 1
    assert checked > 100


POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)

EFFECTS = """
import json, os, sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy, tensorflow as tf, keras
from tensorflow.python.eager import context
found = {}
for name in json.load(sys.stdin):
    reading, writing = os.pipe()
    if os.fork() == 0:
        made, value = None, tf
        try:
            for part in name.split(".")[1:]:
                value = getattr(value, part)
            for arguments in ((), (0.5,), (4,), (4, 3)):
                try:
                    value(*arguments)
                except Exception:
                    continue
                made = context.context()._initialized
                break
        finally:
            os.write(writing, json.dumps(made).encode())
            os._exit(0)
    os.close(writing)
    found[name] = json.loads(os.read(reading, 100) or b"null")
    os.close(reading)
    os.wait()
print(json.dumps(found))
"""


@pytest.mark.tensorflow
def test_what_making_an_object_does_to_the_runtime_is_what_the_table_says() -> None:
    if not is_newest():
        pytest.skip("the table holds the newest release's effects")
    kinds = {"layer", "loss", "metric", "optimizer"}
    names = [f"tensorflow.{name}" for name, (kind, _, _) in _api()["facts"].items() if kind in kinds]
    done = subprocess.run(
        [sys.executable, "-c", EFFECTS],
        input=json.dumps(names),
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    effects = {name: made for name, made in json.loads(done.stdout.splitlines()[-1]).items() if made is not None}
    assert len(effects) > 0.7 * len(names)
    said = {name: known.initialises is Initialises.YES for name in effects if (known := fact(name))}
    assert said == effects


@pytest.mark.tensorflow
def test_aliases_are_the_same_object() -> None:
    checked = 0
    for alias, name in aliases().items():
        one, other = resolved(alias), resolved(name)
        if one is not None and other is not None and alias not in ALIASES and is_newest():
            assert one is other, alias
            checked += 1
    assert checked or not is_newest()


@pytest.mark.tensorflow
def test_names_typed_by_hand_exist() -> None:
    exceptions = {"tensorflow.distribute.CentralStorageStrategy", "tensorflow.distribute.ParameterServerStrategy"}
    for name in {*STRATEGIES, *RUNTIME} - exceptions:
        if not name.startswith("tensorflow.python."):
            assert resolved(name) is not None, name


PROBE = """
import tensorflow as tf
from tensorflow.python.eager import context
{statement}
print(context.context()._initialized)
"""


def printed(statement: str, stage: Stage, directory: Path) -> str:
    """What a program of one statement prints, and then whether the runtime is initialised."""
    program = directory / "program.py"
    program.write_text(PROBE.format(statement=statement), encoding="utf-8")
    performance = stage.perform(program, Claim(ok=True))
    assert performance.raised is None, performance.stderr
    return performance.stdout


@pytest.mark.tensorflow
@pytest.mark.parametrize(
    ("statement", "initialised"),
    [
        ("tf.config.list_physical_devices('GPU')", False),
        ("tf.config.get_visible_devices('GPU')", False),
        ("tf.keras.layers.Dense(1); tf.keras.Sequential([tf.keras.layers.Dense(1)])", False),
        ("tf.keras.losses.MeanSquaredError(); tf.function(lambda x: x); tf.distribute.get_strategy()", False),
        ("tf.config.list_logical_devices('GPU')", True),
        ("tf.keras.optimizers.Adam()", True),
        ("tf.keras.metrics.Mean()", True),
        ("tf.data.Dataset.range(1)", True),
        ("tf.keras.layers.Dropout(0.5)", True),
        ("tf.distribute.MirroredStrategy()", True),
        ("\\nwith tf.device('/cpu:0'): pass", True),
    ],
)
def test_what_initialises_the_runtime_does(statement: str, initialised: bool, stage: Stage, tmp_path: Path) -> None:
    assert printed(statement.replace("\\n", "\n"), stage, tmp_path).split()[-1] == str(initialised)


@pytest.mark.tensorflow
@pytest.mark.parametrize(
    "call",
    [
        "tf.config.set_logical_device_configuration(tf.config.list_physical_devices('CPU')[0], "
        "[tf.config.LogicalDeviceConfiguration()] * 2)",
        "tf.config.threading.set_inter_op_parallelism_threads(2)",
        "tf.config.threading.set_intra_op_parallelism_threads(2)",
    ],
)
def test_configuration_after_an_operation_raises(call: str, stage: Stage, tmp_path: Path) -> None:
    statement = f"tf.constant(1.0)\ntry:\n    {call}\n    print('accepted')\nexcept RuntimeError:\n    print('raised')"
    assert "raised" in printed(statement, stage, tmp_path)


RUN_WITHOUT_GPU = """
nn.ctc_beam_search_decoder(tf.zeros((5, 1, 4)), [5])
image.is_jpeg("x")
image.random_jpeg_quality(tf.zeros((8, 8, 3)), 10, 90)
image.stateless_random_jpeg_quality(tf.zeros((8, 8, 3)), 10, 90, (1, 2))
io.parse_example(tf.constant(["x"]), {"a": tf.io.FixedLenFeature((), tf.int64)})
io.parse_single_example(tf.constant("x"), {"a": tf.io.FixedLenFeature((), tf.int64)})
io.parse_sequence_example(tf.constant(["x"]), {"a": tf.io.FixedLenFeature((), tf.int64)})
io.parse_single_sequence_example(tf.constant("x"), {"a": tf.io.FixedLenFeature((), tf.int64)})
quantization.quantize(tf.zeros(4), -1.0, 1.0, tf.qint8)
ragged.cross([tf.ragged.constant([["a"], ["b", "c"]]), tf.ragged.constant([["d"], ["e"]])])
ragged.cross_hashed([tf.ragged.constant([["a"], ["b", "c"]]), tf.ragged.constant([["d"], ["e"]])])
random.gamma((4,), 1.0)
sets.difference(tf.constant([[1, 2]]), tf.constant([[2, 3]]))
sets.intersection(tf.constant([[1, 2]]), tf.constant([[2, 3]]))
sets.union(tf.constant([[1, 2]]), tf.constant([[2, 3]]))
sparse.add(tf.sparse.eye(2), tf.sparse.eye(2))
sparse.add(tf.sparse.eye(2), tf.eye(2))
sparse.bincount(tf.constant([[1, 2]]))
sparse.cross_hashed([tf.constant([["a"]]), tf.constant([["b"]])])
sparse.reduce_max(tf.sparse.eye(2))
sparse.reduce_sum(tf.sparse.eye(2), output_is_sparse=True)
strings.ngrams(tf.constant(["a", "b"]), 2)
strings.split(tf.constant("a b"))
strings.split(tf.constant([["a b"]]))
strings.unicode_encode(tf.constant([97]), "UTF-8")
strings.unicode_split(tf.constant("ab"), "UTF-8")
strings.unicode_split_with_offsets(tf.constant(["ab"]), "UTF-8")
"""
"""Calls of functions that run their operation through other functions of TensorFlow."""


@pytest.mark.tensorflow
@pytest.mark.parametrize("call", RUN_WITHOUT_GPU.split("\n")[1:-1])
def test_functions_without_a_gpu_kernel_run_an_operation_without_one(call: str) -> None:
    import tensorflow as tf

    assert has_gpu_kernel(canonical(f"tensorflow.{call.partition('(')[0]}"), None) is False
    with tf.Graph().as_default() as graph:
        eval(f"tf.{call}", {"tf": tf})
    kernels = op_kernels()
    assert [one.type for one in graph.get_operations() if kernels.get(one.type) == ([], [])]


def test_every_source_of_datasets_is_named() -> None:
    found = [name for name in generated_names() if (known := fact(f"tensorflow.{name}")) and known.kind is Kind.DATASET]
    assert len(found) > 15
    named = in_any_form(DATASET_SOURCES)
    assert not [name for name in found if named.isdisjoint(name.split("."))]
