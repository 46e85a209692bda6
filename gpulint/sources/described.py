"""The TensorFlow release in a project's container files or README."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from itertools import islice

from gpulint.sources.requirements import MAX_ASKED, OPEN, bounded, filled, listed, newest_asked, numbers

_IMAGES = re.compile(
    r"(?:^|[-_.])(?:docker|container)file(?:[-_.]|\Z)|^(?:docker-)?compose(?:[-_.].*)?\.ya?ml\Z|\.def\Z",
    re.IGNORECASE,
)
"""Names of files that specify a container image."""
_FOLDERS = re.compile(r"\.?(?:docker|containers?|singularity|apptainer)", re.IGNORECASE)
_README = re.compile(r"readme(?:\.(?:md|rst|txt|markdown))?", re.IGNORECASE)

_NAME = r"(?:(?<=badge/)|(?<![\w.\-/]))(?:tensorflow|tf)(?:[-_ ]?(?:gpu|cpu))?(?![-_]?[a-z])"
_BETWEEN = r"(?:[ \t*`:|=_(,-]|version|ver\.?|\bis\b|release|%20)*v?"
_ANOTHER = r"[ \t]*(?:,|/|and|or|to|[-–~])[ \t]*v?2\.\d{1,2}(?:\.\d{1,2})?"
_INSTALLED = re.compile(
    r"(?<![\w.\-/])tensorflow(?:[-_](?:cpu|gpu))?(?:\[[\w,-]+\])?[\"']?[ \t]*"
    r"(?P<wanted>(?:[=~]=|[<>]=?)[ \t]*[\d.,<>=!]*\d)",
    re.IGNORECASE,
)
"""A requirement in the form of pip."""
_SAID = re.compile(
    rf"{_NAME}{_BETWEEN}(?P<release>2\.\d{{1,2}}(?P<patch>\.\d{{1,2}})?)(?P<more>(?:{_ANOTHER})*)(?![\w.]*\d)"
    r"(?=(?P<after>[^\n]{0,30}))",
    re.IGNORECASE,
)
"""A release next to the name in a text. Releases before 2 are ignored: they often refer to a predecessor."""
_OPEN = re.compile(
    r"[ \t)`*]*(?:\+|%2B|\.?x\b|and up|(?:or|and)[ \t]+(?:later|newer|above|higher|greater|up)|(?:-[ \t]*)?compat)",
    re.I,
)
"""Marks a release as the minimum."""
_RELEASE = re.compile(r"2\.(\d{1,2})")
_IMAGE = re.compile(
    r"^[ \t]*(?:FROM|From:|image:)[ \t].*?\b(?:tensorflow|tf2?)(?:[-_.:/](?:gpu|cpu|serving|devel))*[-_.:/]"
    r"(?P<major>[12])[.-](?P<minor>\d{1,2})(?![\d])",
    re.IGNORECASE | re.MULTILINE,
)
_ARGUMENT = re.compile(r"^[ \t]*(?:ARG|ENV)[ \t]+(\w+)[= ][ \t]*[\"']?([\w.-]+)", re.IGNORECASE | re.MULTILINE)
_USED = re.compile(r"\$\{?(\w+)\}?")


def described(directory: str, newest: str, text_of: Callable[[str], str]) -> str | None:
    """The newest release, such as "2.12", named in a directory; "" if all later ones are allowed.

    Container files take precedence over READMEs. None if neither names a release.
    """
    names = listed(directory)
    folders = [name for name in names if _FOLDERS.fullmatch(name)]
    below = [os.path.join(folder, name) for folder in folders for name in listed(os.path.join(directory, folder))]
    images = [name for name in (*names, *below) if _IMAGES.search(os.path.basename(name))]
    present = numbers(newest)
    for found, named in ((images, _of_image), ([name for name in names if _README.fullmatch(name)], _of_text)):
        releases = [release for name in found for release in named(text_of(os.path.join(directory, name)))]
        if releases:
            return bounded(max(releases), present)
    return None


def _of_image(text: str) -> list[tuple[int, int]]:
    """The releases that a container file installs or, if none, those of its base image."""
    text = filled(_USED, text, dict(_ARGUMENT.findall(text)))
    installed = _installed(text)
    return installed or [(int(found["major"]), int(found["minor"])) for found in _IMAGE.finditer(text)]


def _of_text(text: str) -> list[tuple[int, int]]:
    """The releases that a README gives as requirements."""
    return [
        *_installed(text),
        *(release for found in _SAID.finditer(text) for release in _said(found)),
    ]


def _installed(text: str) -> list[tuple[int, int]]:
    wanted = dict.fromkeys(found["wanted"] for found in _INSTALLED.finditer(text))
    return [newest_asked(one) or OPEN for one in islice(wanted, MAX_ASKED)]


def _said(found: re.Match[str]) -> list[tuple[int, int]]:
    """The releases at a match. "TensorFlow 2.0" alone is ignored: it usually means any release of 2."""
    if _OPEN.match(found["after"]):
        return [OPEN]
    releases = [(2, int(minor)) for minor in _RELEASE.findall(found["release"] + found["more"])]
    return releases if found["patch"] or found["more"] or releases != [(2, 0)] else []
