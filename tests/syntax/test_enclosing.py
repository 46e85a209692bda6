"""The context of a node is the dotted name of the definitions around it."""

from __future__ import annotations

from gpulint.syntax import ir
from gpulint.syntax.enclosing import Enclosing
from tests.syntax.texts import lowered, nodes

PROGRAM = """
a = at_module
@decorator
class A(base):
    in_class
    def f(self, x=default) -> result:
        for y in in_f:
            def g():
                in_g
            after_g
        try:
            def h(): in_h
        except in_handler:
            pass
        match x:
            case 1:
                def k(): in_k
            case 2 if in_guard: in_case
        lambda: in_lambda
    last_in_class
if condition:
    def m(): in_m
elif other_condition:
    pass
at_end
"""


def _contexts() -> dict[str, str]:
    module = lowered(PROGRAM)
    enclosing = Enclosing(module)
    return {node.id: enclosing.context_of(node.number) for node in nodes(module) if isinstance(node, ir.Name)}


def test_a_name_is_qualified_by_its_enclosing_definitions() -> None:
    found = _contexts()
    expected = {
        "at_module": "",
        "in_class": "A",
        "in_f": "A.f",
        "in_g": "A.f.g",
        "after_g": "A.f",
        "in_h": "A.f.h",
        "in_handler": "A.f",
        "in_k": "A.f.k",
        "in_guard": "A.f",
        "in_case": "A.f",
        "in_lambda": "A.f",
        "last_in_class": "A",
        "in_m": "m",
        "other_condition": "",
        "at_end": "",
    }
    assert {name: found[name] for name in expected} == expected


def test_decorators_bases_and_defaults_stand_around_the_definition() -> None:
    found = _contexts()
    assert [found[name] for name in ("decorator", "base", "default", "result")] == ["", "", "A", "A"]


def test_a_definition_is_qualified_by_what_encloses_it() -> None:
    module = lowered("class A:\n  def f(self): pass\n")
    definitions = [node for node in nodes(module) if isinstance(node, ir.ClassDef | ir.FunctionDef)]
    assert [Enclosing(module).context_of(node.number) for node in definitions] == ["", "A"]


def test_decorators_and_defaults_are_in_a_function_and_in_the_one_around_it() -> None:
    module = lowered(PROGRAM)
    enclosing = Enclosing(module)
    of = {node.id: enclosing.functions_of(node.number) for node in nodes(module) if isinstance(node, ir.Name)}
    outside, f = of["at_module"], of["in_f"]
    assert len(outside) == len(f) == 1 and outside != f
    assert of["decorator"] == of["base"] == of["in_class"] == of["last_in_class"] == of["condition"] == outside
    assert of["default"] == of["result"] == outside | f
    assert of["in_handler"] == of["in_case"] == of["in_lambda"] == of["after_g"] == f
    assert of["in_g"].isdisjoint(f)
    assert of["at_end"] == of["other_condition"] == outside
