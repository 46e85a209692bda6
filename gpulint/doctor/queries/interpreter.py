"""Installed packages of this interpreter, without importing any of them."""

from __future__ import annotations

import ast
import glob
import importlib.machinery
import importlib.metadata
import importlib.util
import os
import platform
import sys
from collections.abc import Callable
from typing import Any

_KNOWN = ("protobuf", "numpy", "keras", "tf-keras", "ml-dtypes", "torch", "jax", "jaxlib", "intel-tensorflow")
_PREFIXES = ("tensorflow", "tf-nightly", "nvidia-")


def ask(write: Callable[[str, Any], None]) -> None:
    """Writes `version`, `package`, `distributions`, `requires`, `build` and `wheels`."""
    write("version", platform.python_version())
    write("package", _package())
    found = list(_distributions())
    write("distributions", [row[:3] for row in found])
    write("requires", [text for name, _, _, requires in found if name == "tensorflow" for text in requires])
    write("build", _build())
    write(
        "wheels", [path for entry in sys.path for path in sorted(glob.glob(os.path.join(entry, "nvidia", "*", "lib")))]
    )


def _package() -> dict[str, Any] | None:
    """Where a script in the working directory would find `import tensorflow`; `is_here` if it is in that directory.
    `kind` is "namespace" for a directory without `__init__.py`."""
    here = [] if getattr(sys.flags, "safe_path", False) else [os.getcwd()]
    try:
        spec = importlib.machinery.PathFinder.find_spec("tensorflow", [*here, *sys.path])
        spec = spec or importlib.util.find_spec("tensorflow")
    except (ImportError, ValueError):
        return None
    if spec is None:
        return None
    directories = list(spec.submodule_search_locations or ())
    path = directories[0] if directories else spec.origin or ""
    kind = "namespace" if spec.origin is None else "package" if directories else "module"
    return {"kind": kind, "path": path, "is_here": os.path.dirname(path) in here}


def _distributions() -> Any:
    seen = set()
    for one in importlib.metadata.distributions():
        name = (one.metadata["Name"] or "").lower().replace("_", "-").replace(".", "-")
        if not (name in _KNOWN or name.startswith(_PREFIXES)) or name in seen:
            continue
        seen.add(name)
        yield name, one.version, str(one.locate_file("")), one.requires or []


def _build() -> dict[str, Any]:
    """The values of `tf.sysconfig.get_build_info()`, read from TensorFlow's build_info.py."""
    package = _package()
    if package is None:
        return {}
    path = os.path.join(package["path"], "python", "platform", "build_info.py")
    try:
        with open(path, encoding="utf-8") as file:
            tree = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError):
        return {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and node.value.args:
            try:
                return dict(ast.literal_eval(node.value.args[0]))
            except (ValueError, TypeError):
                return {}
    return {}
