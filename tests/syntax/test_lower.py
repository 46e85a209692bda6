"""Lowering: the result for each construct, and that CPython's own parser yields the same program."""

from __future__ import annotations

import ast
import sys
from types import ModuleType

import libcst as cst
import pytest
from hypothesis import given, settings

from gpulint.sources.source import Source
from gpulint.syntax import ir, walk
from gpulint.syntax.cst_lowering import EXPRESSIONS
from gpulint.syntax.cst_lowering import expression as expression_of
from gpulint.syntax.lower import lower
from gpulint.syntax.lower_statements import STATEMENTS
from gpulint.syntax.lowering import Lowering
from gpulint.syntax.parse import by_python, parse, unix_text, with_tree
from tests.syntax import shapes
from tests.syntax.programs import programs
from tests.syntax.texts import LIBRARY, expression, library_source, lowered, nodes, source, statement

CONSTRUCTS = """\
x
a.b.c
f(a, *b, c=1, **d)
f(x for x in y)
x[1]
x[1:2, ::3, ...]
x[a,]
x[()]
-a + ~b - (not c) * +d
a ** b ** c // d % e @ f
a << b >> c & d | e ^ f
a and b or c and not d
a < b <= c != d not in e is not f
a if b else c if d else e
(1, 2), [1, *a], {1, 2}, {'k': 1, **d}, (), [], {}
[x for x in y if x if not x for z in x]
{x: y for x, y in z}
{x for x in y}
(x async for x in y)
lambda a, /, b=1, *c, d, e=2, **f: a
lambda *, k: (yield)
(y := f(x))
0, 1, 0x1F, 0b101, 0o17, 1_000, 1.5, 1e3, 2j, 1_0.0_1e-3, 00
None, True, False, ...
'a', "b", '''c
d''', r'\\d', b'\\x00\\n', u'z', 'a' "b" 'c', rb'\\d', '', b'' b'x'
'\\n\\t\\\\ \\'\\x41\\u0042\\U00000043\\N{BULLET}\\101'
'a' f'b{x}c' 'd'
f'{x}', f'{{}}', f'{x!r:>{width}.{precision}}', f'{x = !s}', f'{ x + 1 = }', rf'\\d{x}', f'\\n{x}'
global g, h
x = y = z
x: int = 1
x: int
x.y: "str"
x += 1
x **= 2; y @= z; z //= 1; q >>= 3
(a, [b, *c]), d.e, f[0] = g
del x, y.z
del (x, y)
assert a
assert a, b
raise
raise E
raise E from e
import a
import a.b.c as d, e
from . import a
from ..b.c import d as e, f
from a import *
if a: b
elif c: d
else: e
if a:
    b
elif c:
    d
for a, b in c:
    break
else:
    continue
while a:
    pass
else:
    b
with a: b
with a as b, c() as (d, e): f
try:
    a
except E:
    b
except (F, G) as e:
    c
except:
    d
else:
    e
finally:
    f
try: a
finally: b
@d
@d.e(1)
def f(a: int, /, b: str = 's', *c: t, d=1, **e) -> r:
    'doc'
    return
async def g():
    async with a as b: await c
    async for x in y: yield x
    return [await z async for z in y]
def h(): yield from x
class A: pass
@d
class B(C, *D, metaclass=M, **k):
    '''doc'''
    x = 1
match a:
    case 1: b
    case -1 | 'x': b
    case None: c
    case (1 as y): c
    case [x, *rest]: d
    case {'k': v, **others}: e
    case A.B: f
    case C(a, b=[c, _]) if d: g
    case _ if h: i
    case other: j
match (x):
    case _: pass
"""


def _by_libcst(text: Source) -> ir.Module:
    return with_tree(text, lambda tree: lower(tree, text.path).module)


def _assert_parsers_agree(text: Source) -> None:
    """Check that both trees of a file yield the same nodes with the same numbers."""
    read = by_python(unix_text(text), text.path)
    assert read is not None
    quick, slow = read.module, _by_libcst(text)
    assert (quick.docstring, quick.words) == (slow.docstring, slow.words)
    for ours, theirs in zip(quick.body, slow.body, strict=True):
        assert _whole(ours) == _whole(theirs)


def _whole(value: object) -> object:
    """A node with its number and fields, in a form that can be compared."""
    if isinstance(value, ir.Node):
        return (type(value).__name__, value.number, *(_whole(getattr(value, name)) for name in walk.fields(value)))
    if isinstance(value, tuple):
        return tuple(_whole(each) for each in value)
    return value if isinstance(value, frozenset) else (type(value).__name__, repr(value))


def test_both_parsers_give_the_same_nodes_for_each_construct() -> None:
    _assert_parsers_agree(source(CONSTRUCTS))


@pytest.mark.parametrize(
    "text",
    [
        "f(a, k=1, *b, **c, d=2)",
        "class A(B, *C, metaclass=M, **k): pass",
        "del (a, b), c",
        "del a,",
        "del [a, b]",
        "x[(1, 2)], x[1, 2], x[1:2,]",
        pytest.param("x[*a]", marks=pytest.mark.skipif(sys.version_info < (3, 11), reason="syntax of Python 3.11")),
        "with (a as b, c): pass",
        "with (a, b): pass",
        "ﬁ.ﬁ = 'é' f'é{ﬁ}'",
        "f'{x=:d}', f'{x=}', f'{x!s:{y!r}>{z}}', f'{{{x}}}', f'' 'a', f''",
        "def f(a, b=1, /, c: int = 2, *, d, e=(yield)): pass",
        "if a:\n  if b: c\n  else:\n    if d: e\nelse:\n  if f: g",
        "@a\n@b(1)\nasync def f(): return await c",
    ],
)
def test_both_parsers_give_the_same_nodes(text: str) -> None:
    _assert_parsers_agree(source(text))


@pytest.mark.parametrize("module", LIBRARY, ids=lambda module: module.__name__)
def test_both_parsers_give_the_same_nodes_for_library_modules(module: ModuleType) -> None:
    _assert_parsers_agree(library_source(module))


@settings(max_examples=60)
@given(programs())
def test_both_parsers_give_the_same_nodes_for_generated_programs(text: str) -> None:
    _assert_parsers_agree(source(text))


def test_each_construct_lowers_to_what_cpython_parses() -> None:
    module = _by_libcst(source(CONSTRUCTS))
    tree = ast.parse(CONSTRUCTS)
    for ours, theirs in zip(module.body, tree.body, strict=True):
        assert shapes.of_ir(ours) == shapes.of_ast(theirs), ast.unparse(theirs)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="CPython 3.10 does not parse except*")
def test_except_groups_lower_to_a_try() -> None:
    text = "try: a\nexcept* E as e: b\n"
    assert shapes.of_ir(parse(source(text)).body) == shapes.of_ast(ast.parse(text).body)


@pytest.mark.parametrize("module", LIBRARY, ids=lambda module: module.__name__)
def test_library_modules_lower_to_what_cpython_parses(module: ModuleType) -> None:
    text = library_source(module)
    assert shapes.of_ir(_by_libcst(text).body) == shapes.of_ast(ast.parse(text.text).body)


@settings(max_examples=60)
@given(programs())
def test_generated_programs_lower_to_what_cpython_parses(text: str) -> None:
    assert shapes.of_ir(_by_libcst(source(text)).body) == shapes.of_ast(ast.parse(text).body)


@pytest.mark.parametrize("module", LIBRARY, ids=lambda module: module.__name__)
def test_numbers_are_unique_and_the_same_every_time(module: ModuleType) -> None:
    text = library_source(module)
    numbers = [node.number for node in nodes(parse(text))]
    assert len(set(numbers)) == len(numbers)
    assert numbers == [node.number for node in nodes(parse(text))]


def test_statements_are_numbered_before_what_they_hold_and_what_follows() -> None:
    numbers = [
        node.number
        for node in nodes(lowered("if a:\n  b\nelif c:\n  def f(x=1): d\nfor e in g: h\nclass A: i"))
        if isinstance(node, ir.Statement)
    ]
    assert numbers == sorted(numbers)


# ------------------------------------------------------------------------------ beyond what ast can show


def test_template_strings_lower_like_format_strings() -> None:
    value = expression("t'a{x}b'")
    assert isinstance(value, ir.FString)
    assert shapes.of_ir(value.parts) == ("a", ("Name", "x"), "b")


def test_type_parameters_are_ignored_and_type_aliases_do_nothing() -> None:
    module = lowered("type A[T] = list[T]\ndef f[T: int](x: T) -> T: type B = T\nclass C[*Ts, **P]: pass")
    assert [type(each).__name__ for each in module.body] == ["Pass", "FunctionDef", "ClassDef"]
    function = module.body[1]
    assert isinstance(function, ir.FunctionDef)
    assert function.local_names == {"x", "B"}


@pytest.mark.parametrize("text", ["f'{x}'", "f'{x!s}'", "f'{x:d}'", "f'a' 'b'"])
def test_a_format_string_is_exact_when_its_parts_print_as_str_prints_them(text: str) -> None:
    assert expression(text).exact


@pytest.mark.parametrize("text", ["f'{x!r}'", "f'{x:02d}'", "f'{x=}'", "f'{x:{y}}'", "'a' f'{x:>3}' f'{y}'"])
def test_a_format_string_is_inexact_when_a_part_is_formatted(text: str) -> None:
    assert not expression(text).exact


def test_identifiers_are_normalised_as_python_does() -> None:
    assert expression("ﬁ.ﬁ").name == "fi"
    assert expression("ﬁ.ﬁ").value.id == "fi"


def test_unknown_escapes_stay_and_warn_nobody(recwarn: pytest.WarningsRecorder) -> None:
    assert expression(r"'\d\N{no such name}\xZ'").value == r"\d\N{no such name}\xZ"
    assert not recwarn


def test_line_ends_inside_strings_are_line_feeds() -> None:
    assert statement("x = '''a\r\nb\rc'''").value.value == "a\nb\nc"


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ("a = b.c = d[0] = 1", "p a"),
        ("(a, [b, *c]) = d", "p a b c"),
        ("a: int", "p a"),
        ("a += 1", "p a"),
        ("del a", "p a"),
        ("import a.b, c.d as e; from f import g as h, i", "p a e h i"),
        ("from x import *", "p"),
        ("for a in b: c = 1", "p a c"),
        ("with a as b, c as (d, e): pass", "p b d e"),
        ("try: pass\n    except E as e: f = 1", "p e f"),
        ("def f(a): b = 1", "p f"),
        ("class A: b = 1", "p A"),
        ("lambda a: (b := 1)", "p"),
        ("[a for a in b if (c := a)]", "p c"),
        ("global a; a = 1; b = 2", "p b"),
        ("nonlocal a; a = 1", "p"),
        ("match a:\n        case [b, {'c': d, **e}] | A(f=g) as h: i = 1", "p b d e g h i"),
        ("def f(a=(b := 1)): pass", "p b f"),
        ("@(a := d)\n    class B((c := d)): pass", "p a c B"),
        ("if a: b = 1\n    elif c: d = 1\n    else: e = 1", "p b d e"),
        ("while a: b = 1", "p b"),
        ("p = 1", "p"),
    ],
)
def test_local_names_are_what_the_body_binds(body: str, names: str) -> None:
    function = statement(f"def function(p):\n    {body}\n")
    assert function.local_names == frozenset(names.split())


@pytest.mark.parametrize(
    ("body", "generates"),
    [
        ("yield", True),
        ("x = [(yield from a)]", True),
        ("def g(): yield", False),
        ("lambda: (yield)", False),
        ("class A:\n        def g(self): yield", False),
        ("return 1", False),
    ],
)
def test_a_function_that_yields_itself_is_a_generator(body: str, generates: bool) -> None:
    assert statement(f"def f():\n    {body}\n").is_generator is generates


def test_words_are_the_names_and_attributes_of_the_file() -> None:
    words = lowered("import a.b as c\ndef d(e): return f.g(h=1)\n'i'  # j\nmatch k:\n  case l.M(): pass\n").words
    assert words >= set("abcdefgklM") | {"h"}
    assert not words & {"i", "j"}


def test_docstrings_are_the_first_string_of_a_body() -> None:
    module = lowered("'module' ' doc'\nclass A:\n    '''class'''\n    def f(self):\n        x = 'no'\n")
    (_, class_) = module.body
    assert module.docstring == "module doc"
    assert isinstance(class_, ir.ClassDef)
    assert class_.docstring == "class"
    (_, method) = class_.body
    assert isinstance(method, ir.FunctionDef)
    assert method.docstring is None


def _kinds(*bases: str) -> set[object]:
    """LibCST's public classes that derive from one of `bases` and represent their own syntax."""
    above = tuple(getattr(cst, base) for base in bases)
    classes = [each for each in vars(cst).values() if isinstance(each, type) and issubclass(each, above)]
    return {each for each in classes if not each.__name__.startswith("Base")}


def test_every_syntax_that_libcst_knows_is_lowered() -> None:
    assert _kinds("BaseExpression") <= set(EXPRESSIONS)
    assert _kinds("BaseSmallStatement", "BaseCompoundStatement") <= set(STATEMENTS)


def test_syntax_that_a_newer_libcst_knows_is_an_unbound_name_or_does_nothing() -> None:
    low = Lowering()
    assert shapes.of_ir(expression_of(low, cst.Comma())) == ("Name", "")
    assert shapes.of_ir(STATEMENTS[cst.Comma](low, cst.Comma())) == ("Pass",)


def test_an_empty_file_is_an_empty_module() -> None:
    assert lowered("").body == ()
    assert lowered("# only a comment").body == ()
