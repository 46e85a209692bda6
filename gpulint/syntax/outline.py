"""Outlines: imports of a file and the words in each definition, ten times as fast as parsing with LibCST."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from sys import intern
from types import MappingProxyType
from typing import NamedTuple

from gpulint.knowledge.words import HOST_RANDOM_WORDS
from gpulint.sources.source import Source
from gpulint.sources.spelling import as_read
from gpulint.syntax.python_tree import python_tree
from gpulint.syntax.search_path import folders

_WORD = re.compile(
    r"#[^\n]*"
    r"|\"\"\"(?<!\\\"\"\")[^\"\\]*(?:(?:\\.|\"(?!\"\"))[^\"\\]*)*\"\"\""
    r"|'''(?<!\\''')[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'''"
    r"|(\.?[^\W\d]\w*(?:[ \t]*\()?)",
    re.DOTALL,
)
"""A word with a preceding dot and following parenthesis, or a comment or long string, whose words do not count. An
escaped quote starts no string: searching for its end could take quadratic time."""


_HARMLESS = frozenset(
    f"{name}("
    for name in (
        *("bool", "dict", "float", "frozenset", "int", "len", "list", "range", "set", "sorted", "str", "tuple", "type"),
        *(
            "NewType",
            "ParamSpec",
            "TypeVar",
            "NamedTuple",
            "namedtuple",
            "TypedDict",
            "Enum",
            "getLogger",
            "get_logger",
            "dirname",
        ),
        *(
            "join",
            "abspath",
            "compile",
            "Path",
            "and",
            "if",
            "in",
            "not",
            "or",
            "except",
            "is",
            "print",
            "filterwarnings",
        ),
    )
)
"""Words before a parenthesis in module bodies that have no effect on TensorFlow."""


_IS_AVAILABLE = re.compile(r"is_(?!gpu|cuda)\w+_available\(")
"""Functions that test whether a library is installed."""


class Imported(NamedTuple):
    """One import: `import module` has no names and level 0. `nets.*` or `tasks.*.nets` stands for any such module,
    chosen at run time. `bound` are the local names of `names`, or of the module; none for an import by string."""

    module: str
    level: int
    names: tuple[str, ...]
    bound: tuple[str, ...] = ()


class Definition(NamedTuple):
    """A function, class or variable of a module: its words, for a class those outside its methods.

    `bases` are the names of a class's bases ("" for other expressions), None for anything but a class; `methods` are
    the words of methods that can be called by name; `registered_by` are decorators that can register it somewhere.
    """

    words: frozenset[str]
    bases: tuple[str, ...] | None = None
    methods: Mapping[str, frozenset[str]] = MappingProxyType({})
    registered_by: tuple[str, ...] = ()
    stores: bool = False
    is_variable: bool = False

    @property
    def all_words(self) -> frozenset[str]:
        """All words, including those of methods."""
        return self.words.union(*self.methods.values())

    @classmethod
    def of_all(cls, several: Sequence[Definition]) -> Definition:
        """Merge all definitions of one name."""
        if len(several) == 1:
            return several[0]
        methods: dict[str, list[frozenset[str]]] = defaultdict(list)
        for one in several:
            for name, words in one.methods.items():
                methods[name].append(words)
        bases = [one.bases for one in several if one.bases is not None]
        return cls(
            frozenset().union(*(one.words for one in several)),
            tuple(chain.from_iterable(bases)) if bases else None,
            {name: frozenset().union(*words) for name, words in methods.items()},
            tuple(chain.from_iterable(one.registered_by for one in several)),
            any(one.stores for one in several),
            any(one.is_variable for one in several),
        )


class Outline(NamedTuple):
    """The outline of a file.

    Words include those in short strings: `device(` before a parenthesis, `.device` after a dot, else `device`.
    `imports` are those outside functions and classes, and those by `import_module` or `importorskip`; `definitions` are
    the functions, classes and variables of the module by name; `body` are the words in other code that runs on import;
    `words` are all of these. `folders` are those that the file adds to `sys.path`, relative to its own. `inner_imports`
    are the imports inside functions and classes, `type_imports` those among `imports` that only type checkers see, and
    `guarded_imports` those that depend on a condition or an exception. `depth` is the number of packages that the file
    is in by its relative imports: two for one that always imports from `..data`.
    """

    imports: tuple[Imported, ...]
    definitions: dict[str, Definition]
    body: frozenset[str]
    words: frozenset[str]
    folders: tuple[str, ...] = ()
    inner_imports: tuple[Imported, ...] = ()
    type_imports: frozenset[Imported] = frozenset()
    guarded_imports: frozenset[Imported] = frozenset()
    depth: int = 0

    @property
    def calls_at_import(self) -> bool:
        """Whether importing the module calls something relevant, or sets the environment; decorators are ignored."""
        if not self.body.isdisjoint(_ENVIRONMENT):
            return True
        called = (word.lstrip(".") for word in self.body if word.endswith("("))
        return any(word not in _HARMLESS and not _IS_AVAILABLE.fullmatch(word) for word in called)

    @property
    def all_imports(self) -> tuple[Imported, ...]:
        """All imports of the file, those inside functions and classes last."""
        return (*self.imports, *self.inner_imports)

    @property
    def only_imports(self) -> bool:
        """Whether the module neither calls nor defines anything."""
        return not any(word.endswith("(") for word in self.words)


_ENVIRONMENT = frozenset({"environ", ".environ"})


@lru_cache(maxsize=512)
def in_any_form(words: frozenset[str]) -> frozenset[str]:
    """Words in the form of an outline, without regard to missing dots and parentheses."""
    called = words | {f"{word}(" for word in words if not word.endswith("(")}
    return called | {f".{word}" for word in called if word[0] != "."}


def identifiers(words: frozenset[str]) -> frozenset[str]:
    """The words of an outline without dots and parentheses."""
    return frozenset(word.strip(".(") for word in words)


def outline(source: Source) -> Outline | None:
    """The outline of a file, None if the running Python cannot parse it (LibCST might)."""
    if (tree := python_tree(source.text)) is None:
        return None
    lines = [line.encode() for line in re.split(r"\r\n?|\n", source.text)]
    every: dict[str, list[Definition]] = defaultdict(list)
    rest: list[str] = []
    done = (1, 0)
    statements = list(_statements(tree.body))
    imported = tuple(imports_among(statements))
    names = _other_names(imported)
    for node in statements:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            rest.append(_between(lines, done, (node.lineno, node.col_offset)))
            done = _end(node)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            rest.append(_between(lines, done, (first, 0)))
            done = _end(node)
            every[node.name].append(_definition(lines, node, (first, 0), names))
        elif variables := _assigned(node):
            words = _words(_between(lines, (node.lineno, node.col_offset), _end(node)), names)
            leader, *others = variables
            every[leader].append(Definition(words, is_variable=True))
            for name in others:  # `a = b = f()`: they name the leader, so that thousands of targets take linear memory
                every[name].append(Definition(frozenset((name, leader)), is_variable=True))
    rest.append(_between(lines, done, (len(lines) + 1, 0)))
    body = _words("\n".join(rest), names)
    definitions = {name: Definition.of_all(several) for name, several in every.items()}
    by_name = _by_name(tree) if _BY_NAME.search(as_read(source.text)) else ()
    imports = (*imported, *by_name)
    words = body.union(*(one.all_words for one in definitions.values()))
    paths = tuple(dict.fromkeys(folders(tree))) if "sys.path" in source.text else ()
    inner = _inner_imports(tree, source.text, statements)
    certain = list(imports_among(tree.body))
    guarded = frozenset(imports).difference(certain)
    depth = max((one.level for one in certain), default=0)
    return Outline(imports, definitions, body, words, paths, inner, _type_imports(tree), guarded, depth)


def _definition(
    lines: list[bytes],
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef,
    start: tuple[int, int],
    names: Mapping[str, str],
) -> Definition:
    """A function or class whose text begins at `start`; `names` as for `_words`."""
    found: dict[str, list[frozenset[str]]] = defaultdict(list)
    rest: list[str] = []
    for method in _methods(node):
        rest.append(_between(lines, start, (method.lineno, 0)))
        start = _end(method)
        found[method.name].append(_words(_between(lines, (method.lineno, 0), start), names))
    rest.append(_between(lines, start, _end(node)))
    bases = tuple(dotted(base) for base in node.bases) if isinstance(node, ast.ClassDef) else None
    registered_by = tuple(dotted(one) for one in node.decorator_list if _may_register(one))
    stores = _STORES.search(b"\n".join(lines[start[0] - 1 : _end(node)[0]]).decode()) is not None
    methods = {name: frozenset().union(*words) for name, words in found.items()}
    return Definition(_words("\n".join(rest), names), bases, methods, registered_by, stores)


_STORES = re.compile(r"\][ \t]*=[^=]|\.(?:append|add|extend|insert|register|setdefault|update)\(|\bsetattr\(")
"""Matches code that adds to a container, or to an object that can contain one."""


def dotted(node: ast.expr) -> str:
    """The dotted name of an expression, of its callee or of the indexed object; "" if there is none."""
    if isinstance(node, (ast.Call, ast.Subscript)):
        return dotted(node.func if isinstance(node, ast.Call) else node.value)
    if isinstance(node, ast.Attribute):
        owner = dotted(node.value)
        return f"{owner}.{node.attr}" if owner else ""
    return node.id if isinstance(node, ast.Name) else ""


def _methods(node: ast.stmt) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The methods of a class that can be called by name."""
    body = node.body if isinstance(node, ast.ClassDef) else []
    methods = [one for one in body if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return [one for one in methods if not one.name.startswith("__")]


_UNREGISTERING = frozenset(
    {
        *("property", "setter", "staticmethod", "classmethod", "abstractmethod", "overload", "wraps", "final"),
        *("dataclass", "total_ordering", "contextmanager", "cache", "lru_cache", "cached_property"),
        *("function", "custom_gradient", "register_keras_serializable", "keras_export", "tf_export", "configurable"),
    }
)
"""Decorators that do not register functions, or only for TensorFlow."""


def _may_register(decorator: ast.expr) -> bool:
    return _called(decorator) not in _UNREGISTERING


def _called(node: ast.expr) -> str:
    """The last component of the name of an expression or of its callee, "" if there is none."""
    called = node.func if isinstance(node, ast.Call) else node
    return called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""


def _assigned(node: ast.stmt) -> list[str]:
    """The variables that a statement assigns to, directly or under a key."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    roots = [target.value if isinstance(target, ast.Subscript) else target for target in targets]
    return [root.id for root in roots if isinstance(root, ast.Name)]


def _end(node: ast.stmt) -> tuple[int, int]:
    return node.end_lineno or node.lineno, node.end_col_offset or 0


def _between(lines: list[bytes], start: tuple[int, int], end: tuple[int, int]) -> str:
    """The text between two places (row from 1, column in bytes)."""
    (first, left), (last, right) = start, end
    if first == last:
        return lines[first - 1][left:right].decode()
    rows = lines[first - 1 : last - 1]
    if left and rows:
        rows[0] = rows[0][left:]
    if right:
        rows.append(lines[last - 1][:right])
    return b"\n".join(rows).decode()


def _other_names(imports: Iterable[Imported]) -> dict[str, str]:
    """Local name → name in its module, of what is imported under another name: `from os import environ as env`."""
    return {bound: name for one in imports for bound, name in zip(one.bound, one.names, strict=False) if bound != name}


def _words(text: str, names: Mapping[str, str]) -> frozenset[str]:
    """The words of a text, with `HOST_RANDOM_WORDS` instead of `random` in `np.random`, and `compile(` instead of
    `.compile(` in `re.compile(`: neither is of TensorFlow. A local name adds the one that `names` maps it to. Words are
    interned: files repeat them."""
    text = as_read(text)
    marks: frozenset[str] = frozenset()
    if "re.compile" in text:
        text = _RE_COMPILE.sub("re compile", text)
    if "random" in text:
        text, count = _NUMPY_RANDOM.subn("np", text)
        marks = HOST_RANDOM_WORDS if count or _PYTHON_RANDOM.search(text) is not None else marks
    words = frozenset(intern(word.replace(" ", "").replace("\t", "")) for word in set(_WORD.findall(text)) if word)
    if names:
        marks |= {f"{name}{call}" for own, name in names.items() for call in ("", "(") if f"{own}{call}" in words}
    return words | marks if marks else words


_NUMPY_RANDOM = re.compile(r"\b(?:np|numpy)\.random\b")
_RE_COMPILE = re.compile(r"\bre\.compile\b")
_PYTHON_RANDOM = re.compile(r"(?<![\w.])random[ \t]?\.")


def imports_among(statements: Iterable[ast.AST]) -> Iterator[Imported]:
    """The imports among some statements."""
    for one in statements:
        if isinstance(one, ast.Import):
            for alias in one.names:
                yield Imported(alias.name, 0, (), (alias.asname or alias.name.partition(".")[0],))
        elif isinstance(one, ast.ImportFrom):
            names = tuple(alias.name for alias in one.names)
            yield Imported(one.module or "", one.level, names, tuple(alias.asname or alias.name for alias in one.names))


def _type_imports(tree: ast.Module) -> frozenset[Imported]:
    """The imports in the body of `if TYPE_CHECKING:` that are nowhere else in the body of the module."""
    hidden = [one for one in tree.body if isinstance(one, ast.If) and _called(one.test) == "TYPE_CHECKING"]
    if not hidden:
        return frozenset()
    seen = [one for one in tree.body if one not in hidden] + [one for block in hidden for one in block.orelse]
    checked = frozenset(imports_among(_statements([one for block in hidden for one in block.body])))
    return checked.difference(imports_among(_statements(seen)))


_INDENTED = re.compile(r"^[ \t]+(?:from|import)\b", re.MULTILINE)


def _inner_imports(tree: ast.Module, text: str, statements: Sequence[ast.stmt]) -> tuple[Imported, ...]:
    """The imports of a module other than those among the statements of its body."""
    if _INDENTED.search(text) is None:
        return ()
    outer = set(map(id, statements))
    return tuple(dict.fromkeys(imports_among(one for one in ast.walk(tree) if id(one) not in outer)))


_IMPORTERS = ("import_module", "__import__", "importorskip")
_BY_NAME = re.compile(rf"\b(?:{'|'.join(_IMPORTERS)})\b")


def _by_name(tree: ast.Module) -> Iterator[Imported]:
    """Imports by calls that receive the name of a module: one module, or any of a package."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args and _called(node) in _IMPORTERS:
            beginning, *ending = _ends(node.args[0])
            package = _ends(node.args[1])[0] if beginning.startswith(".") and len(node.args) > 1 else ""
            module = package + beginning
            if ending:
                package, dot, _ = module.rpartition(".")
                module = f"{package}.*{''.join(ending[-1].partition('.')[1:])}" if dot else ""
            if dotted := module.lstrip("."):
                yield Imported(dotted, len(module) - len(dotted), ())


def _ends(node: ast.expr) -> tuple[str, ...]:
    """A constant string, or the constant start and end of one."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return (node.value,)
    if isinstance(node, ast.JoinedStr) and node.values:
        return _ends(node.values[0])[0], _ends(node.values[-1])[-1]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _ends(node.left)[0], _ends(node.right)[-1]
    template = node.left if isinstance(node, ast.BinOp) else getattr(getattr(node, "func", None), "value", None)
    if isinstance(template, ast.Constant) and isinstance(template.value, str):
        return _HOLE.split(template.value)[0], _HOLE.split(template.value)[-1]
    return "", ""


_HOLE = re.compile(r"%s|\{\w*\}")


def _statements(block: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module in source order, with `if` and `try` replaced by their contents."""
    for statement in block:
        if isinstance(statement, (ast.If, ast.Try)):
            handlers = statement.handlers if isinstance(statement, ast.Try) else []
            final = statement.finalbody if isinstance(statement, ast.Try) else []
            for inner in (statement.body, *(handler.body for handler in handlers), statement.orelse, final):
                yield from _statements(inner)
        else:
            yield statement
