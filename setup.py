"""Compiles what takes the time of a check with mypyc, if GPULINT_COMPILE is set (docs/compiled.md), and gives package
indexes a README whose links work there.

Everything else about the package is in pyproject.toml.
"""

from __future__ import annotations

import os
import re
import sys
from glob import glob
from pathlib import Path
from runpy import run_path
from typing import Any

from setuptools import setup

COMPILED = (
    "gpulint/analysis/**/*.py",
    "gpulint/places.py",
    "gpulint/syntax/ast_*.py",
    *(f"gpulint/syntax/{name}.py" for name in ("checked_imports", "depth", "enclosing", "endings", "endless")),
    *(
        f"gpulint/syntax/{name}.py"
        for name in ("formulas", "fstrings", "ir", "literals", "lowering", "outline", "walk")
    ),
)
"""Modules that programs spend most of their time in. Packages' `__init__.py` are never compiled."""

INTERPRETED = {"gpulint/analysis/engine/library.py", "gpulint/analysis/models/libraries.py"}
"""Those among them that are not compiled: compiled classes have no subclasses that are not."""


def description(site: str | None) -> str:
    """The README as package indexes show it, which have no `docs/`: links lead to the site. Where there is none, their
    text is left, and of a picture nothing."""
    text = Path(__file__).with_name("README.md").read_text(encoding="utf-8")
    if site is None:
        text = re.sub(r"!\[[^\]]*\]\(docs/[^)]*\)\n*", "", text)
        return re.sub(r"\[([^\]]*)\]\(docs/[^)]*\)", r"\1", text)
    text = re.sub(r"\]\(docs/index\.md", f"]({site}", text)
    text = re.sub(r"\]\(docs/([\w-]+)\.md", rf"]({site}\1/", text)
    return re.sub(r"\]\(docs/", f"]({site}", text)


def site() -> str | None:
    """Address of the documentation on the web."""
    module = Path(__file__).parent / "gpulint" / "output" / "site.py"
    address: str | None = run_path(str(module))["SITE"]
    return address


def compiled() -> list[str]:
    """Paths of the modules to compile."""
    found = {path.replace(os.sep, "/") for pattern in COMPILED for path in glob(pattern, recursive=True)}
    return sorted(path for path in found - INTERPRETED if not path.endswith("__init__.py"))


def options() -> dict[str, Any]:
    """Arguments of `setup`: extension modules while a wheel is built, and what building them requires."""
    if not os.environ.get("GPULINT_COMPILE"):
        return {}
    needed = {"setup_requires": ["mypy>=1.18"]}
    if not {"bdist_wheel", "build_ext"}.intersection(sys.argv):
        return needed
    from mypyc.build import mypycify

    flags = ["--ignore-missing-imports", "--follow-imports=silent"]  # LibCST is not installed where wheels are built
    level = os.environ.get("GPULINT_COMPILE_LEVEL", "3")
    return {**needed, "ext_modules": mypycify([*flags, *compiled()], opt_level=level, debug_level="0")}


if __name__ == "__main__":
    setup(long_description=description(site()), long_description_content_type="text/markdown", **options())
