"""The TensorFlow release in a project's container files. Prose, as of a README, decides nothing."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from itertools import islice

from gpulint.sources.requirements import MAX_ASKED, OPEN, PACKAGE, Named, bounded, filled, listed, newest_asked, numbers

_IMAGES = re.compile(
    r"(?:^|[-_.])(?:docker|container)file(?:[-_.]|\Z)|^(?:docker-)?compose(?:[-_.].*)?\.ya?ml\Z|\.def\Z",
    re.IGNORECASE,
)
"""Names of files that specify a container image."""
_FOLDERS = re.compile(r"\.?(?:docker|containers?|singularity|apptainer)", re.IGNORECASE)

_INSTALLED = re.compile(
    rf"(?<![\w.\-/]){PACKAGE}[\"']?[ \t]*"
    r"(?P<wanted>(?:[=~]=|[<>]=?)[ \t]*[\d.,<>=!]*\d)",
    re.IGNORECASE,
)
"""A requirement in the form of pip."""
_IMAGE = re.compile(
    r"^[ \t]*(?:FROM|From:|image:)[ \t].*?\b(?:tensorflow|tf2?)(?:[-_.:/](?:gpu|cpu|serving|devel))*[-_.:/]"
    r"(?P<major>[12])[.-](?P<minor>\d{1,2})(?![\d])",
    re.IGNORECASE | re.MULTILINE,
)
_ARGUMENT = re.compile(r"^[ \t]*(?:ARG|ENV)[ \t]+(\w+)[= ][ \t]*[\"']?([\w.-]+)", re.IGNORECASE | re.MULTILINE)
_USED = re.compile(r"\$\{?(\w+)\}?")


def described(directory: str, newest: str, text_of: Callable[[str], str]) -> Named | None:
    """The newest release that the container files of a directory name; "" if all later ones are allowed, None if none
    is named."""
    names = listed(directory)
    folders = [name for name in names if _FOLDERS.fullmatch(name)]
    below = [os.path.join(folder, name) for folder in folders for name in listed(os.path.join(directory, folder))]
    images = [name for name in (*names, *below) if _IMAGES.search(os.path.basename(name))]
    paths = [os.path.join(directory, name) for name in images]
    named = [(release, path) for path in paths for release in _of_image(text_of(path))]
    if not named:
        return None
    release, file = max(named, key=lambda pair: pair[0])
    return Named(bounded(release, numbers(newest)), file)


def _of_image(text: str) -> list[tuple[int, int]]:
    """The releases that a container file installs or, if none, those of its base image."""
    text = filled(_USED, text, dict(_ARGUMENT.findall(text)))
    installed = _installed(text)
    return installed or [(int(found["major"]), int(found["minor"])) for found in _IMAGE.finditer(text)]


def _installed(text: str) -> list[tuple[int, int]]:
    wanted = dict.fromkeys(found["wanted"] for found in _INSTALLED.finditer(text))
    return [newest_asked(one) or OPEN for one in islice(wanted, MAX_ASKED)]
