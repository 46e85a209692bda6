"""Variables that Keras creates while a step is traced, such as the slots of an optimizer."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gpulint.estimate.agent.pieces import Pieces


@contextmanager
def lifted(pieces: Pieces) -> Iterator[None]:
    """A context in which Keras creates variables outside of the function that is traced.

    A function that creates variables inside is traced twice by TensorFlow, the second time with the variables of the
    first. Under a strategy, variables are created as always: replicas create them together.
    """
    kind: Any = getattr(sys.modules.get("keras"), "Variable", None)
    create = getattr(kind, "_initialize_with_initializer", None)
    if create is None:
        yield
        return

    @functools.wraps(create)
    def creating(variable: Any, initializer: Any) -> None:
        if pieces.tensorflow.distribute.has_strategy():
            create(variable, initializer)
            return
        # TensorFlow asks the default graph, even where it executes eagerly, who creates variables.
        with pieces.tensorflow.init_scope(), pieces.ops.Graph().as_default(), pieces.context.eager_mode():
            create(variable, initializer)

    kind._initialize_with_initializer = creating
    try:
        yield
    finally:
        kind._initialize_with_initializer = create
