"""Tests whose outcome is known, but only for this iteration of a loop or for this configuration of the program."""

from __future__ import annotations

from gpulint.analysis.domain.context import Object
from gpulint.analysis.domain.values.base import Constant
from gpulint.analysis.engine.argument_binding import spells_out
from gpulint.analysis.engine.machine import Machine
from gpulint.syntax import ir


def is_of_moment(test: ir.Expr) -> bool:
    """Whether a test with a known outcome can have another one in the next iteration (a remainder, something created on
    first use) or with another configuration."""
    if isinstance(test, (ir.Name, ir.Attribute)):
        return True
    if isinstance(test, ir.Unary):
        return is_of_moment(test.operand)
    if isinstance(test, ir.Boolean):
        return is_of_moment(test.left) or is_of_moment(test.right)
    if isinstance(test, ir.Compare):
        sign, right = test.rest[0]
        return sign in ("is", "is not") or _is_remainder(test.left) or _is_remainder(right)
    return _is_remainder(test)


def _is_remainder(test: ir.Expr) -> bool:
    """Whether an expression is a remainder. That of a division by 1 is the same in all iterations."""
    if not isinstance(test, ir.Binary) or test.operator != "%":
        return False
    return not (isinstance(test.right, ir.Constant) and test.right.value == 1)


def is_setting(test: ir.Expr) -> bool:
    """Whether a test reads only names and attributes: `if flip`, `if not self.quiet and verbose`."""
    if isinstance(test, ir.Unary):
        return is_setting(test.operand)
    if isinstance(test, ir.Boolean):
        return is_setting(test.left) and is_setting(test.right)
    return isinstance(test, (ir.Name, ir.Attribute))


def is_asked(machine: Machine, test: ir.Expr) -> bool:
    """Whether a test is on a parameter for which the call spells out a constant, in the loop that contains the call: it
    is an option of a function, and none of the loop."""
    frame = machine.frame
    while isinstance(test, ir.Unary):
        test = test.operand
    if isinstance(test, ir.Compare):
        test = test.left
    return (
        isinstance(test, ir.Name)
        and isinstance(frame.definition, (ir.FunctionDef, ir.Lambda))
        and frame.caller.loops == len(machine.context.loops)
        and spells_out(frame.arguments, frame.definition, test.id)
    )


def is_present(machine: Machine, test: ir.Expr) -> bool:
    """Whether a test that holds is on an object that the program created: `if self.critic`, `if clip is not None`."""
    if isinstance(test, ir.Compare) and test.rest[0][0] == "is not":
        test = test.left
    return isinstance(test, (ir.Name, ir.Attribute)) and isinstance(machine.choose(machine.evaluate(test)), Object)


def is_option(machine: Machine, node: ir.Boolean) -> bool:
    """Whether the left side of `and` or `or` lets the right side be evaluated only at this moment. A test for something
    that exists (`best is None or loss < best`) does so from then on."""
    test = node.left
    if isinstance(test, ir.Compare) and test.rest[0][0] == ("is not" if node.operator == "and" else "is"):
        return isinstance(machine.choose(machine.evaluate(test.left)), Constant)
    return is_of_moment(test) and not (node.operator == "and" and is_present(machine, test))
