"""Tests of which the outcome is known, but only of this round of a loop or of this setting of the program."""

from __future__ import annotations

from gpulint.analysis.domain.context import Object
from gpulint.analysis.domain.values.base import Constant
from gpulint.analysis.engine.machine import Machine
from gpulint.syntax import ir


def is_of_moment(test: ir.Expr) -> bool:
    """Whether a test with a known outcome can have another one in the next round (a remainder, what is made when it is
    first needed), or with another setting."""
    if isinstance(test, (ir.Name, ir.Attribute)):
        return True
    if isinstance(test, ir.Unary):
        return is_of_moment(test.operand)
    if isinstance(test, ir.Boolean):
        return is_of_moment(test.left) or is_of_moment(test.right)
    if isinstance(test, ir.Compare):
        sign, right = test.rest[0]
        return sign in ("is", "is not") or any(
            isinstance(part, ir.Binary) and part.operator == "%" for part in (test.left, right)
        )
    return isinstance(test, ir.Binary) and test.operator == "%"


def is_present(machine: Machine, test: ir.Expr) -> bool:
    """Whether a test that holds asks for an object that the program made: `if self.critic`, `if clip is not None`."""
    if isinstance(test, ir.Compare) and test.rest[0][0] == "is not":
        test = test.left
    return isinstance(test, (ir.Name, ir.Attribute)) and isinstance(machine.choose(machine.evaluate(test)), Object)


def is_option(machine: Machine, node: ir.Boolean) -> bool:
    """Whether the left side of `and` or `or`, which lets the right one be evaluated, does so only at this moment. What
    is asked for something that is there (`best is None or loss < best`) lets it from then on."""
    test = node.left
    if isinstance(test, ir.Compare) and test.rest[0][0] == ("is not" if node.operator == "and" else "is"):
        return isinstance(machine.choose(machine.evaluate(test.left)), Constant)
    return is_of_moment(test) and not (node.operator == "and" and is_present(machine, test))
