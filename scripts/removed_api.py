"""Write gpulint/knowledge/removed.json: what the TensorFlow and Keras API has lost since 1.15.

    python scripts/removed_api.py CACHE gpulint/knowledge/removed.json

Nothing is imported: the wheels of every release are downloaded with pip and read with ast, which takes about six
minutes. Their Python files are kept in the folder CACHE, about 900 MB; the wheels are not. A release is combined with
the Keras and the estimator that its wheel requires. If it allows any Keras 3, that is the oldest minor release allowed,
and for the newest TensorFlow the newest Keras. A name is removed in the first release after the last one that had it.

    names       public name → release. For a removed module, only names that were removed before it are listed.
    importable  those of them that are removed as attributes, while `import` still finds the module
    methods     class → method, property or class attribute → release, for classes that still exist
    parameters  function, class or class.method → parameter → release, unless **kwargs accepts it today; a release
                with **kwargs is assumed to accept what earlier ones did
    bases       class → public class whose removed methods, parameters and raising methods are removed here, too; an
                entry of the class itself takes precedence, and "" says that it still exists here
    raising     function, class or class.method → release since which a call only raises
    renamed     removed name → name in the newest release
    shared      last parts of removed names that are also the last part of another name in the newest release
    standalone  removed names of tf.keras that the package keras still has (tensorflow.keras.… here, too)
    only_tf     names that tf.keras has in the newest release and the package keras lacks since Keras 3
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from api_surface import SHORTCUTS, Surface, public, surface
from release_wheels import RELEASES, Site, site_of

DEAD = re.compile(r"compat\.v1\.(keras|layers|estimator|nn\.rnn_cell)\b")
"""Names that are still exported, but raise with Keras 3."""

T = TypeVar("T")


def rank(name: str) -> tuple[object, ...]:
    """Sort key of the names of one object, preferred ones first, as in generate_api_table.py."""
    parts = name.split(".")
    second = next((i for i, word in enumerate(("losses", "layers", "metrics", "optimizers")) if word in parts), 4)
    mark = "experimental" in name or "legacy" in name
    return (
        len(parts) + 2 * (parts[0] in SHORTCUTS),
        mark,
        second,
        parts[-1].islower() and "_" not in name,
        name,
    )


class History:
    """The surfaces of all releases, compared with the newest."""

    def __init__(self, surfaces: list[Surface]) -> None:
        self.surfaces, self.new = surfaces, surfaces[-1]
        self.gone = self.last({n for n in one.names if not n.startswith("compat")} for one in surfaces)
        groups: dict[str, list[str]] = {}
        for name, identity in self.new.names.items():
            if identity and not name.startswith("compat."):
                groups.setdefault(identity, []).append(name)
        self.canonical = {identity: min(names, key=rank) for identity, names in groups.items()}
        self.groups = groups

    def last(self, held: Iterable[set[str]]) -> dict[str, str]:
        """Removed name → the release in which it was removed."""
        since: dict[str, str] = {}
        names: set[str] = set()
        for release, names in zip((*RELEASES[1:], ""), held, strict=True):
            since.update(dict.fromkeys(names, release))
        return {name: release for name, release in since.items() if name not in names}

    def old(self, identity: str, surface: Surface) -> set[str]:
        """The identities that the public names of an object of the newest release had in another release."""
        return {surface.names[n] for n in self.groups[identity] if n in surface.names}

    def listed_names(self) -> dict[str, str]:
        def above(name: str) -> str:
            return self.gone.get(name.rpartition(".")[0]) or (above(name.rpartition(".")[0]) if "." in name else "")

        return {name: since for name, since in self.gone.items() if above(name) != since}

    def methods(self, identity: str) -> dict[str, str]:
        present = self.new.present.get(identity)
        if present is None or self.raises(identity):
            return {}
        held = ({a for i in self.old(identity, s) for a in s.declared.get(i, ())} for s in self.surfaces)
        return {name: since for name, since in self.last(held).items() if name not in present}

    def raises(self, key: str) -> bool:
        return key in self.new.signatures and self.new.signatures[key].raises

    def parameters(self, identity: str, method: str) -> dict[str, str]:
        now = self.new.signatures.get(identity + method)
        if now is None or now.takes_any or now.raises:
            return {}
        held: list[set[str]] = []
        for api in self.surfaces:
            signatures = [s for i in self.old(identity, api) if (s := api.signatures.get(i + method))]
            taken = {p for s in signatures for p in s.parameters if public(p)}
            if any(s.takes_any for s in signatures):
                taken = taken.union(*held)  # a release with **kwargs may take what those before it took
            held.append(taken)
        return {name: since for name, since in self.last(held).items() if name not in now.parameters}

    def raising(self, identity: str, method: str) -> str:
        since = ""
        for release, api in zip(RELEASES[::-1], self.surfaces[::-1], strict=True):
            signatures = [api.signatures.get(i + method) for i in self.old(identity, api)]
            if not any(s and s.raises for s in signatures):
                return since if any(signatures) else ""
            since = release
        return ""

    def has(self, identity: str, key: str) -> bool:
        """Whether the newest release has the method, the parameter or the call that a key stands for."""
        method, mark, parameter = re.split(r"([(!]|$)", key, maxsplit=1)
        now = self.new.signatures.get(f"{identity}.{method}")
        if not mark:
            return method in self.new.present[identity]
        return now is not None and (not now.raises if mark == "!" else now.takes_any or parameter in now.parameters)

    def words(self) -> set[str]:
        """The parts of all names of the newest release, and the names of its methods."""
        parts = {part for name in self.new.names if not name.startswith("compat.") for part in name.split(".")}
        return parts.union(*self.new.declared.values())

    def renamed(self) -> dict[str, str]:
        """Renames, from the wheels' tables and from other names of an object; those of v1 only if there is no other."""
        table: dict[str, str] = {}
        aliases: dict[str, str] = {}
        there = {n for n, identity in self.new.names.items() if identity and not DEAD.match(n)}
        for api in self.surfaces:
            table.update(api.renames)
            groups: dict[str, list[str]] = {}
            for name in sorted(there & api.names.keys()):
                if api.names[name] and not name.startswith("compat."):
                    groups.setdefault(api.names[name], []).append(name)
            for name, identity in api.names.items():
                if identity in groups:
                    aliases[name] = min(groups[identity], key=rank)
        known = {old: name for old, name in table.items() if name in there}
        found = known | aliases | {old: n for old, n in known.items() if not n.startswith("compat.")}
        tops = tuple(self.listed_names())
        return {o: n for o, n in found.items() if o in tops or o.startswith(tuple(f"{top}." for top in tops))}


def prefixed(table: dict[str, T]) -> dict[str, T]:
    return {f"tensorflow.{name}": table[name] for name in sorted(table)}


def table_of(history: History) -> dict[str, Any]:
    new, canonical = history.new, history.canonical
    methods: dict[str, dict[str, str]] = {}
    parameters: dict[str, dict[str, str]] = {}
    raising: dict[str, str] = {}
    bases: dict[str, str] = {}
    full: dict[str, dict[str, str]] = {}
    """Everything that a class has lost: method, method(parameter, and method! for one that only raises."""
    for identity, name in canonical.items():
        raised = history.raising(identity, "")
        raising |= dict.fromkeys(history.groups[identity], raised) if raised else {}
        parameters[name] = history.parameters(identity, "")
        gone = full[identity] = history.methods(identity)
        for method in new.declared.get(identity, ()):
            pairs = history.parameters(identity, f".{method}")
            gone |= {f"{method}({parameter}": since for parameter, since in pairs.items()}
            raised = "" if history.raises(identity) else history.raising(identity, f".{method}")
            gone |= {f"{method}!": raised} if raised else {}
    for identity, name in canonical.items():
        base = next((b for b in new.ancestors.get(identity, ()) if b in canonical), "")
        inherited = full.get(base, {}) if identity in new.present else {}
        if inherited:
            bases[name] = canonical[base]
        kept = {key: "" for key in inherited if key not in full[identity] and history.has(identity, key)}
        for key, since in (kept | full[identity]).items():
            if since and key in inherited and RELEASES.index(inherited[key]) >= RELEASES.index(since):
                continue
            method, _, parameter = key.partition("(")
            if parameter:
                parameters.setdefault(f"{name}.{method}", {})[parameter] = since
            elif key.endswith("!"):
                raising[f"{name}.{key[:-1]}"] = since
            else:
                methods.setdefault(name, {})[key] = since
    names = history.listed_names()
    last_parts = {name.rpartition(".")[2] for name in names} | {name for gone in methods.values() for name in gone}
    return {
        "releases": RELEASES,
        "names": prefixed(names),
        "importable": sorted(prefixed(dict.fromkeys(names.keys() & new.packages, ""))),
        "methods": prefixed({name: dict(sorted(gone.items())) for name, gone in methods.items() if gone}),
        "parameters": prefixed({name: dict(sorted(gone.items())) for name, gone in parameters.items() if gone}),
        "bases": prefixed({name: f"tensorflow.{base}" for name, base in bases.items()}),
        "raising": prefixed(raising),
        "renamed": prefixed({old: f"tensorflow.{name}" for old, name in history.renamed().items()}),
        "shared": sorted(last_parts & history.words()),
    }


def standalone(root: Path, gone: Iterable[str]) -> list[str]:
    """Removed names of tf.keras that the package keras of a release still exports."""
    bindings = Site(root).bindings
    names = [name.split(".") for name in gone if name.startswith("tensorflow.keras.")]
    return sorted(".".join(name) for name in names if name[-1] in bindings(".".join(name[1:-1])))


def only_tf(root: Path, module: str = "") -> list[str]:
    """The names of tf.keras, below one of its modules, that the package keras of a release does not export: Keras keeps
    them for programs of Keras 2 that import it from TensorFlow."""
    site = Site(root)
    below = f"keras{module}"
    theirs, ours = site.bindings(below), site.bindings(f"keras._tf_keras.{below}")
    found = [f"tensorflow.{below}.{name}" for name in ours.keys() - theirs.keys() if public(name)]
    for name in ours.keys() & theirs.keys():
        if site.path(f"keras._tf_keras.{below}.{name}") is not None:
            found += only_tf(root, f"{module}.{name}")
    return sorted(found)


def drop_compat_v2(root: Path, table: dict[str, Any]) -> None:
    """Remove what only `tensorflow.compat.v2`, which counts as TensorFlow itself, has: `enable_v2_behavior`."""
    for name in Site(root).bindings("tensorflow._api.v2.compat.v2"):
        table["names"].pop(f"tensorflow.{name}", None)


def main() -> None:
    cached = Path(sys.argv[1])
    with ProcessPoolExecutor() as pool:
        surfaces = list(pool.map(partial(surface, cached), RELEASES))
    table = table_of(History(surfaces))
    drop_compat_v2(site_of(RELEASES[-1], cached), table)
    table["standalone"] = standalone(site_of(RELEASES[-1], cached), table["names"])
    table["only_tf"] = only_tf(site_of(RELEASES[-1], cached))
    text = json.dumps(table, separators=(",", ":"))
    Path(sys.argv[2]).write_text(text + "\n", "utf-8")
    print(len(text), "bytes;", ", ".join(f"{len(content)} {part}" for part, content in table.items()))


if __name__ == "__main__":
    main()
