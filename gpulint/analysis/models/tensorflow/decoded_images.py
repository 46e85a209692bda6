"""Tensors that are one image, decoded from its file."""

from __future__ import annotations

from collections.abc import Sequence

from gpulint.analysis.domain.context import Context
from gpulint.analysis.domain.path_conditions import EVERYWHERE
from gpulint.analysis.domain.store import alternatives
from gpulint.analysis.domain.values.base import Value, known
from gpulint.analysis.domain.values.tensors import Tensor
from gpulint.places import Site


def decoded_in(context: Context, name: str, inputs: Sequence[Value]) -> tuple[Site, ...] | None:
    """The loops in which the image was decoded that the result of an op or operator shows; None if it is no image."""
    if name.startswith(_DECODES):
        return tuple(loop.site for loop in context.loops)
    if not name.startswith(_KEEPS) or name.endswith(_TAKES_PARTS):
        return None
    shown = (_loops_of(value) for value in inputs[: 2 if name.startswith("operator.") else 1])
    return next((loops for loops in shown if loops is not None), None)


def becomes_one_row(given: Value | None, shape: Sequence[Value]) -> bool:
    """Whether an image that is reshaped to `[-1, height, width, channels]` becomes a batch of one."""
    is_batch = len(shape) == 4 and known(shape[0]) == -1 and known(shape[3]) in (1, 3, 4)
    return is_batch and given is not None and _loops_of(given) is not None


def _loops_of(value: Value) -> tuple[Site, ...] | None:
    options = (one for _, one in alternatives(value, EVERYWHERE) if isinstance(one, Tensor))
    return next((one.decoded for one in options if one.decoded is not None), None)


_DECODES = tuple(
    f"tensorflow.{module}.decode_{kind}" for module in ("image", "io") for kind in ("bmp", "image", "jpeg", "png")
)

_KEEPS = (
    "operator.",
    "tensorflow.cast",
    "tensorflow.clip_by_value",
    "tensorflow.convert_to_tensor",
    "tensorflow.ensure_shape",
    "tensorflow.expand_dims",
    "tensorflow.identity",
    "tensorflow.image.",
    "tensorflow.keras.applications.",
    "tensorflow.reshape",
)
"""Prefixes of the names of ops and operators whose result shows the image that they take."""

_TAKES_PARTS = ("crop_and_resize", "extract_glimpse", "extract_patches")
"""Ops whose result holds several parts of an image."""
