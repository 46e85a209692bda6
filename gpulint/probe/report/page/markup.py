"""Builds HTML as a tree.

Text never becomes markup: the serialiser of the standard library escapes every text and attribute, so sections cannot
forget to, and no template engine is needed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias, Union
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

Child: TypeAlias = Union[Element, str, "Iterable[Child]", None]
"""Content of an element; None is nothing."""


def tag(name: str, /, *children: Child, **attributes: str | int | float | bool | None) -> Element:
    """An element. Attributes are named as in HTML, with `class_` for class and `_` for `-`; True is an attribute
    without a value, False and None leave it out."""
    made = Element(name)
    for key, value in attributes.items():
        if value is not None and value is not False:
            made.set(key.rstrip("_").replace("_", "-"), "" if value is True else shown(str(value)))
    for child in children:
        _append(made, child)
    return made


def raw(name: str, text: str) -> Element:
    """A `style` or `script` with trusted text, which browsers do not unescape. Raises ValueError for text that would
    close it."""
    if "</" in text:
        raise ValueError(f"{name} cannot hold an end tag")
    made = Element(name)
    made.text = text
    return made


def document(root: Element) -> str:
    """The whole page."""
    return "<!DOCTYPE html>\n" + ElementTree.tostring(root, encoding="unicode", method="html") + "\n"


_SPACES = "\n\t\N{NO-BREAK SPACE}"


def shown(text: str) -> str:
    """Text without control characters, direction marks and lone surrogates."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in _SPACES else "\N{REPLACEMENT CHARACTER}" for char in text)


def _append(parent: Element, child: Child) -> None:
    if child is None:
        return
    if isinstance(child, Element):
        parent.append(child)
    elif isinstance(child, str):
        if len(parent):
            parent[-1].tail = (parent[-1].tail or "") + shown(child)
        else:
            parent.text = (parent.text or "") + shown(child)
    else:
        for one in child:
            _append(parent, one)
