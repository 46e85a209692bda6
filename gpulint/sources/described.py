"""The release of TensorFlow that a project's container images or its README name."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from itertools import islice

from gpulint.sources.requirements import MAX_ASKED, filled, listed, newest_asked, numbers, older

_IMAGES = re.compile(
    r"(?:^|[-_.])(?:docker|container)file(?:[-_.]|\Z)|^(?:docker-)?compose(?:[-_.].*)?\.ya?ml\Z|\.def\Z",
    re.IGNORECASE,
)
"""Names of files that say in which image a program runs."""
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
"""As pip is asked for it."""
_SAID = re.compile(
    rf"{_NAME}{_BETWEEN}(?P<release>2\.\d{{1,2}}(?P<patch>\.\d{{1,2}})?)(?P<more>(?:{_ANOTHER})*)(?![\w.]*\d)"
    r"(?=(?P<after>[^\n]{0,30}))",
    re.IGNORECASE,
)
"""A release beside the name in a text; those before 2 are said of what a program was made from, too."""
_OPEN = re.compile(
    r"[ \t)`*]*(?:\+|%2B|\.?x\b|and up|(?:or|and)[ \t]+(?:later|newer|above|higher|greater|up)|(?:-[ \t]*)?compat)",
    re.I,
)
"""Behind a release that is the oldest of those which do."""
_RELEASE = re.compile(r"2\.(\d{1,2})")
_IMAGE = re.compile(
    r"^[ \t]*(?:FROM|From:|image:)[ \t].*?\b(?:tensorflow|tf2?)(?:[-_.:/](?:gpu|cpu|serving|devel))*[-_.:/]"
    r"(?P<major>[12])[.-](?P<minor>\d{1,2})(?![\d])",
    re.IGNORECASE | re.MULTILINE,
)
_ARGUMENT = re.compile(r"^[ \t]*(?:ARG|ENV)[ \t]+(\w+)[= ][ \t]*[\"']?([\w.-]+)", re.IGNORECASE | re.MULTILINE)
_USED = re.compile(r"\$\{?(\w+)\}?")


def described(directory: str, newest: str, text_of: Callable[[str], str]) -> str | None:
    """The newest release, such as "2.12", that is named in a directory: "" where `newest` or a later one may do.

    What an image has installed goes before what a README says. None where neither names one.
    """
    names = listed(directory)
    folders = [name for name in names if _FOLDERS.fullmatch(name)]
    below = [os.path.join(folder, name) for folder in folders for name in listed(os.path.join(directory, folder))]
    images = [name for name in (*names, *below) if _IMAGES.search(os.path.basename(name))]
    present = numbers(newest)
    for found, named in ((images, _of_image), ([name for name in names if _README.fullmatch(name)], _of_text)):
        releases = [release for name in found for release in named(text_of(os.path.join(directory, name)), present)]
        if releases:
            return older(max(releases), present)
    return None


def _of_image(text: str, present: tuple[int, int]) -> list[tuple[int, int]]:
    """The releases in what a container is built from, or installs."""
    text = filled(_USED, text, dict(_ARGUMENT.findall(text)))
    installed = _installed(text, present)
    return installed or [(int(found["major"]), int(found["minor"])) for found in _IMAGE.finditer(text)]


def _of_text(text: str, present: tuple[int, int]) -> list[tuple[int, int]]:
    """The releases that a README names as what a program needs."""
    return [
        *_installed(text, present),
        *(release for found in _SAID.finditer(text) for release in _said(found, present)),
    ]


def _installed(text: str, present: tuple[int, int]) -> list[tuple[int, int]]:
    wanted = dict.fromkeys(found["wanted"] for found in _INSTALLED.finditer(text))
    return [newest_asked(one) or present for one in islice(wanted, MAX_ASKED)]


def _said(found: re.Match[str], present: tuple[int, int]) -> list[tuple[int, int]]:
    """What a place in a text says; "TensorFlow 2.0" is a name for all of 2 more often than a release."""
    if _OPEN.match(found["after"]):
        return [present]
    releases = [(2, int(minor)) for minor in _RELEASE.findall(found["release"] + found["more"])]
    return releases if found["patch"] or found["more"] or releases != [(2, 0)] else []
