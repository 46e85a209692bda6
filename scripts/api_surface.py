"""Read the public API of TensorFlow releases off their Python files; see removed_api.py."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from release_wheels import Found, Site, site_of

SHORTCUTS = ("losses", "metrics", "optimizers", "initializers")
NOT_RAISING = ("NotImplementedError", "AttributeError")


class Signature(NamedTuple):
    parameters: frozenset[str]
    takes_any: bool
    raises: bool


class Surface(NamedTuple):
    """The public API of a release. An identity is the place of a definition, "" for a module."""

    names: dict[str, str]
    declared: dict[str, set[str]]
    """Identity of a class → its public methods, properties and class attributes, inherited or not."""
    present: dict[str, set[str]]
    """The same, with the attributes that its methods set on instances; no entry if a base could not be read."""
    ancestors: dict[str, list[str]]
    signatures: dict[str, Signature]
    renames: dict[str, str]
    """The renames in the wheel's own tables for tf_upgrade_v2."""
    packages: set[str]
    """Modules that can be imported, exported or not."""


def on_instances(node: ast.AST) -> set[str]:
    """The attributes that the methods of a class set on self or cls."""
    names = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute):
            names |= {part.attr} if isinstance(part.ctx, ast.Store) else set()
        elif isinstance(part, ast.Call) and ast.unparse(part.func).endswith("setattr"):
            names |= {a.value for a in part.args if isinstance(a, ast.Constant) and isinstance(a.value, str)}
    return names


Methods = Mapping[str, ast.AST | None]


def hands_on(call: ast.AST, name: str) -> bool:
    """Whether a call passes on the keyword arguments in a dict of this name."""
    if not isinstance(call, ast.Call):
        return False
    given = [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg is None)]
    return any(isinstance(one, ast.Name) and one.id == name for one in given)


def looked_for(node: ast.FunctionDef, methods: Methods, name: str = "") -> set[str]:
    """The keys that a function reads from its **kwargs, or from the dict of that name, itself or in the methods that it
    passes them to."""
    name = name or (node.args.kwarg.arg if node.args.kwarg else "")
    if not name:
        return set()
    text = ast.unparse(node)
    found = {
        *re.findall(rf"\b{name}(?:\.(?:pop|get)\(|\[)'(\w+)'", text),
        *re.findall(rf"'(\w+)' in {name}\b", text),
    }
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and hands_on(call, name) and ast.unparse(call.func).startswith("self._"):
            made = methods.get(ast.unparse(call.func)[5:])
            if isinstance(made, ast.FunctionDef) and made is not node:
                found |= looked_for(made, {}, made.args.kwarg.arg if made.args.kwarg else made.args.args[-1].arg)
    return found


def signature(node: ast.AST, methods: Methods) -> Signature | None:
    """The signature of a function; None for anything else.

    A signature with **kwargs that are refused takes no more than what it looks for in them.
    """
    if not isinstance(node, ast.FunctionDef):
        return None
    decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
    if any(re.search(r"property$|\.setter$", decorator) for decorator in decorators):
        return None
    named = [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    taking = node.args.kwarg is not None
    if node.args.kwarg and any(
        isinstance(one, ast.If) and ast.unparse(one.test) == node.args.kwarg.arg and isinstance(one.body[0], ast.Raise)
        for one in node.body
    ):
        taking = False
    named += looked_for(node, methods)
    body = [s for s in node.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    only = ast.unparse(body[0]) if len(body) == 1 else ""
    raises = bool(re.match(r"raise \w+Error\b", only)) and not only[6:].startswith(NOT_RAISING)
    first = set() if "staticmethod" in decorators else {"self", "cls"}
    return Signature(frozenset(n for n in named if n not in first), taking, raises)


def constructor(nodes: list[ast.ClassDef], methods: Methods) -> Signature | None:
    """The signature of a class with these bases: the keywords that its `__init__` passes on go to that of the next."""
    found: Signature | None = None
    for node in nodes:
        own = next((one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"), None)
        made = signature(own, methods) if own is not None else None
        if own is None or made is None:
            continue
        found = made if found is None else made._replace(parameters=made.parameters | found.parameters)
        name = own.args.kwarg.arg if own.args.kwarg else ""
        calls = (one for one in ast.walk(own) if isinstance(one, ast.Call) and hands_on(one, name))
        above = [ast.unparse(one.func) for one in calls]
        if not made.takes_any or not above or not all(re.match(r"super\(.*\)\.__init__$", one) for one in above):
            break
    return found


def has_metaclass(nodes: list[ast.ClassDef]) -> bool:
    """Whether a metaclass may accept arguments that __init__ does not."""
    words = [word for node in nodes for word in node.keywords if word.arg == "metaclass"]
    return any("ABC" not in ast.unparse(word.value) for word in words)


def public(name: str) -> bool:
    return not name.startswith("_")


def surface(cached: Path, release: str) -> Surface:
    root = site_of(release, cached)
    site = Site(root)
    out = Surface({}, {}, {}, {}, {}, {}, set())
    defined: dict[str, Found] = {}

    def walk(module: str, prefix: str) -> None:
        for name in site.bindings(module):
            full = prefix + name
            if not public(name) or re.search(r"compat\..*compat|^compat.v2", full) or full in out.names:
                continue
            imports = any(isinstance(b, tuple) and b[0] and b[1] for b in site.bindings(module)[name])
            found = site.find(module, name)
            if not imports:
                continue
            one = found[0] if found else Found(module, name)
            if one.name:
                out.names[full] = f"{one.module}:{one.name}"
                defined[full] = one
            else:
                out.names[full] = ""
                if site.exports.search(one.module):
                    walk(one.module, full + ".")

    for module, prefix in (("tensorflow", ""), (site.keras, "keras."), (site.estimator, "estimator.")):
        if prefix and site.path(module):
            out.names[prefix[:-1]] = ""
        walk(module, prefix)
    if release == "1.15":
        out.names.update(dict.fromkeys(("contrib", "flags", "app.flags"), ""))
    else:
        for full in [full for full in out.names if re.match(f"keras.({'|'.join(SHORTCUTS)})\\b", full)]:
            out.names.setdefault(full[6:], out.names[full])
            if full in defined:
                defined.setdefault(full[6:], defined[full])
    for full, one in defined.items():
        identity = out.names[full]
        if full.startswith(("compat.", "raw_ops.")) or identity in out.declared:
            continue
        made = one.node and signature(one.node, {})
        if made:
            out.signatures[identity] = made
        if not isinstance(one.node, ast.ClassDef):
            continue
        attributes, out.ancestors[identity], whole = site.attributes(one.module, one.node)
        out.declared[identity] = {name for name in attributes if public(name)}
        nodes = [one.node]
        for above in out.ancestors[identity]:
            nodes += [f.node for f in site.find(*above.split(":")) if isinstance(f.node, ast.ClassDef)]
        if whole:
            out.present[identity] = set(attributes).union(*map(on_instances, nodes), site.made_instead(attributes))
        methods = {name: node for name, (_, node) in attributes.items()}
        for name, node in methods.items():
            made = signature(node, methods)
            if made and public(name):
                out.signatures[f"{identity}.{name}"] = made
            elif made and name == "__init__" and (made := constructor(nodes, methods) or made):
                out.signatures[identity] = made._replace(takes_any=made.takes_any or has_metaclass(nodes))
    top = root / site.keras.replace(".", "/")
    out.packages.update("keras." + path.parent.name for path in top.glob("*/__init__.py"))
    for path in sorted((root / "tensorflow/tools/compatibility").glob("*renames_v2.py")):
        pairs = re.findall(r"'tf\.([\w.]+)':[\s(]*'tf\.([\w.]+)'", path.read_text("utf-8").replace('"', "'"))
        out.renames.update(pairs)
    return out
