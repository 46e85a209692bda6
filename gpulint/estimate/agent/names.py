"""Names of operations that matter to a training step."""

from __future__ import annotations

import re

GRADIENT = re.compile(r"(^|/)(gradient_tape|gradients)/")
"""Name scopes of operations that a `GradientTape` or `tf.gradients` creates."""

UPDATES = ("AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp", "ResourceApply", "ResourceSparseApply")
"""Beginnings of the types of operations that change variables."""
