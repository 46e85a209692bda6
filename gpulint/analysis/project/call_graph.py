"""Call graph by name: the definitions that a program can reach.

The name of a function or class reaches it. `.step` reaches the methods `step` of all classes that are named somewhere.
A class is used where it is named; so is its constructor, and its other methods too if a library may call them. A module
that is named, but of which nothing is read there, may be handed on: `.Agent` reaches its class. A name that is only
known at run time reaches every definition that it can refer to.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from gpulint.analysis.project.module_names import (
    BODY,
    MAX_REEXPORTS,
    ModuleNames,
    Node,
    Part,
    imported_paths,
    module_of,
)
from gpulint.analysis.project.modules import Project
from gpulint.analysis.project.tensorflow_imports import words_without_imports
from gpulint.syntax.outline import Definition

MAX_IMPORT_DEPTH = 4
"""Maximum depth of imports followed to find what a program reaches."""

MAX_RUN_DEPTH = 3
"""Maximum depth of imports whose modules' top-level code counts as reached."""


MIN_PIECE = 3
"""Minimum number of known letters of a method's name, underscore excluded, to search for methods by prefix or
suffix."""


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
"""Words of code that may import any module by its name."""


ALL = "*"
"""Instead of a name in a node: all definitions and imports of the module, or all methods of the class."""

COMPUTED_IMPORTS = "import *"
"""Instead of a name in a node: the modules that the module may import by a computed name."""

HANDED_ON = "import"
"""Instead of a name in a node: a module that is named, but of which nothing is read."""

_MANY = Part(frozenset(), frozenset(), frozenset())
"""Instead of a part, many: code that may read any of a module's names leads to this one, and this one to them."""


class Reach:
    """The parts of a project that the program in a file reaches. `project` records the files that this depends on.

    With `alone`, the program has no TensorFlow: only those words of the file itself count that it can have anyway
    (`words_without_imports`).
    """

    def __init__(self, project: Project, path: str, alone: bool = False) -> None:
        self._project = project
        self._path = path
        self._alone = alone
        self._depths = _depths(project, path)
        self._modules = {one: module for one in self._depths if (module := module_of(project, one)) is not None}
        self._parts: dict[str, dict[str, Part]] = {}
        """Parts of those modules that are reached."""
        self._callable = frozenset().union(*(module.readable for module in self._modules.values()))
        """Names of all methods in the program, and of the functions and classes of its modules."""
        self._reached: dict[Node, Part] = {}
        self._leads: defaultdict[Node, list[Node]] = defaultdict(list)
        """Reached part → the parts that lead to it."""
        self._read: set[str] = set()
        """Names of the methods that a reached part reads."""
        self._methods: defaultdict[str, list[Node]] = defaultdict(list)
        """Methods of the reached classes, and definitions of the modules that are handed on, keyed by name."""
        self._handed_on: set[Node] = set()
        """Modules that are handed on as values."""
        self._inheriting: dict[Node, int] = {}
        """Classes that inherit methods of the file's own classes, or are such a class, with the length of the chains of
        bases that were followed from there."""
        self._pending: list[Node] = []
        self._partial_names: set[str] = set()
        """Prefixes and suffixes of method names looked up with `getattr`."""
        self._search()

    def words(self, in_own_file: bool = False) -> Iterator[frozenset[str]]:
        """Words of each reached part; only of those in the file itself if `in_own_file`."""
        for node, words in self._counting():
            if not in_own_file or node[0] == self._path:
                yield words

    def _counting(self) -> Iterator[tuple[Node, frozenset[str]]]:
        """The reached parts whose words count, with these words."""
        meant = words_without_imports(self._project, self._path) if self._alone else None
        for node, part in self._reached.items():
            if meant is None:
                yield node, part.words
            elif node[0] == self._path:
                yield node, part.words & meant

    def leading_to(self, words: frozenset[str], own_words: frozenset[str]) -> frozenset[Node]:
        """Parts that contain one of the words, those of the file itself that contain one of its `own_words`, and those
        that lead to them."""
        return self._with_ancestors(
            node
            for node, spoken in self._counting()
            if not spoken.isdisjoint(own_words if node[0] == self._path else words)
        )

    def leading_home(self, leading: frozenset[Node], words: frozenset[str]) -> frozenset[Node]:
        """Those of `leading` that reach the words through code of the file itself.

        A class of the file counts if its own body contains a word, or names a definition that leads to one: the methods
        that it inherits depend on that. The whole file, which a decorator in another file can name, does not count.
        """
        own = {node for node in leading if node[0] == self._path and node in self._reached}
        classes = {node for node in own if self._reached[node].bases is not None}
        leading_bodies = {node for node in classes if self._has_leading_body(node, leading, words)}
        return self._with_ancestors(own - classes) | leading_bodies

    def _has_leading_body(self, node: Node, leading: frozenset[Node], words: frozenset[str]) -> bool:
        """Whether the body of a class contains a word, or names a definition, other than a base, that leads to one."""
        path, name = node
        module, part = self._modules[path], self._reached[node]
        if not part.words.isdisjoint(words):
            return True
        bases = _bases(module, name)
        return any(one in leading and one not in bases for one in _targets(self._project, module, name, part))

    def _with_ancestors(self, nodes: Iterable[Node]) -> frozenset[Node]:
        """These parts, and all that lead to one of them."""
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
        return node in self._reached

    # --------------------------------------------------------------------------- searching

    def _search(self) -> None:
        """Start from all parts of the file, and from the bodies and registered definitions of modules it imports."""
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
                self._reach_by_partial_names()

    def _reach(self, node: Node, by: Node | None = None) -> None:
        """Record that a part is reached, `by` another one if given."""
        path, name = node
        if path not in self._modules:
            return
        if path not in self._parts:
            self._parts[path] = self._modules[path].parts
        is_many = name.rpartition(".")[2] in (ALL, COMPUTED_IMPORTS)
        if (part := _MANY if is_many else self._parts[path].get(name)) is None:
            return
        if by is not None:
            self._leads[node].append(by)
        if node not in self._reached:
            self._reached[node] = part
            self._pending.append(node)

    def _visit(self, node: Node) -> None:
        """Reach what a part names, calls as a method, or registers."""
        path, name = node
        part = self._reached[node]
        module = self._modules[path]
        for target in _targets(self._project, module, name, part):
            if target[1] == HANDED_ON:
                self._hand_on(target)
            else:
                self._reach(target, node)
        for attribute in part.attributes & self._callable:
            self._leads["", attribute].append(node)
            if attribute not in self._read:
                self._read.add(attribute)
                for method in self._methods[attribute]:
                    self._reach(method)
        if "getattr(" in part.words:
            for piece in part.names:
                if len(piece) > MIN_PIECE and "_" in (piece[0], piece[-1]) and piece[:2] != "__":
                    self._leads["", f"{piece}{ALL}"].append(node)
                    self._partial_names.add(piece)
        if part.bases is not None:
            self._use_class(module, name, node)
        definition = module.outline.definitions.get(name)
        if definition is not None and definition.registered_by:
            self._reach_registered(module, definition, node)

    def _hand_on(self, node: Node) -> None:
        """Record that a module is handed on as a value, and reach those of its definitions that are read somewhere."""
        path = node[0]
        if node in self._handed_on or path not in self._modules:
            return
        self._handed_on.add(node)
        for name, one in self._modules[path].outline.definitions.items():
            if not one.is_variable:
                self._methods[name].append((path, name))
                self._leads[path, name].append(("", name))
                if name in self._read:
                    self._reach((path, name))

    def _reach_by_partial_names(self) -> None:
        """Reach the methods that are looked up by a part of their names."""
        lengths = {len(piece) for piece in self._partial_names}
        for name in self._methods if lengths else ():
            if name in self._read:
                continue
            ends = {end for length in lengths for end in (name[:length], name[-length:])}
            if pieces := ends & self._partial_names:
                self._read.add(name)
                self._leads["", name] += [("", f"{piece}{ALL}") for piece in sorted(pieces)]
                for method in self._methods[name]:
                    self._reach(method)

    def _use_class(self, module: ModuleNames, name: str, node: Node) -> None:
        """Record that a class is used, and reach those of its methods that may be called."""
        is_open = _is_open(self._project, module, name, MAX_REEXPORTS)
        is_own = module.path == self._path
        for method in module.outline.definitions[name].methods:
            one = (module.path, f"{name}.{method}")
            self._methods[method].append(one)
            self._leads[one].append(("", method))
            if is_open:
                self._reach(one, node)
            elif is_own or method in self._read:
                self._reach(one)
        if is_own:
            self._reach_inherited(module.path, name)

    def _reach_inherited(self, path: str, name: str) -> None:
        """Reach the methods that a class of the file itself inherits: they are analysed for it, whoever calls them."""
        classes: list[Node] = [(path, name)]
        for hops in range(MAX_REEXPORTS, 0, -1):
            found: list[Node] = []
            for node in classes:
                if self._inheriting.get(node, 0) >= hops:
                    continue
                self._inheriting[node] = hops
                module = module_of(self._project, node[0])
                found += _bases(module, node[1]) if module is not None else ()
            classes = [node for node in dict.fromkeys(found) if node[0] in self._depths]
            for node in classes:
                if node not in self._inheriting:
                    other = module_of(self._project, node[0])
                    for method in other.outline.definitions[node[1]].methods if other is not None else ():
                        self._reach((node[0], f"{node[1]}.{method}"))

    def _reach_registered(self, module: ModuleNames, definition: Definition, node: Node) -> None:
        """Record that the decorators of a definition lead to it, and so do the variables that these use: code may find
        it there."""
        for decorator in definition.registered_by:
            for place in module.resolve(decorator.partition(".")[0]):
                self._reach(node, place)
                other = module_of(self._project, place[0])
                part = other.parts.get(place[1]) if other is not None else None
                if other is not None and part is not None:
                    for variable in part.names:
                        if variable in other.outline.definitions:
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


def _targets(project: Project, module: ModuleNames, name: str, part: Part) -> tuple[Node, ...]:
    """Definitions that the names in a part of a module refer to."""

    def find() -> tuple[Node, ...]:
        return tuple(dict.fromkeys(_named(module, part) if part is not _MANY else _all_of(module, name)))

    return project.remembered(("targets", module.path, name), find, module.path)


def _named(module: ModuleNames, part: Part) -> Iterator[Node]:
    known, bound, names = module.outline.definitions, module.bound, part.names
    every = not part.words.isdisjoint(_BY_NAME)
    imports = not part.words.isdisjoint(_IMPORTS_BY_NAME)
    picks = every or imports or "getattr(" in part.words
    if every:
        yield module.path, ALL
    if imports:
        yield module.path, COMPUTED_IMPORTS
    if picks and part.of_class:
        yield module.path, f"{part.of_class}.{ALL}"
    places: list[Node] = []
    star_names = module.star_names
    for one in names:
        if one in known:
            yield module.path, one
        elif one in bound or one in star_names:
            places += module.resolve(one)
    entered: set[str] = set()
    while places:
        path, one = places.pop()
        if one != ALL or picks:
            yield path, one
        elif path not in entered and (other := module_of(module.project, path)) is not None:
            entered.add(path)
            found = [place for attribute in part.attributes for place in other.resolve(attribute)]
            places += found
            if not found:
                yield path, HANDED_ON


def _all_of(module: ModuleNames, name: str) -> Iterator[Node]:
    """The parts that one of `_many_parts` stands for."""
    of_class = name.removesuffix(f".{ALL}")
    if name == ALL:
        for one in {*module.outline.definitions, *module.bound} - {ALL}:
            yield from module.resolve(one)
    elif name == COMPUTED_IMPORTS:
        for path in module.computed_imports:
            yield path, ALL
    else:
        for one in module.outline.definitions[of_class].methods:
            yield module.path, f"{of_class}.{one}"


def registers(project: Project, path: str) -> bool:
    """Whether a module has definitions that a decorator may register for other code of the project."""
    module = module_of(project, path)
    return module is not None and bool(module.registered)


def _bases(module: ModuleNames, name: str) -> list[Node]:
    """Classes of the project that a class inherits from."""
    found: list[Node] = []
    for base in module.outline.definitions[name].bases or ():
        first, _, rest = base.partition(".")
        for path, one in module.resolve(first) if first else ():
            other = module_of(module.project, path)
            if other is None:
                continue
            places = other.resolve(rest.rpartition(".")[2]) if one == "*" and rest else [(path, one)]
            found += [place for place in places if _is_class(module.project, place) and place != (module.path, name)]
    return found


def _is_class(project: Project, node: Node) -> bool:
    module = module_of(project, node[0])
    one = module.outline.definitions.get(node[1]) if module is not None else None
    return one is not None and one.bases is not None


def _is_open(project: Project, module: ModuleNames, name: str, hops: int) -> bool:
    """Whether code outside the project may call the methods of a class: one of its bases is, or inherits from, an
    unknown class."""

    def find() -> bool:
        bases = module.outline.definitions[name].bases or ()
        if not hops:
            return True
        inner = _bases(module, name)
        if len(inner) < sum(base not in _HARMLESS_BASES for base in bases):
            return True
        for path, base in inner:
            other = module_of(project, path)
            if other is None or _is_open(project, other, base, hops - 1):
                return True
        return False

    return project.remembered(("open", module.path, name), find, module.path)
