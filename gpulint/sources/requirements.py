"""The TensorFlow release in a project's requirements."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

FILES = re.compile(
    r"(?:(?=.*requirement|constraint).*\.(?:txt|in|pip)|.*\.ya?ml|pyproject\.toml|pipfile|pkg-info|setup\.(?:py|cfg)"
    r"|.*\.lock)",
    re.IGNORECASE,
)
"""Names of files with requirements."""
_FOLDERS = re.compile(r"conda|envs?|environments?|requirements?", re.IGNORECASE)
"""Names of folders with such files."""
_IN_FOLDER = re.compile(r".*\.(?:txt|in|pip|ya?ml)", re.IGNORECASE)
_ENVIRONMENT = re.compile(r"^dependencies:", re.MULTILINE)
"""Marks a conda environment among YAML files."""
_NAMED = re.compile(r"""["']([\w./-]+\.txt)["']""")
"""A file from which a `setup.py` can read requirements."""

PACKAGE = r"(?:tensorflow(?:[-_](?:cpu|gpu|intel|macos|rocm))?|tf[-_]nightly(?:[-_]gpu)?)(?:\[[\w,\s-]+\])?"
"""A package that is TensorFlow, perhaps with extras."""
_ASKED, _ASKED_OF_KERAS = (
    re.compile(rf"""^[^#\n]*?(?<![\w.\-/]){package}["']?[ \t]*\(?(?P<wanted>[=~<>!^].*)$""", re.I | re.M)
    for package in (PACKAGE, "keras")
)
_LOCKED = re.compile(
    rf"""\bname["']?[ \t]*[:=][ \t]*["']?{PACKAGE}["']?,?\s+["']?version["']?[ \t]*[:=][ \t]*["']?(?P<toml>\d+\.\d+)"""
    rf"""|["']{PACKAGE}["']:[ \t]*\{{[^{{}}]*?["']version["']:[ \t]*["']==(?P<json>\d+\.\d+)""",
    re.I,
)
"""A package in a lock file of Poetry, uv, PDM or Conda, or in a `Pipfile.lock`."""
_LOCKS = re.compile(r".*\.lock|conda-lock\.ya?ml", re.I)
_ANY = re.compile(rf"^[ \t]*(?:-[ \t]+)?[\"']?{PACKAGE}[\"']?[ \t]*(?:[#;].*)?$", re.I | re.M)
_OF_GPU = re.compile(r"tensorflow[-_]gpu", re.I)
_LAST_FOR_GPU = "<2.12"
"""Releases of the package `tensorflow-gpu` on PyPI: those after 2.11 cannot be installed."""
_LISTS = (".txt", ".in", ".pip", ".yml", ".yaml")
"""Files with one requirement per line."""
_ASIDE = re.compile(r"(?:^|[^a-z])(?:tests?|dev|docs?|ci|examples?|lint)(?:[^a-z]|$)", re.I)
"""Words in the names of files with development requirements."""
_CONSTANT = re.compile(r"""^(\w+)[ \t]*=[ \t]*["']([^"'\n]*)["'][ \t]*(?:#.*)?$""", re.M)
_PLACE = re.compile(r"\{(\w+)\}")
_VERSION_KEY = re.compile(r"""version\s*=\s*["']([^"']*)""")
_BEFORE_RELEASE = re.compile(r"(?<=\d)[-_.]?(?:a|alpha|b|beta|dev|rc)\d+\b", re.I)
_CONDA = re.compile(r"=\s*(\d+(?:\.\d+)*)")

ANY = "*"
"""A requirement of TensorFlow in any release."""
_LAST = {2: 40, 1: 15}
"""The last minor release of each major version, newest first; the present one has none yet."""
_PATCHES = 10

OPEN = (2, _LAST[2])
"""The newest release that a requirement without an upper bound allows."""

MAX_ASKED = 200
"""Maximum number of distinct requirements of a directory: each takes about a millisecond to parse."""
_MAX_SPECIFIERS = 200
"""Maximum length of a requirement."""
_MAX_FILES = 20
"""Maximum number of files that one `setup.py` names."""
_MAX_FILLED = 1_000_000
"""Maximum number of characters that values of variables add to a text."""

_KERAS_3 = (2, 16)
"""The first release that comes with Keras 3."""


class Named(NamedTuple):
    """A release, such as "2.12", and the path of the file that names it."""

    release: str
    file: str


def pinned(directory: str, newest: str, text_of: Callable[[str], str]) -> Named | None:
    """The newest release that the files in a directory allow; "" if they allow all later ones.

    Releases of Keras 2 have the numbers of their TensorFlow releases, and stand in for these. A file that names a
    release takes precedence over those with lower bounds only (`tensorflow>=2.3` in setup.py). `ANY` if the files name
    TensorFlow without a release, None if no readable file names it.
    """
    names = _files(directory)
    present = numbers(newest)
    asked = {name: wanted for name in names if (wanted := _wanted(directory, name, text_of))}
    if not any(one for wanted in asked.values() for one in wanted):
        return Named(ANY, os.path.join(directory, next(iter(asked)))) if asked else None
    different = dict.fromkeys(one for wanted in asked.values() for one in wanted)
    newest_of = {one: newest_asked(one) or OPEN for one in islice(different, MAX_ASKED)}
    releases = {name: [newest_of[one] for one in wanted if one in newest_of] for name, wanted in asked.items()}
    found = {name: max(allowed) for name, allowed in releases.items() if allowed}
    named = {name: release for name, release in found.items() if release < OPEN and _ASIDE.search(name) is None}
    file, release = max((named or found).items(), key=lambda pair: pair[1])
    return Named(bounded(release, present), os.path.join(directory, file))


def numbers(release: str) -> tuple[int, int]:
    """(2, 16) of "2.16"."""
    major, minor = map(int, release.split("."))
    return major, minor


def bounded(release: tuple[int, int], present: tuple[int, int]) -> str:
    """A release as text, at most the present one; "" for `OPEN`."""
    return ".".join(map(str, min(release, present))) if release < OPEN else ""


def _files(directory: str) -> list[str]:
    """The possible requirements files in a directory and in its folders for such files."""
    names = listed(directory)
    found = [name for name in names if FILES.fullmatch(name)]
    for folder in names:
        if _FOLDERS.fullmatch(folder):
            below = listed(os.path.join(directory, folder))
            found += [os.path.join(folder, name) for name in below if _IN_FOLDER.fullmatch(name)]
    return found


def listed(directory: str) -> list[str]:
    """The names in a directory, none if it cannot be read."""
    try:
        return sorted(os.listdir(directory))
    except OSError:
        return []


def _wanted(directory: str, name: str, text_of: Callable[[str], str]) -> list[str]:
    """The version specifiers of TensorFlow in a file, one per mention; "" for any version."""
    path = os.path.join(directory, name)
    text = text_of(path)
    if _LOCKS.fullmatch(os.path.basename(path)):
        return [f"=={found['toml'] or found['json']}.*" for found in _LOCKED.finditer(text)]
    if path.lower().endswith((".yml", ".yaml")) and not _ENVIRONMENT.search(text):
        return []
    if path.endswith(".py"):
        lists = islice(dict.fromkeys(_NAMED.findall(text)), _MAX_FILES)
        read = [wanted for other in lists for wanted in _wanted(directory, other, text_of)]
        return _specifiers_of_tensorflow(filled(_PLACE, text, dict(_CONSTANT.findall(text)))) + read
    asked = _specifiers_of_tensorflow(text)
    if path.lower().endswith(_LISTS):
        of_pip = not path.lower().endswith((".yml", ".yaml"))
        asked += [_LAST_FOR_GPU if of_pip and _OF_GPU.search(found[0]) else "" for found in _ANY.finditer(text)]
    return asked if any(asked) else _specifiers_of_keras(text) or asked


def _specifiers_of_tensorflow(text: str) -> list[str]:
    """The version specifiers of TensorFlow in a text."""
    return [found["wanted"].strip() for found in _ASKED.finditer(text)]


def _specifiers_of_keras(text: str) -> list[str]:
    """The first version specifier of Keras 2 in a text, if any."""
    asked = dict.fromkeys(found["wanted"].strip() for found in _ASKED_OF_KERAS.finditer(text))
    return [one for one in islice(asked, MAX_ASKED) if (newest_asked(one) or _KERAS_3) < _KERAS_3][:1]


def filled(variable: re.Pattern[str], text: str, values: Mapping[str, str]) -> str:
    """A text with variables replaced by their values; the first group of the pattern is the name. Variables without a
    value are kept, and so are those that would exceed the length limit."""
    room = _MAX_FILLED

    def value(found: re.Match[str]) -> str:
        nonlocal room
        if (known := values.get(found[1])) is None or len(known) > room:
            return found[0]
        room -= len(known)
        return known

    return variable.sub(value, text)


def newest_asked(wanted: str) -> tuple[int, int] | None:
    """The newest release that a requirement allows, None if it cannot be determined."""
    specifiers = _specifiers(wanted)
    return _newest(specifiers) if len(specifiers) <= _MAX_SPECIFIERS else None


@lru_cache(maxsize=1024)
def _newest(wanted: str) -> tuple[int, int] | None:
    """The newest release that version specifiers allow, in pip's syntax."""
    from packaging.specifiers import SpecifierSet

    try:
        specifiers = SpecifierSet(_BEFORE_RELEASE.sub("", wanted))
        for major, last in _LAST.items():
            for minor in range(last, -1, -1):
                if any(specifiers.contains(f"{major}.{minor}.{patch}", prereleases=True) for patch in range(_PATCHES)):
                    return major, minor
    except ValueError:  # not a specifier, or a number with more digits than Python converts
        pass
    return None


def _specifiers(wanted: str) -> str:
    """A requirement of pip, conda or Poetry in pip's syntax."""
    if wanted.startswith("=") and not wanted.startswith("=="):
        value = wanted[1:].strip()
        if (conda := _CONDA.match(wanted)) is not None:
            return f"=={conda[1]}.*"
        if value.startswith("{"):
            key = _VERSION_KEY.search(value)
            value = key[1] if key is not None else ""
        return _of_poetry(re.split(r"[\"'#]", value.strip("\"'"), maxsplit=1)[0].strip())
    return re.split(r"[;#\"')\]]", wanted, maxsplit=1)[0].strip().rstrip(",")


def _of_poetry(value: str) -> str:
    parts = re.findall(r"\d{1,4}", value)
    if parts and value[0] in ("^", "~") and value[1] != "=":
        upper = [int(parts[0]) + 1] if value[0] == "^" or len(parts) == 1 else [int(parts[0]), int(parts[1]) + 1]
        return f">={value[1:]},<{'.'.join(map(str, upper))}"
    if value[:1] == "=" != value[1:2]:
        value = value[1:].strip()
    return f"=={value}" if value[:1].isdigit() else "" if value == "*" else value
