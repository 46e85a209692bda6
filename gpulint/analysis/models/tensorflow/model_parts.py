"""Which part of a model a symbol names: a layer, a weight, an input."""

from __future__ import annotations

from functools import lru_cache

from gpulint.analysis.domain.symbolic import Symbol, symbol


def is_weight(name: Symbol) -> bool:
    """Whether a symbol is one of the variables of a model, layer or module."""
    if name.parts[0] == "attribute" and name.parts[-1] in _NAMES_OF_VARIABLES:
        return is_layer(symbol(name.parts[1]))
    return _is_one_of(_LISTS_OF_VARIABLES, name)


@lru_cache(maxsize=8192)
def is_of_weights(name: Symbol) -> bool:
    """Whether a symbol is one of the variables of a model, or computed from some by arithmetic."""
    if name.parts[0] == "in_iteration":
        return is_of_weights(symbol(name.parts[2]))
    if name.parts[0] == "binary":
        return any(is_of_weights(symbol(side)) for side in name.parts[2:])
    return is_weight(name)


def is_layer(name: Symbol) -> bool:
    """Whether a symbol is one of the layers of a model."""
    return _is_one_of(_LISTS_OF_LAYERS, name)


def _is_one_of(lists: frozenset[str], name: Symbol) -> bool:
    """Whether a symbol is an element of an attribute with one of these names, or of a slice of one."""
    deep = 0
    while name.parts[0] in ("item", "slice", "in_iteration"):
        deep += name.parts[0] == "item"
        name = symbol(name.parts[2 if name.parts[0] == "in_iteration" else 1])
    return deep > 0 and name.parts[0] == "attribute" and name.parts[-1] in lists


_LISTS_OF_VARIABLES = frozenset({"trainable_variables", "trainable_weights", "variables", "weights"})

_NAMES_OF_VARIABLES = frozenset({"beta", "bias", "embeddings", "gamma", "kernel", "recurrent_kernel"})
"""Attributes of layers that are variables."""

_LISTS_OF_LAYERS = frozenset({"layers"})


def whole_of(name: Symbol) -> Symbol | None:
    """Model whose input, or whose layer's input, a symbol names. None for any other symbol."""
    is_input = False
    while name.parts[0] in ("attribute", "item", "layer_of", "in_iteration"):
        is_input = is_input or name.parts[-1] in ("input", "inputs")
        name = symbol(name.parts[2 if name.parts[0] == "in_iteration" else 1])
        if name.parts[0] == "call" and symbol(name.parts[1]).parts[-1] == "get_layer":
            name = symbol(name.parts[1])
    return name if is_input else None
