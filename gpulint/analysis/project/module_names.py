"""Definitions that the names in a module refer to: its own, and those that it imports, directly or through modules that
re-export them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple, TypeAlias

from gpulint.analysis.project.modules import Project
from gpulint.knowledge.names import is_tensorflow
from gpulint.knowledge.words import HOST_RANDOM_WORDS, NAMES_OF_TENSORFLOW, OF_TENSORFLOW_ALONE
from gpulint.syntax.outline import Imported, Outline, identifiers, in_any_form

MAX_STORING = 3
"""Maximum call depth from a decorator to code that may store the decorated definition."""


MAX_REEXPORTS = 6
"""Maximum length of a chain of modules that re-export a name."""


Node: TypeAlias = tuple[str, str]
"""A module's path and the name of a definition in it: `Class.method` for a method, "" for the module's body. The path
"" means all methods of that name in any module."""


BODY = ""


_TENSORFLOW_ALONE_WORDS = in_any_form(OF_TENSORFLOW_ALONE)
"""Names that only TensorFlow's API uses, in the forms in which an outline has words."""


class Part(NamedTuple):
    """A part of a module: a definition, a method of one, or the module's body."""

    all_words: frozenset[str]
    """Words of its code, in the forms in which an outline has them."""
    words: frozenset[str]
    """The relevant ones: a name that only TensorFlow's API uses counts if the part may be related to TensorFlow."""
    attributes: frozenset[str]
    of_class: str = ""
    """Name of the class, for a method."""
    bases: tuple[str, ...] | None = None

    @property
    def names(self) -> frozenset[str]:
        """Identifiers among the words. Not cached: for a large project they would take more memory than everything else
        known about it."""
        return frozenset(word.rstrip("(") for word in self.all_words if word[0] != ".")


class ModuleNames:
    """The names in one module, by its outline."""

    def __init__(self, project: Project, path: str, outline: Outline) -> None:
        self.path = path
        self.outline = outline
        self.project = project

    @property
    def parts(self) -> dict[str, Part]:
        """Parts of the module, keyed by the names that `Node` has for them."""
        return self.project.remembered(("parts", self.path), self._parts, self.path)

    def _parts(self) -> dict[str, Part]:
        found = {BODY: self._part(self.outline.body)}
        for name, one in self.outline.definitions.items():
            found[name] = self._part(one.words, bases=one.bases)
            beside = not one.words.isdisjoint(self.tensorflow_words)
            for method, words in one.methods.items():
                found[f"{name}.{method}"] = self._part(words, name, beside)
        return found

    def _part(
        self, words: frozenset[str], of_class: str = "", beside: bool = False, bases: tuple[str, ...] | None = None
    ) -> Part:
        attributes = frozenset(word.strip(".(") for word in words if word[0] == ".")
        words_of_others: frozenset[str] = frozenset()
        if None not in self.stars:
            alone = not beside and words.isdisjoint(self.tensorflow_words)
            words_of_others = _TENSORFLOW_ALONE_WORDS if alone else self.words_of_others
        counting = words if words.isdisjoint(words_of_others) else words - words_of_others
        if self.has_renamed_random:
            counting |= HOST_RANDOM_WORDS
        return Part(words, counting, attributes, of_class, bases)

    @cached_property
    def has_renamed_random(self) -> bool:
        """Whether Python's or NumPy's `random`, or something in it, may have another name in this module."""
        return any(map(_renames_random, self.outline.all_imports))

    @cached_property
    def methods(self) -> frozenset[str]:
        """Names of the methods of its classes."""
        return frozenset(name for one in self.outline.definitions.values() for name in one.methods)

    @cached_property
    def readable(self) -> frozenset[str]:
        """Names of its functions, classes and methods."""
        definitions = self.outline.definitions.items()
        return self.methods.union(name for name, one in definitions if not one.is_variable)

    @property
    def registered(self) -> tuple[str, ...]:
        """Definitions with a decorator that may register them for other code of the project."""
        return self.project.remembered(("registered", self.path), self._registered, self.path)

    def _registered(self) -> tuple[str, ...]:
        definitions = self.outline.definitions.items()
        return tuple(name for name, one in definitions if any(self._may_register(by) for by in one.registered_by))

    def _may_register(self, decorator: str) -> bool:
        """Whether a decorator may register what it decorates where the project's code finds it. The decorators of
        libraries do not, nor do functions and classes that store nothing."""
        first, _, rest = decorator.partition(".")
        places = self.resolve(first)
        if any(name == "*" for _, name in places):
            modules = [module_of(self.project, path) for path, _ in places]
            places = [place for one in modules if one is not None for place in one.resolve(rest.partition(".")[0])]
        elif not places and first in self.bound:
            return any(one.level or self.path_of(one) is not None for one in self.bound[first])
        return not places or any(may_store(self.project, place, MAX_STORING) for place in places)

    @cached_property
    def bound(self) -> dict[str, tuple[Imported, ...]]:
        """Imports that bind each name, in the module or in a function, each reduced to that name."""
        found: dict[str, dict[Imported, None]] = defaultdict(dict)
        for one in self.outline.all_imports:
            for given, name in zip(one.names or (None,), one.bound, strict=False):
                found[name][one._replace(names=(given,) if given is not None else (), bound=(name,))] = None
        return {name: tuple(imports) for name, imports in found.items()}

    @property
    def stars(self) -> tuple[str | None, ...]:
        """Paths of the modules that it imports with `*`; None for those outside the project."""

        def find() -> tuple[str | None, ...]:
            return tuple(dict.fromkeys(self.path_of(one) for one in self._starred))

        return self.project.remembered(("stars", self.path), find, self.path) if self._starred else ()

    @property
    def star_imported(self) -> dict[str, int]:
        """Paths of the modules whose names its `*` imports bind, nearest first, with the length of the chain of `*`
        imports that leads to each."""

        def find() -> dict[str, int]:
            distances = {self.path: 0}
            fresh = [self.path]
            for distance in range(1, MAX_REEXPORTS + 1):
                modules = [one for path in fresh if (one := module_of(self.project, path)) is not None]
                fresh = list(dict.fromkeys(path for one in modules for path in one.stars if path is not None))
                fresh = [path for path in fresh if path not in distances]
                distances |= dict.fromkeys(fresh, distance)
            del distances[self.path]
            return distances

        return self.project.remembered(("behind stars", self.path), find, self.path) if self._starred else {}

    @property
    def star_names(self) -> frozenset[str]:
        """Names that the modules behind its `*` imports define or import."""

        def find() -> frozenset[str]:
            modules = (module_of(self.project, path) for path in self.star_imported)
            return frozenset().union(*({*one.outline.definitions, *one.bound} for one in modules if one is not None))

        return (
            self.project.remembered(("names behind stars", self.path), find, self.path)
            if self._starred
            else frozenset()
        )

    @cached_property
    def _starred(self) -> tuple[Imported, ...]:
        return tuple(dict.fromkeys(one for one in self.outline.imports if "*" in one.names))

    @property
    def computed_imports(self) -> tuple[str, ...]:
        """Paths of the modules that it may import at run time, by a computed name."""
        found: list[str] = []
        for one in self.outline.imports:
            if not one.bound:
                found += paths_of(self.project, self.path, one)
        return tuple(found)

    @cached_property
    def tensorflow_words(self) -> frozenset[str]:
        """Words by which code of the module is related to TensorFlow: its imports of it, by their names here and there,
        their aliases, and `tf`."""
        own = frozenset(name for name in self.bound if self._is_of_tensorflow(name, MAX_REEXPORTS))
        imported = own | {given for name in own for one in self.bound[name] for given in one.names}
        known = in_any_form(imported | NAMES_OF_TENSORFLOW)
        definitions = self.outline.definitions.items()
        aliases = {name for name, one in definitions if one.bases is None and not one.words.isdisjoint(known)}
        return in_any_form(imported | aliases | NAMES_OF_TENSORFLOW)

    @cached_property
    def words_of_others(self) -> frozenset[str]:
        """Names of TensorFlow's API that belong to other libraries in this module."""
        return (OF_TENSORFLOW_ALONE | {f"{word}(" for word in OF_TENSORFLOW_ALONE}) - self.tensorflow_words

    def _is_of_tensorflow(self, name: str, hops: int) -> bool:
        """Whether an imported name is TensorFlow's, directly or through re-exports."""
        for one in self.bound[name]:
            given = one.names[0] if one.names else ""
            path = self.path_of(one)
            if path is None and not one.level and is_tensorflow(f"{one.module}.{given}"):
                return True
            if path is not None and given and hops and (other := module_of(self.project, path)) is not None:
                if given in other.outline.definitions:
                    definition = other.outline.definitions[given]
                    if definition.bases is None and not definition.words.isdisjoint(in_any_form(NAMES_OF_TENSORFLOW)):
                        return True
                elif given in other.bound and other._exports_tensorflow(given, hops - 1):
                    return True
        return False

    def _exports_tensorflow(self, name: str, hops: int) -> bool:
        key = ("of tensorflow", self.path, name, hops)
        return self.project.remembered(key, lambda: self._is_of_tensorflow(name, hops), self.path)

    def path_of(self, imported: Imported, name: str = "") -> str | None:
        """File of an imported module, or of the module `name` in that package."""
        module = f"{imported.module}.{name}" if imported.module and name else imported.module or name
        if "*" in module:
            return None
        if imported.level:
            return self.project.find_relative(module, imported.level, self.path)
        return self.project.find(module, self.path)

    def resolve(self, name: str, hops: int = MAX_REEXPORTS) -> list[Node]:
        """Definitions that a name in the module refers to, here or where it is imported from. A whole module is
        (path, "*"). `hops`: maximum number of re-exports to follow."""
        found = self._resolve_directly(name, hops)
        if not found and name in self.star_names:
            for path, distance in self.star_imported.items():
                other = module_of(self.project, path) if distance <= hops else None
                if other is not None and (handed_on := other._resolve_directly(name, hops - distance)):
                    return handed_on
        return found

    def _resolve_directly(self, name: str, hops: int) -> list[Node]:
        """The result of `resolve` without `*` imports."""
        if name in self.outline.definitions:
            return [(self.path, name)]
        found: list[Node] = []
        for one in self.bound.get(name, ()) if hops else ():
            if not one.names:
                paths = [self.path_of(one), self.path_of(one._replace(module=one.module.partition(".")[0]))]
                found += [(path, "*") for path in paths if path is not None]
                continue
            given = one.names[0]
            path = self.path_of(one)
            other = module_of(self.project, path) if path is not None and path != self.path else None
            handed_on = other._resolve_export(given, hops - 1) if other is not None else []
            below = self.path_of(one, given)
            found += handed_on or ([(below, "*")] if below is not None else [])
        return list(dict.fromkeys(found))

    def _resolve_export(self, name: str, hops: int) -> list[Node]:
        """The result of `resolve`, cached: modules can re-export a name to each other along many ways."""
        if name in self.outline.definitions:
            return [(self.path, name)]
        key = ("has", self.path, name, hops)
        return self.project.remembered(key, lambda: self.resolve(name, hops), self.path)


def _renames_random(one: Imported) -> bool:
    """Whether an import gives Python's or NumPy's `random`, or something in it, another name."""
    if one.level or one.module not in ("numpy", "numpy.random", "random"):
        return False
    if not one.names:
        return one.bound not in (("np",), ("numpy",), ("random",))
    if one.module == "numpy":
        return "*" in one.names or ("random" in one.names and "random" not in one.bound)
    return True


def module_of(project: Project, path: str) -> ModuleNames | None:
    """The module at a path; None if it cannot be read or is not Python."""

    def find() -> ModuleNames | None:
        outline = project.outline_of(path)
        return ModuleNames(project, path, outline) if outline is not None else None

    project.outline_of(path)
    return project.computed(("module", path), find)


def may_store(project: Project, node: Node, hops: int) -> bool:
    """Whether a function or class may store something, itself or in what it calls up to `hops` calls deep. A variable
    may."""
    module = module_of(project, node[0])
    one = module.outline.definitions.get(node[1]) if module is not None else None
    if module is None or one is None or one.stores or one.is_variable or not hops:
        return True

    def find() -> bool:
        return any(
            may_store(project, place, hops - 1)
            for name in identifiers(one.all_words)
            if name in module.outline.definitions or name in module.bound
            for place in module.resolve(name)
            if place != node and _is_function_or_class(project, place)
        )

    return project.remembered(("stores", node, hops), find, module.path)


def _is_function_or_class(project: Project, node: Node) -> bool:
    """Whether a definition is a function or a class."""
    module = module_of(project, node[0])
    one = module.outline.definitions.get(node[1]) if module is not None else None
    return one is not None and not one.is_variable


def imported_paths(project: Project, importer: str) -> frozenset[str]:
    """Files of the project that a file imports, or may import: also when one of its functions is called."""

    def find() -> frozenset[str]:
        first = project.outline_of(importer)
        imports = first.all_imports if first is not None else ()
        return frozenset(path for one in dict.fromkeys(imports) for path in paths_of(project, importer, one))

    return project.remembered(("imports", importer), find)


def paths_of(project: Project, importer: str, imported: Imported) -> list[str]:
    """Files of the project that an import may run."""
    module, level, names = imported.module, imported.level, imported.names
    if "*" in module:
        return list(project.find_all(module, level, importer))
    deeper = [f"{module}.{name}" if module else name for name in names if name != "*"]
    asked: Iterable[str] = (module, *deeper)
    if level:
        found = [project.find_relative(one, level, importer) for one in asked]
    else:
        found = [project.find(one, importer) for one in asked]
    return [path for path in found if path is not None]
