"""What symbols show of arrays."""

from __future__ import annotations

from itertools import product

import pytest

from gpulint.analysis.domain.host_arrays import HostArray, host_array, images_in
from gpulint.analysis.domain.symbolic import Symbol

READ = Symbol(("call", ("external", "cv2.imread"), (Symbol(("constant", "str", "a.png")),)))


def number(value: int) -> Symbol:
    return Symbol(("constant", "int", value))


def shape(*sizes: int) -> Symbol:
    return Symbol(("tuple", tuple(map(number, sizes))))


def call(name: str, *arguments: Symbol) -> Symbol:
    return Symbol(("call", ("external", name), arguments))


def test_the_size_of_a_shape() -> None:
    assert host_array(call("numpy.zeros", shape(10, 20, 30))) == HostArray(10 * 20 * 30 * 4, "numbers")
    assert host_array(call("numpy.random.rand", number(10), number(20))) == HostArray(800, "numbers")


def test_bytes_are_bytes() -> None:
    name = call("numpy.zeros", shape(10, 20), Symbol(("external", "numpy.uint8")))
    assert host_array(name) == HostArray(200, "numbers")


def test_an_array_of_images() -> None:
    assert host_array(call("numpy.array", Symbol(("list", READ)))) == HostArray(None, "images")
    assert images_in(call("cv2.resize", READ, shape(32, 32))) is None


@pytest.mark.parametrize("head", ["binary", "updated", "slice", "item", "call", "list", "tuple", "attribute"])
def test_symbols_of_any_form(head: str) -> None:
    parts = ("x", 3, (), ("external", "numpy.array"), ("attribute", "x"), (READ,), READ, None)
    for count in range(3):
        for rest in product(parts, repeat=count):
            one = Symbol((head, *rest))
            for name in (one, call("numpy.array", one), call("numpy.zeros", one), call("cv2.resize", READ, one)):
                host_array(name)
                images_in(name)


def test_shared_parts_are_visited_once() -> None:
    name = call("other.read")
    for _ in range(100):
        name = Symbol(("binary", "+", name, name))
    assert host_array(name) is None
