"""XML documents in JUnit format, which CI systems read."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from gpulint.output.escapes import xml_document, xml_text


def document(root: ElementTree.Element) -> str:
    """The document with its declaration, indented; characters that XML forbids are replaced."""
    for element in root.iter():
        element.attrib.update({name: xml_text(value) for name, value in element.attrib.items()})
        element.text = xml_text(element.text) if element.text is not None else None
    ElementTree.indent(root)
    body = xml_document(ElementTree.tostring(root, encoding="unicode"))
    return f'<?xml version="1.0" encoding="utf-8"?>\n{body}\n'
