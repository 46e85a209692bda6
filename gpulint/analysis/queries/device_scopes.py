"""Device scopes of a program, and the events in them."""

from __future__ import annotations

from gpulint.analysis.domain.values.tensors import Tensor
from gpulint.analysis.plan.events import (
    DatasetConsumed,
    Event,
    GradientTaken,
    LayerBuilt,
    ModelBuilt,
    ModelCalled,
    ModelFitted,
    OpCalled,
    StateUpdated,
    TracedCalled,
    UnknownFitted,
    VariableBuilt,
)
from gpulint.analysis.plan.plan import Plan
from gpulint.places import Site


def scopes_that_only_build(plan: Plan) -> frozenset[Site]:
    """`tf.device` calls whose scope holds nothing but the construction of Keras layers and models.

    Only the variables are created on the device. Layers compute where the model is called (measured on TensorFlow 2.21
    with Keras 3.15, for functional and Sequential models).
    """
    built: set[Site] = set()
    busy: set[Site] = set()
    for event in plan.events:
        if isinstance(event, (LayerBuilt, ModelBuilt)):
            built.update(scope.site for scope in event.where.context.devices)
        elif event.where.context.devices and _computes(event):
            busy.update(scope.site for scope in event.where.context.devices)
    return frozenset(built - busy)


def _computes(event: Event) -> bool:
    """Whether something is computed with numbers, rather than with the symbolic tensors of a model that is built."""
    if isinstance(event, OpCalled):
        return not any(isinstance(one, Tensor) and one.symbolic for one in event.inputs)
    if isinstance(event, ModelCalled):
        return not any(isinstance(one, Tensor) and one.symbolic for one in event.arguments.all())
    return isinstance(event, _COMPUTING)


_COMPUTING = (DatasetConsumed, GradientTaken, ModelFitted, StateUpdated, TracedCalled, UnknownFitted, VariableBuilt)
