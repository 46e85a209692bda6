"""How a loss was reduced: by a sum or a mean, and whether it was divided by the size of the global batch."""

from __future__ import annotations

from collections.abc import Iterable

from gpulint.analysis.domain.identifiers import words
from gpulint.analysis.domain.symbolic import Symbol, symbol
from gpulint.analysis.domain.values.base import (
    Constant,
    Unknown,
    Value,
    known,
    symbol_of,
)
from gpulint.analysis.domain.values.containers import Items
from gpulint.analysis.domain.values.objects import Variable
from gpulint.analysis.domain.values.tensors import PerReplica, Reduced, Tensor
from gpulint.analysis.models.tensorflow import gradients
from gpulint.knowledge.facts import Fact, Kind
from gpulint.places import Site

KEEPS_REDUCTION = frozenset(
    {
        "tensorflow.cast",
        "tensorflow.identity",
        "tensorflow.convert_to_tensor",
        "tensorflow.debugging.check_numerics",
        "tensorflow.stop_gradient",
        "tensorflow.squeeze",
        "tensorflow.reshape",
        "tensorflow.keras.ops.cast",
        "tensorflow.keras.ops.convert_to_tensor",
        "operator.-",
        "operator.+",
    }
)
"""Ops that keep the reduction of a loss, and other properties of their one operand."""

_SCALED = frozenset({"tensorflow.nn.compute_average_loss", "tensorflow.nn.scale_regularization_loss"})

_PER_IMAGE = frozenset({"tensorflow.image.psnr", "tensorflow.image.ssim", "tensorflow.image.ssim_multiscale"})
"""Functions that return one number for each image."""

_VARIABLES = frozenset({"trainable_variables", "trainable_weights", "variables", "weights", "kernel", "bias"})
"""Attributes of models and layers that are variables."""


def reduced_by_op(name: str, fact: Fact, inputs: tuple[Value, ...], site: Site) -> Reduced | None:
    """Reduction of the result of an op by name, None if it is no reduced loss."""
    first = inputs[0] if inputs else None
    present = first.reduced if isinstance(first, Tensor) else None
    if name in _SCALED:
        return Reduced("scaled", site)
    if name in _PER_IMAGE:
        return Reduced("image", site)
    if fact.kind is Kind.REDUCTION:
        present = sum_of(inputs)
        is_number = present is not None and present.how not in ("none", "image")
        return present if is_number or is_of_weights(inputs) else Reduced(fact.detail, site)
    if name in _ADDS:
        return sum_of(inputs)
    if name in gradients.SCALES and inputs:
        return reduced_by_operator(gradients.SCALES[name], inputs, site)
    return present if name in KEEPS_REDUCTION else None


def for_each_image(axis: Value | None, inputs: tuple[Value, ...], site: Site) -> Reduced | None:
    """Reduction over all axes of images or volumes but the first, None for any other: `[1, 2, 3]`."""
    axes = [known(one) for one in axis.items or ()] if isinstance(axis, Items) else []
    is_whole = len(axes) > 2 and axes == list(range(1, len(axes) + 1))
    return Reduced("image", site) if is_whole and not is_of_weights(inputs) else None


def is_over_all(axis: Value | None, given: Value | None) -> bool:
    """Whether a reduction returns one number: it has no axis, or the only one of a tensor with a number per image."""
    of_images = isinstance(given, Tensor) and given.reduced is not None and given.reduced.how == "image"
    return axis is None or (of_images and known(axis) == 0)


_ADDS = frozenset(
    {
        "tensorflow.add",
        "tensorflow.add_n",
        "tensorflow.keras.ops.add",
        "tensorflow.keras.ops.stack",
        "tensorflow.stack",
    }
)
"""Ops that add losses, or stack them for a reduction that adds them."""


def sum_of(inputs: Iterable[Value]) -> Reduced | None:
    """Reduction of a sum of losses.

    A plain mean takes precedence, for no other term corrects it. A plain sum next to a scaled loss may be a sum over
    weights and not over a batch.
    """
    terms = list(inputs)
    found = [value.reduced for value in terms if isinstance(value, Tensor) and value.reduced]
    if not found:
        return None
    are_numbers = all(map(_is_number, terms))
    return min(found, key=lambda one: _RANKS.index(one.how))._replace(is_number=are_numbers)


def _is_number(term: Value) -> bool:
    """Whether a term of a loss is one number. A penalty for the weights is, or it would not be added to a number."""
    if isinstance(term, Tensor) and term.reduced is not None:
        return term.reduced.is_number
    is_sum = isinstance(term, Unknown) and "losses" in term.symbol.words  # `sum(model.losses)`
    return is_sum or isinstance(term, Constant) or is_of_weights((term,))


_RANKS = ("mean", "scaled", "default", "sum", "none", "image")


def is_of_weights(inputs: tuple[Value, ...]) -> bool:
    """Whether all operands are variables, or penalties of a model for its weights."""
    tensors = [value for value in inputs if isinstance(value, (Tensor, Variable, PerReplica, Unknown))]
    return bool(tensors) and all(
        isinstance(value, Variable)
        or (isinstance(value, Tensor) and value.of_weights)
        or (isinstance(value, Unknown) and not value.symbol.words.isdisjoint(_VARIABLES))
        or (isinstance(value, Unknown) and _is_penalty(value.symbol))
        for value in tensors
    )


def _is_penalty(name: Symbol) -> bool:
    """Whether a symbol is an element of the `losses` of a model or layer."""
    name = _whole(name)
    return bool(name.parts[0] == "attribute" and name.parts[-1] == "losses")


def _whole(name: Symbol) -> Symbol:
    """The collection of which a symbol is an element, or the symbol itself."""
    while name.parts[0] in ("item", "in_iteration"):
        name = symbol(name.parts[1 if name.parts[0] == "item" else 2])
    return name


def reduced_by_operator(name: str, operands: tuple[Value, ...], site: Site) -> Reduced | None:
    """Reduction of the result of a Python operator, None if it is no reduced loss."""
    left = operands[0]
    right = operands[1] if len(operands) > 1 else None
    of_left = left.reduced if isinstance(left, Tensor) else None
    of_right = right.reduced if isinstance(right, Tensor) else None
    if of_left is not None and of_right is not None and of_left.how == of_right.how == "image":
        return of_left
    if of_left is None and of_right is None and name in ("operator./", "operator.*"):
        factors = operands if name == "operator.*" else (right,)
        return Reduced("scaled", site) if any(_is_batch_size(factor) for factor in factors) else None
    if name == "operator./":
        if of_left is None:
            return None
        if isinstance(right, Tensor) and right.shape_of:
            return of_left._replace(how="mean") if of_left.how != "scaled" else of_left
        if of_left.is_number and of_right is not None and of_right.is_number and of_right.how in ("mean", "sum"):
            return of_left._replace(how="mean")
        return of_left if _is_weight(right) else Reduced("scaled", site)
    if name == "operator.*":
        for reduced, other in ((of_left, right), (of_right, left)):
            if reduced is not None:
                return reduced if _is_weight(other) or _weighs(other) else Reduced("scaled", site)
        return None
    if name in ("operator.+", "operator.-"):
        return sum_of(operands)
    return None


def _is_batch_size(value: Value | None) -> bool:
    """Whether a factor's name refers to batches or replicas: each example's loss is then divided before the sum."""
    if value is None or isinstance(value, (Tensor, Variable, PerReplica)):
        return False
    names = value.named if isinstance(value, Constant) else symbol_of(value).words
    return any(words(name) & _OF_BATCHES for name in names)


_OF_BATCHES = frozenset({"batch", "batchsize", "bs", "replica", "replicas"})


def _is_weight(value: Value | None) -> bool:
    """Whether a factor is a bare literal such as 0.5, which is unrelated to batch size and replicas."""
    return (
        isinstance(value, Constant) and not value.named and isinstance(value.value, (int, float)) and value.value <= 2
    )


def _weighs(factor: Value | None) -> bool:
    """Whether a factor weights one term of a loss, or some examples, judged by its size or its name.

    One over the number of replicas or the batch size is small and has another name. A mask consists of zeros and ones.
    """
    if isinstance(factor, Tensor) and factor.masks:
        return True
    if factor is None or isinstance(factor, (Tensor, Variable, PerReplica)) or _is_batch_size(factor):
        return False
    if isinstance(factor, Constant) and isinstance(factor.value, (int, float)) and factor.value >= 1:
        return True
    if type(factor) is Unknown and _is_listed(factor.symbol):
        return True
    names = factor.named if isinstance(factor, Constant) else _own_name(factor)
    return any(words(name) & _OF_WEIGHTS for name in names) and not any(words(name) & _OF_SCALES for name in names)


def _is_listed(name: Symbol) -> bool:
    """Whether a symbol is an element of a list of literals, which are unrelated to replicas unless the index is."""
    numbers = name.parts[1].parts if name.parts[0] == "item" and isinstance(name.parts[1], Symbol) else ()
    return (
        numbers[:1] in (("list",), ("tuple",))
        and all(isinstance(one, Symbol) and one.parts[:2] in _NUMBERS for one in numbers[1])
        and not any(words(word) & (_OF_BATCHES | _OF_SCALES) for word in name.words)
    )


_NUMBERS = (("constant", "int"), ("constant", "float"))


def _own_name(value: Value) -> tuple[str, ...]:
    """Name of an attribute, field, parameter or library option, or of the collection of which a value is an element.
    Empty for computed values."""
    head, *_, last = _whole(symbol_of(value)).parts
    is_named = head in ("attribute", "external", "field", "parameter") and isinstance(last, str)
    return (last.rpartition(".")[2],) if is_named else ()


_OF_WEIGHTS = frozenset(
    {"weight", "weights", "lambda", "lam", "lmbda", "alpha", "beta", "gamma", "coef", "coeff", "cost"}
)

_OF_SCALES = frozenset({"scale", "scaling", "size", "count", "num", "gpus", "workers", "devices", "world", "norm"})
