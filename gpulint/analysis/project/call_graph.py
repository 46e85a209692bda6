"""Call graph by name: the definitions that a program can reach.

The name of a function or class reaches it. `.step` reaches the methods `step` of all classes that are named somewhere.
A class is used where it is named; so is its constructor, and its other methods too if a library may call them. A name
that is only known at run time reaches every definition that it can refer to.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple, TypeAlias

from gpulint.analysis.project.modules import Project
from gpulint.knowledge.names import is_tensorflow
from gpulint.knowledge.words import HOST_RANDOM_WORDS, NAMES_OF_TENSORFLOW, OF_TENSORFLOW_ALONE
from gpulint.syntax.outline import Definition, Imported, Outline, identifiers, in_any_form

MAX_IMPORT_DEPTH = 4
"""Maximum depth of imports followed to find what a program reaches."""

MAX_RUN_DEPTH = 3
"""Maximum depth of imports whose modules' top-level code counts as reached."""

MAX_STORING = 3
"""Maximum call depth from a decorator to code that may store the decorated definition."""

MAX_REEXPORTS = 6
"""Maximum length of a chain of modules that re-export a name."""

MIN_PIECE = 3
"""Minimum number of known letters of a method's name, underscore excluded, to search for methods by prefix or
suffix."""

Node: TypeAlias = tuple[str, str]
"""A module's path and the name of a definition in it: `Class.method` for a method, "" for the module's body. The path
"" means all methods of that name in any module."""

BODY = ""

_HARMLESS_BASES = frozenset(
    {
        *("object", "ABC", "abc.ABC", "Generic", "Protocol", "Enum", "enum.Enum", "IntEnum", "str", "int", "float"),
        *("dict", "list", "tuple", "set", "Exception", "ValueError", "RuntimeError", "UserDict", "OrderedDict"),
        *("NamedTuple", "TypedDict", "typing.NamedTuple", "typing.Generic", "collections.UserDict"),
    }
)
"""Base classes that call no methods by names of their own."""

_BY_NAME = frozenset({"globals(", "locals(", "eval(", "vars(", "__dict__", ".__dict__"})
"""Words of code that may read any name of its module."""

_IMPORTS_BY_NAME = frozenset({"import_module(", ".import_module(", "__import__("})


_ALONE_IN_ANY_FORM = in_any_form(OF_TENSORFLOW_ALONE)
"""The same in the forms of an outline's words."""


class _Part(NamedTuple):
    """A definition of a module, one of its methods, or its body."""

    said: frozenset[str]
    """All its words."""
    words: frozenset[str]
    """Relevant words: names that only TensorFlow's API uses count only if the part may be related to TensorFlow."""
    attributes: frozenset[str]
    of_class: str = ""
    """Name of the class, for a method."""
    bases: tuple[str, ...] | None = None

    @property
    def names(self) -> frozenset[str]:
        """Identifiers among the words. Not cached: for a large project they would take more memory than everything else
        known about it."""
        return frozenset(word.rstrip("(") for word in self.said if word[0] != ".")


class _Module:
    """A module's outline, prepared for searching."""

    def __init__(self, project: Project, path: str, outline: Outline) -> None:
        self.path = path
        self.outline = outline
        self._project = project

    @property
    def parts(self) -> dict[str, _Part]:
        """Definitions of the module, their methods and the module's body, keyed by name."""
        return self._project.remembered(("parts", self.path), self._parts, ("imports", self.path))

    def _parts(self) -> dict[str, _Part]:
        found = {BODY: self._part(self.outline.body)}
        for name, one in self.outline.definitions.items():
            found[name] = self._part(one.words, bases=one.bases)
            beside = not one.words.isdisjoint(self.gives_tensorflow)
            for method, words in one.methods.items():
                found[f"{name}.{method}"] = self._part(words, name, beside)
        return found

    def _part(
        self, words: frozenset[str], of_class: str = "", beside: bool = False, bases: tuple[str, ...] | None = None
    ) -> _Part:
        attributes = frozenset(word.strip(".(") for word in words if word[0] == ".")
        of_others: frozenset[str] = frozenset()
        if None not in self.stars:
            alone = not beside and words.isdisjoint(self.gives_tensorflow)
            of_others = _ALONE_IN_ANY_FORM if alone else self.of_others
        counting = words if words.isdisjoint(of_others) else words - of_others
        if self.renames_random:
            counting |= HOST_RANDOM_WORDS
        return _Part(words, counting, attributes, of_class, bases)

    @cached_property
    def renames_random(self) -> bool:
        """Whether Python's or NumPy's `random`, or something in it, may have another name in this module."""
        return any(map(_renames_random, (*self.outline.imports, *self.outline.inner_imports)))

    @cached_property
    def methods(self) -> frozenset[str]:
        """Names of the methods of its classes."""
        return frozenset(name for one in self.outline.definitions.values() for name in one.methods)

    @property
    def registered(self) -> tuple[str, ...]:
        """Definitions with a decorator that may register them for other code of the project."""
        return self._project.remembered(("registered", self.path), self._registered, ("imports", self.path))

    def _registered(self) -> tuple[str, ...]:
        definitions = self.outline.definitions.items()
        return tuple(name for name, one in definitions if any(self._keeps(by) for by in one.registered_by))

    def _keeps(self, decorator: str) -> bool:
        """Whether a decorator may register what it decorates. No library's decorator does so for the project to find,
        nor does a function or class that stores nothing."""
        first, _, rest = decorator.partition(".")
        places = self.has(first)
        if any(name == "*" for _, name in places):
            modules = [module_of(self._project, path) for path, _ in places]
            places = [place for one in modules if one is not None for place in one.has(rest.partition(".")[0])]
        elif not places and first in self.bound:
            return any(one.level or self.path_of(one) is not None for one in self.bound[first])
        return not places or any(_stores(self._project, place, MAX_STORING) for place in places)

    @cached_property
    def bound(self) -> dict[str, tuple[Imported, ...]]:
        """Imports that bind each name, each reduced to that name."""
        found: dict[str, dict[Imported, None]] = defaultdict(dict)
        for one in self.outline.imports:
            for given, name in zip(one.names or (None,), one.bound, strict=False):
                found[name][one._replace(names=(given,) if given is not None else (), bound=(name,))] = None
        return {name: tuple(imports) for name, imports in found.items()}

    @property
    def stars(self) -> tuple[str | None, ...]:
        """Paths of the modules from which it imports all names; None for modules outside the project."""
        return tuple(dict.fromkeys(self.path_of(one) for one in self._starred))

    @cached_property
    def _starred(self) -> tuple[Imported, ...]:
        return tuple(dict.fromkeys(one for one in self.outline.imports if "*" in one.names))

    @cached_property
    def by_name(self) -> tuple[str, ...]:
        """Paths of the modules from which it imports at run time, by computed names."""
        found: list[str] = []
        for one in self.outline.imports:
            if not one.bound:
                found += paths_of(self._project, self.path, one)
        return tuple(found)

    @cached_property
    def gives_tensorflow(self) -> frozenset[str]:
        """Words that relate code of the module to TensorFlow."""
        imported = frozenset(name for name in self.bound if self._is_of_tensorflow(name, MAX_REEXPORTS))
        known = in_any_form(imported | NAMES_OF_TENSORFLOW)
        definitions = self.outline.definitions.items()
        aliases = {name for name, one in definitions if one.bases is None and not one.words.isdisjoint(known)}
        return in_any_form(imported | aliases | NAMES_OF_TENSORFLOW)

    @cached_property
    def of_others(self) -> frozenset[str]:
        """Words that are TensorFlow's after a dot elsewhere, but belong to other libraries in this module."""
        return (OF_TENSORFLOW_ALONE | {f"{word}(" for word in OF_TENSORFLOW_ALONE}) - self.gives_tensorflow

    def _is_of_tensorflow(self, name: str, removes: int) -> bool:
        """Whether an imported name is TensorFlow's, directly or through re-exports."""
        for one in self.bound[name]:
            given = one.names[0] if one.names else ""
            path = self.path_of(one)
            if path is None and not one.level and is_tensorflow(f"{one.module}.{given}"):
                return True
            if path is not None and given and removes and (other := module_of(self._project, path)) is not None:
                if given in other.outline.definitions:
                    definition = other.outline.definitions[given]
                    if definition.bases is None and not definition.words.isdisjoint(in_any_form(NAMES_OF_TENSORFLOW)):
                        return True
                elif given in other.bound and other._hands_on_tensorflow(given, removes - 1):
                    return True
        return False

    def _hands_on_tensorflow(self, name: str, removes: int) -> bool:
        key = ("of tensorflow", self.path, name, removes)
        return self._project.remembered(key, lambda: self._is_of_tensorflow(name, removes), ("imports", self.path))

    def path_of(self, imported: Imported, name: str = "") -> str | None:
        """File of an imported module, or of the module `name` in that package."""
        module = f"{imported.module}.{name}" if imported.module and name else imported.module or name
        if "*" in module:
            return None
        if imported.level:
            return self._project.find_relative(module, imported.level, self.path)
        return self._project.find(module, self.path)

    def has(self, name: str, removes: int = MAX_REEXPORTS) -> list[Node]:
        """Definitions that a name of the module refers to, its own or imported ones. A whole module is (path, "*")."""
        if name in self.outline.definitions:
            return [(self.path, name)]
        found: list[Node] = []
        if not removes:
            return found
        for one in self.bound.get(name, ()):
            if not one.names:
                paths = [self.path_of(one), self.path_of(one._replace(module=one.module.partition(".")[0]))]
                found += [(path, "*") for path in paths if path is not None]
                continue
            given = one.names[0]
            path = self.path_of(one)
            other = module_of(self._project, path) if path is not None and path != self.path else None
            handed_on = other._hands_on(given, removes - 1) if other is not None else []
            below = self.path_of(one, given)
            found += handed_on or ([(below, "*")] if below is not None else [])
        if not found:
            for path in self.stars:
                other = module_of(self._project, path) if path is not None and path != self.path else None
                if other is not None and (handed_on := other._hands_on(name, removes - 1)):
                    return handed_on
        return list(dict.fromkeys(found))

    def _hands_on(self, name: str, removes: int) -> list[Node]:
        """Cached result of `has`: modules can re-export a name to each other along any number of ways."""
        if name in self.outline.definitions:
            return [(self.path, name)]
        key = ("has", self.path, name, removes)
        return self._project.remembered(key, lambda: self.has(name, removes), ("imports", self.path))


def _renames_random(one: Imported) -> bool:
    """Whether an import gives Python's or NumPy's `random`, or something in it, another name."""
    if one.level or one.module not in ("numpy", "numpy.random", "random"):
        return False
    if not one.names:
        return one.bound not in (("np",), ("numpy",), ("random",))
    if one.module == "numpy":
        return "*" in one.names or ("random" in one.names and "random" not in one.bound)
    return True


def module_of(project: Project, path: str) -> _Module | None:
    """The module at a path; None if it cannot be read or is not Python."""

    def find() -> _Module | None:
        outline = project.outline_of(path)
        return _Module(project, path, outline) if outline is not None else None

    project.outline_of(path)
    return project.computed(("module", path), find)


class Reach:
    """Everything that the program in a file reaches. `project` records the files that this depends on.

    With `alone` only the words of the file itself count.
    """

    def __init__(self, project: Project, path: str, alone: bool = False) -> None:
        self._project = project
        self._path = path
        self._alone = alone
        self._depths = _depths(project, path)
        self._modules = {one: module for one in self._depths if (module := module_of(project, one)) is not None}
        self._parts: dict[str, dict[str, _Part]] = {}
        """Parts of those modules that are reached."""
        self._callable = frozenset().union(*(module.methods for module in self._modules.values()))
        """Names of all methods in the program."""
        self._seen: dict[Node, _Part] = {}
        self._leads: defaultdict[Node, list[Node]] = defaultdict(list)
        """For each reached part, the parts that lead to it."""
        self._asked: set[str] = set()
        """Names of the methods that are read somewhere."""
        self._methods: defaultdict[str, list[Node]] = defaultdict(list)
        """Methods of the classes in use, keyed by name."""
        self._pending: list[Node] = []
        self._pieces: dict[str, list[Node]] = {}
        """Prefixes and suffixes of method names looked up with `getattr`, with the parts that do so."""
        self._find()

    def words(self, in_own_file: bool = False) -> Iterator[frozenset[str]]:
        """Words that count, of each reached part, or of those in the file itself."""
        for node, part in self._counting():
            if not in_own_file or node[0] == self._path:
                yield part.words

    def _counting(self) -> Iterator[tuple[Node, _Part]]:
        for node, part in self._seen.items():
            if not self._alone or node[0] == self._path:
                yield node, part

    def leading_to(self, words: frozenset[str], own_words: frozenset[str]) -> frozenset[Node]:
        """Parts that contain one of the words, those of the file itself that contain one of its `own_words`, and those
        that lead to them."""
        return self._before(
            node
            for node, part in self._counting()
            if not part.words.isdisjoint(own_words if node[0] == self._path else words)
        )

    def leading_home(self, leading: frozenset[Node], words: frozenset[str]) -> frozenset[Node]:
        """Those of `leading` that reach the words through the file itself.

        Includes the classes of the file that contain a word in their own bodies, or name what leads to one: the methods
        that they inherit depend on it. The file as a whole, which a decorator of another file can name, is no part.
        """
        own = {node for node in leading if node[0] == self._path and node in self._seen}
        classes = {node for node in own if self._seen[node].bases is not None}
        makers = {node for node in classes if self._makes(node, leading, words)}
        return self._before(own - classes) | makers

    def _makes(self, node: Node, leading: frozenset[Node], words: frozenset[str]) -> bool:
        path, name = node
        module, part = self._modules[path], self._seen[node]
        if not part.words.isdisjoint(words):
            return True
        bases = _bases(module, name)
        return any(one in leading and one not in bases for one in _targets(self._project, module, name, part))

    def _before(self, nodes: Iterable[Node]) -> frozenset[Node]:
        """These parts and all parts that lead to them."""
        pending = list(nodes)
        found = set(pending)
        while pending:
            for one in self._leads[pending.pop()]:
                if one not in found:
                    found.add(one)
                    pending.append(one)
        return frozenset(found)

    def knows(self, node: Node) -> bool:
        """Whether a part is reached."""
        return node in self._seen

    # --------------------------------------------------------------------------- finding

    def _find(self) -> None:
        for path, module in self._modules.items():
            if path == self._path:
                for name in module.parts:
                    self._reach((path, name))
            elif self._depths[path] <= MAX_RUN_DEPTH:
                self._reach((path, BODY))
                for name in module.registered:
                    self._reach((path, name))
        while self._pending:
            self._visit(self._pending.pop())
            if not self._pending:
                self._pick()

    def _reach(self, node: Node, by: Node | None = None) -> None:
        """Record that a part is used, by another reached part."""
        path, name = node
        if path not in self._modules:
            return
        if path not in self._parts:
            self._parts[path] = self._modules[path].parts
        if (part := self._parts[path].get(name)) is None:
            return
        if by is not None:
            self._leads[node].append(by)
        if node not in self._seen:
            self._seen[node] = part
            self._pending.append(node)

    def _visit(self, node: Node) -> None:
        path, name = node
        part = self._seen[node]
        module = self._modules[path]
        for target in _targets(self._project, module, name, part):
            self._reach(target, node)
        for attribute in part.attributes & self._callable:
            self._leads["", attribute].append(node)
            if attribute not in self._asked:
                self._asked.add(attribute)
                for method in self._methods[attribute]:
                    self._reach(method)
        if "getattr(" in part.words:
            for piece in part.names:
                if len(piece) > MIN_PIECE and "_" in (piece[0], piece[-1]) and piece[:2] != "__":
                    self._pieces.setdefault(piece, []).append(node)
        if part.bases is not None:
            self._use(module, name, node)
        definition = module.outline.definitions.get(name)
        if definition is not None and definition.registered_by:
            self._register(module, definition, node)

    def _pick(self) -> None:
        """Reach the methods that are looked up by a part of their names."""
        for piece, nodes in self._pieces.items():
            for name in self._methods:
                if name not in self._asked and (name.startswith(piece) or name.endswith(piece)):
                    self._asked.add(name)
                    self._leads["", name] += nodes
                    for method in self._methods[name]:
                        self._reach(method)

    def _use(self, module: _Module, name: str, node: Node) -> None:
        """Record that a class is used, and with it the methods that may be called."""
        is_open = _is_open(self._project, module, name, MAX_REEXPORTS)
        is_own = module.path == self._path
        for method in module.outline.definitions[name].methods:
            one = (module.path, f"{name}.{method}")
            self._methods[method].append(one)
            self._leads[one].append(("", method))
            if is_open:
                self._reach(one, node)
            elif is_own or method in self._asked:
                self._reach(one)
        if is_own:
            self._inherit(module, name, MAX_REEXPORTS)

    def _inherit(self, module: _Module, name: str, removes: int) -> None:
        """Reach the inherited methods of a class of the file itself: they are analysed for it, whoever calls them."""
        for path, base in _bases(module, name) if removes else ():
            other = module_of(self._project, path)
            if other is None or path not in self._depths:
                continue
            for method in other.outline.definitions[base].methods:
                self._reach((path, f"{base}.{method}"))
            self._inherit(other, base, removes - 1)

    def _register(self, module: _Module, definition: Definition, node: Node) -> None:
        """Record that code which uses a definition's decorator, or a variable that the decorator uses, may find the
        definition there."""
        for decorator in definition.registered_by:
            for place in module.has(decorator.partition(".")[0]):
                self._reach(node, place)
                other = module_of(self._project, place[0])
                part = other.parts.get(place[1]) if other is not None else None
                if other is not None and part is not None:
                    for variable in part.names.intersection(other.outline.definitions):
                        self._reach(node, (place[0], variable))


def _depths(project: Project, path: str) -> dict[str, int]:
    """Modules that a program imports, with the length of the shortest chain of imports."""
    depths = {path: 0}
    fresh = [path]
    for depth in range(1, MAX_IMPORT_DEPTH + 1):
        found = (one for importer in fresh for one in sorted(imported_paths(project, importer)))
        fresh = [one for one in dict.fromkeys(found) if one not in depths]
        depths |= dict.fromkeys(fresh, depth)
    for one in fresh:
        imported_paths(project, one)
    return depths


def _targets(project: Project, module: _Module, name: str, part: _Part) -> tuple[Node, ...]:
    """Definitions that the names in a part of a module refer to."""

    def find() -> tuple[Node, ...]:
        return tuple(dict.fromkeys(_named(project, module, part)))

    return project.remembered(("targets", module.path, name), find, ("imports", module.path))


def _named(project: Project, module: _Module, part: _Part) -> Iterator[Node]:
    known, names = module.outline.definitions, part.names
    places: list[Node] = [(module.path, one) for one in names.intersection(known)]
    for one in names.intersection(module.bound):
        places += module.has(one)
    if module.stars:
        for one in names.difference(known, module.bound):
            places += module.has(one)
    every = not part.words.isdisjoint(_BY_NAME)
    if every:
        places += [(module.path, one) for one in known]
        for one in module.bound:
            places += module.has(one)
    if not part.words.isdisjoint(_IMPORTS_BY_NAME):
        places += [(path, "*") for path in module.by_name]
    picks = every or "getattr(" in part.words or not part.words.isdisjoint(_IMPORTS_BY_NAME)
    if picks and part.of_class:
        places += [(module.path, f"{part.of_class}.{one}") for one in known[part.of_class].methods]
    entered: set[str] = set()
    while places:
        path, one = places.pop()
        if one != "*":
            yield path, one
        elif path not in entered and (other := module_of(project, path)) is not None:
            entered.add(path)
            for attribute in {*other.outline.definitions, *other.bound} if picks else part.attributes:
                places += other.has(attribute)


def registers(project: Project, path: str) -> bool:
    """Whether a module has definitions that a decorator may register for other code of the project."""
    module = module_of(project, path)
    return module is not None and bool(module.registered)


def _stores(project: Project, node: Node, removes: int) -> bool:
    """Whether a function or class may store something, itself or in what it calls. A variable may."""
    module = module_of(project, node[0])
    one = module.outline.definitions.get(node[1]) if module is not None else None
    if module is None or one is None or one.stores or one.is_variable or not removes:
        return True

    def find() -> bool:
        names = identifiers(one.all_words).intersection([*module.outline.definitions, *module.bound])
        return any(
            _stores(project, place, removes - 1)
            for name in names
            for place in module.has(name)
            if place != node and _is_code(project, place)
        )

    return project.remembered(("stores", node, removes), find, ("imports", module.path))


def _is_code(project: Project, node: Node) -> bool:
    """Whether a definition is a function or a class."""
    module = module_of(project, node[0])
    one = module.outline.definitions.get(node[1]) if module is not None else None
    return one is not None and not one.is_variable


def _bases(module: _Module, name: str) -> list[Node]:
    """Classes of the project that a class inherits from."""
    found: list[Node] = []
    for base in module.outline.definitions[name].bases or ():
        first, _, rest = base.partition(".")
        for path, one in module.has(first) if first else ():
            other = module_of(module._project, path)
            if other is None:
                continue
            places = other.has(rest.rpartition(".")[2]) if one == "*" and rest else [(path, one)]
            found += [place for place in places if _is_class(module._project, place) and place != (module.path, name)]
    return found


def _is_class(project: Project, node: Node) -> bool:
    module = module_of(project, node[0])
    one = module.outline.definitions.get(node[1]) if module is not None else None
    return one is not None and one.bases is not None


def _is_open(project: Project, module: _Module, name: str, removes: int) -> bool:
    """Whether code outside the project may call the methods of a class: one of its bases is, or inherits from, an
    unknown class."""

    def find() -> bool:
        bases = module.outline.definitions[name].bases or ()
        if not removes:
            return True
        inner = _bases(module, name)
        if len(inner) < sum(base not in _HARMLESS_BASES for base in bases):
            return True
        for path, base in inner:
            other = module_of(project, path)
            if other is None or _is_open(project, other, base, removes - 1):
                return True
        return False

    return project.remembered(("open", module.path, name), find, ("imports", module.path))


def imported_paths(project: Project, importer: str) -> frozenset[str]:
    """Files of the project that a file imports, or may import."""

    def find() -> frozenset[str]:
        first = project.outline_of(importer)
        imports = first.imports if first is not None else ()
        return frozenset(path for one in dict.fromkeys(imports) for path in paths_of(project, importer, one))

    return project.remembered(("imports", importer), find)


def paths_of(project: Project, importer: str, imported: Imported) -> list[str]:
    """Files of the project that an import may run."""
    module, level, names = imported.module, imported.level, imported.names
    package, star, below = module.partition("*")
    if star:
        picked = [f"{package}{one}{below}" for one in project.names_in(package.removesuffix("."), level, importer)]
        return [path for one in picked for path in paths_of(project, importer, Imported(one, level, ()))]
    deeper = [f"{module}.{name}" if module else name for name in names if name != "*"]
    asked: Iterable[str] = (module, *deeper)
    if level:
        found = [project.find_relative(one, level, importer) for one in asked]
    else:
        found = [project.find(one, importer) for one in asked]
    return [path for path in found if path is not None]
