"""The frame of a SARIF 2.1.0 log, shared by `check` and `probe`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpulint._version import __version__
from gpulint.output.escapes import absolute_uri, json_text, relative_uri
from gpulint.output.site import SITE

_ROOT = "%SRCROOT%"


def log(
    rules: Sequence[Mapping[str, Any]],
    results: Sequence[Mapping[str, Any]],
    invocation: Mapping[str, Any] | None = None,
    properties: Mapping[str, Any] | None = None,
) -> str:
    """A log of one run. Columns are code points; `rules` are reporting descriptors."""
    run: dict[str, Any] = {
        "tool": {
            "driver": {
                "name": "gpulint",
                "version": __version__,
                "semanticVersion": __version__,
                **({"informationUri": SITE} if SITE else {}),
                "rules": rules,
            }
        },
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The directory that gpulint was started in."}}},
        "results": results,
    }
    if invocation is not None:
        run["invocations"] = [invocation]
    if properties is not None:
        run["properties"] = properties
    return (
        json_text({"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]})
        + "\n"
    )


def message(text: str) -> dict[str, str]:
    """A message in which viewers find no link: `[text](address)` in a program that it quotes would be one."""
    return {"text": text.replace("](", "\\](")}


def artifact(path: str) -> dict[str, str]:
    """An artifact location, relative to the working directory if the path is below it."""
    uri = relative_uri(path)
    return {"uri": uri, "uriBaseId": _ROOT} if uri is not None else {"uri": absolute_uri(path)}
