"""TensorFlow operations that do what a function of NumPy does.

They are attributes of TensorFlow 2.21 (`tests/knowledge/test_tables.py`).
"""

from __future__ import annotations

from collections.abc import Iterable

OPERATIONS = {
    **{
        name: name
        for name in (
            *("abs", "acos", "add", "argmax", "argmin", "argsort", "asin", "atan", "atan2", "cos", "cosh", "cumsum"),
            *("divide", "equal", "exp", "expand_dims", "greater", "less", "matmul", "maximum", "minimum", "multiply"),
            *("not_equal", "ones_like", "pad", "repeat", "reshape", "roll", "round", "sign", "sin", "sinh", "sort"),
            *("split", "sqrt", "square", "squeeze", "stack", "subtract", "tan", "tanh", "tensordot", "tile"),
            *("transpose", "unstack", "where", "zeros_like"),
        )
    },
    "all": "reduce_all",
    "amax": "reduce_max",
    "amin": "reduce_min",
    "any": "reduce_any",
    "array": "convert_to_tensor",
    "asarray": "convert_to_tensor",
    "clip": "clip_by_value",
    "concatenate": "concat",
    "dot": "tensordot",
    "flip": "reverse",
    "hstack": "concat",
    "isfinite": "math.is_finite",
    "isinf": "math.is_inf",
    "isnan": "math.is_nan",
    "linalg.norm": "norm",
    "log": "math.log",
    "log1p": "math.log1p",
    "max": "reduce_max",
    "mean": "reduce_mean",
    "min": "reduce_min",
    "power": "pow",
    "prod": "reduce_prod",
    "std": "math.reduce_std",
    "sum": "reduce_sum",
    "take": "gather",
    "var": "math.reduce_variance",
    "vstack": "concat",
}

RANDOM_OPERATIONS = {
    "normal": "normal",
    "permutation": "shuffle",
    "rand": "uniform",
    "randint": "uniform(…, dtype=tf.int32)",
    "randn": "normal",
    "random": "uniform",
    "random_sample": "uniform",
    "shuffle": "shuffle",
    "standard_normal": "normal",
    "uniform": "uniform",
}


def operation(function: str) -> str | None:
    """The operation for a function of NumPy, as it is usually written: `tf.reduce_mean` for `mean`."""
    name = OPERATIONS.get(function)
    return f"tf.{name}" if name is not None else None


def operations(functions: Iterable[str]) -> list[str]:
    """The operations for several functions, without repetition; none unless there is one for each."""
    found = {function: operation(function) for function in functions}
    return sorted({name for name in found.values() if name is not None}) if all(found.values()) else []


def random_operation(function: str) -> str | None:
    """The operation that draws what a function of `np.random` or `random` does: `tf.random.uniform` for `randint`."""
    name = RANDOM_OPERATIONS.get(function)
    return f"tf.random.{name}" if name is not None else None
