"""Have the Python files of TensorFlow releases from their wheels and look names up in them."""

from __future__ import annotations

import ast
import builtins
import collections.abc
import enum
import re
import subprocess
import sys
import tempfile
import zipfile
from functools import cache
from pathlib import Path
from typing import NamedTuple

RELEASES = ("1.15", *(f"2.{minor}" for minor in range(22)))
PLATFORMS = ("any", *(f"manylinux{old}_x86_64" for old in ("2010", "2014", "_2_17", "_2_27", "_2_28")))
BUILTIN = frozenset([*dir(builtins), *collections.abc.__all__, *enum.__all__, "ABC", "Generic", "Protocol"])


def fetch(site: Path, requirement: str, python: str) -> None:
    """Unpack the Python files of the newest wheel that satisfies the requirement, unless there is one."""
    name = re.split(r"[^\w-]", requirement)[0].replace("-", "_")
    if list(site.glob(f"{name}-*.dist-info")):
        return
    options = [
        "--no-deps",
        "-q",
        "--only-binary",
        ":all:",
        "--implementation",
        "cp",
        "--python-version",
        python,
    ]
    tags = [f"cp{python.replace('.', '')}" + "m" * (python == "3.7"), "abi3", "none"]
    options += [word for tag in tags for word in ("--abi", tag)]
    options += [word for platform in PLATFORMS for word in ("--platform", platform)]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "pip", "download", *options, "-d", folder, requirement], check=True)
        with zipfile.ZipFile(next(Path(folder).glob("*.whl"))) as wheel:
            for member in wheel.infolist():
                if not re.search(r"\.py$|METADATA$", member.filename) or "/contrib/" in member.filename:
                    continue
                if member.filename == "tensorflow/__init__.py" and python == "3.7":  # a shell around the next
                    continue
                member.filename = member.filename.replace("tensorflow_core/", "tensorflow/", 1)
                wheel.extract(member, site)


def site_of(release: str, cached: Path) -> Path:
    """The unpacked packages that make up a release."""
    site = cached / release
    minor = int(release.split(".")[1])
    python = "3.7" if release in ("1.15", "2.0", "2.1") else "3.8" if minor < 14 else "3.11"
    name = "tensorflow" if release in ("1.15", "2.0") else "tensorflow_cpu"
    fetch(site, f"{name}=={release}.*", python)
    metadata = next(site.glob(f"{name}-*.dist-info/METADATA")).read_text("utf-8")
    for name in ("keras", "tensorflow-estimator"):
        asked = re.search(rf"^Requires-Dist: {name} ?\(?([<>=~!][^);\n]*)", metadata, re.MULTILINE)
        if asked:
            oldest = re.fullmatch(r">=(\d+\.\d+)[\d.]*", asked[1].strip())
            late = oldest and release != RELEASES[-1]
            fetch(
                site,
                f"{name}=={oldest[1]}.*" if oldest and late else name + asked[1].replace(" ", ""),
                python,
            )
    return site


class Found(NamedTuple):
    """A definition; of a module only the first is set."""

    module: str
    name: str = ""
    node: ast.AST | None = None


Bindings = dict[str, list[tuple[str, str] | ast.AST]]


class Site:
    """Packages whose names are looked up without running them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.bindings = cache(self._bindings)
        self.find = cache(self._find)
        v1 = (root / "tensorflow/_api/v1").exists()
        places = ("keras/_tf_keras/keras", "keras/api/_v2/keras", "tensorflow/python/keras/api/_v2/keras")
        found = [place for place in places if (root / place / "__init__.py").exists()]
        self.keras = "tensorflow.python.keras.api._v1.keras" if v1 else found[0].replace("/", ".")
        within = "" if "_tf_keras" in self.keras else "_"
        self.exports = re.compile(rf"\b_api\b|\bkeras\.api\b|^tensorflow\.keras|^{within}keras\.(?!src)")
        """The modules that do nothing but export names."""
        self.estimator = f"tensorflow_estimator.python.estimator.api._v{1 if v1 else 2}.estimator"

    def path(self, module: str) -> Path | None:
        for start in (module, re.sub(r"^tensorflow\.", "tensorflow._api.v2.", module)):
            base = self.root / start.replace(".", "/")
            for path in (base / "__init__.py", base.with_name(base.name + ".py")):
                if path.exists():
                    return path
        return None

    def _bindings(self, module: str) -> Bindings:
        path = self.path(module)
        bindings: Bindings = {}
        if path is not None:
            package = module if path.name == "__init__.py" else module.rpartition(".")[0]
            self.collect(ast.parse(path.read_text("utf-8")).body, package, bindings)
        return bindings

    def collect(self, body: list[ast.stmt], package: str, bindings: Bindings) -> None:
        for node in body:
            if isinstance(node, ast.ImportFrom):
                parts = package.split(".")
                origin = ".".join([*(parts[: len(parts) + 1 - node.level] if node.level else []), node.module or ""])
                for alias in node.names:
                    bound = (origin.strip("."), alias.name)
                    bindings.setdefault(alias.asname or alias.name, []).append(bound)
                    if alias.name == "*":
                        for name in self.bindings(bound[0]):
                            bindings.setdefault(name, []).append((bound[0], name))
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    module = alias.name if alias.asname else alias.name.split(".")[0]
                    bindings.setdefault(alias.asname or module, []).append((module, ""))
            elif isinstance(node, ast.ClassDef | ast.FunctionDef):
                bindings[node.name] = [node]
            elif isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        bindings.setdefault(target.id, []).append(node.value)
            elif isinstance(node, ast.If):
                asked = re.search(r"backend\(\) == ['\"](\w+)", ast.unparse(node.test))
                self.collect(node.body if not asked or asked[1] == "tensorflow" else [], package, bindings)
                self.collect(node.orelse if not asked or asked[1] != "tensorflow" else [], package, bindings)
            elif isinstance(node, ast.Try):
                self.collect([*node.body, *(s for h in node.handlers for s in h.body)], package, bindings)

    def _find(self, module: str, name: str, depth: int = 0) -> list[Found]:
        """The definitions behind a name of a module; several if conditions decide."""
        hooks = {"keras": self.keras, "estimator": self.estimator}
        if module == "tensorflow" and name in hooks:
            return [Found(hooks[name])]
        found = []
        for bound in self.bindings(module).get(name, []) if depth < 20 else []:
            if isinstance(bound, tuple):
                found += self.find(*bound, depth + 1) if bound[1] else [Found(bound[0])]
            elif isinstance(bound, ast.Name | ast.Attribute):
                found += self.evaluate(module, bound, depth + 1) or [Found(module, name, bound)]
            else:
                found.append(Found(module, name, bound))
        if not found and self.path(f"{module}.{name}"):
            return [Found(f"{module}.{name}")]
        return found

    def evaluate(self, module: str, node: ast.AST, depth: int = 0) -> list[Found]:
        if isinstance(node, ast.Name):
            return self.find(module, node.id, depth)
        if isinstance(node, ast.Attribute):
            owners = self.evaluate(module, node.value, depth)
            return [f for owner in owners if not owner.name for f in self.find(owner.module, node.attr, depth + 1)]
        return []

    def attributes(self, module: str, node: ast.ClassDef) -> tuple[dict[str, tuple[str, ast.AST]], list[str], bool]:
        """Attributes with the class and node that define them; the classes above; whether all was found."""
        own: dict[str, tuple[str, ast.AST]] = {}
        identity = f"{module}:{node.name}"
        for statement in node.body:
            if isinstance(statement, ast.FunctionDef | ast.ClassDef):
                own[statement.name] = (identity, statement)
            elif isinstance(statement, ast.Assign | ast.AnnAssign):
                for target in statement.targets if isinstance(statement, ast.Assign) else [statement.target]:
                    own |= {name.id: (identity, statement) for name in ast.walk(target) if isinstance(name, ast.Name)}
        above: list[str] = []
        whole = "__getattr__" not in own
        for base in node.bases:
            plain = base.value if isinstance(base, ast.Subscript) else base
            if isinstance(plain, ast.Call) and plain.args and ast.unparse(plain.func).endswith("with_metaclass"):
                plain = plain.args[-1]
            found = [one for one in self.evaluate(module, plain) if one.node is not node]
            whole &= any(map(is_class, found)) or ast.unparse(plain).split(".")[-1] in BUILTIN
            for one in found:
                if isinstance(one.node, ast.ClassDef):
                    inherited, higher, read = self.attributes(one.module, one.node)
                    own = inherited | own
                    above += [f"{one.module}:{one.name}", *higher]
                    whole &= read
        return own, list(dict.fromkeys(above)), whole

    def made_instead(self, attributes: dict[str, tuple[str, ast.AST]]) -> set[str]:
        """Attributes of the classes that a class's __new__ imports to make one of them."""
        bindings: Bindings = {}
        if "__new__" in attributes:
            imports = [n for n in ast.walk(attributes["__new__"][1]) if isinstance(n, ast.ImportFrom)]
            self.collect([*imports], attributes["__new__"][0].partition(":")[0], bindings)
        origins = [bound for found in bindings.values() for bound in found if isinstance(bound, tuple)]
        nodes = [(f.module, f.node) for origin in origins for f in self.find(*origin)]
        made = [self.attributes(origin, node)[0] for origin, node in nodes if isinstance(node, ast.ClassDef)]
        return {name for one in made for name in one}


def is_class(found: Found) -> bool:
    return isinstance(found.node, ast.ClassDef)
