"""Code between f-strings that contain their own quotes (Python 3.12) is measured before the native parser reads it."""

from __future__ import annotations

import pytest

import gpulint
from gpulint.sources.source import Source
from gpulint.syntax.formatted import code_of
from gpulint.syntax.parse import TOO_DEEP, CannotParse, parse
from gpulint.syntax.screen import measure

DEEP = {
    "brackets": f"x = {'[' * 5_000}{']' * 5_000}",
    "operators": f"x = {'a + ' * 50_000}a",
    "negations": f"x = {'not ' * 50_000}a",
    "attributes": f"x = a{'.a' * 50_000}",
    "a pattern": f"match a:\n    case {'A(x=' * 12}b{')' * 12}:\n        pass",
}
ENDS = {
    "of its own kind": ("x = f'{'''a'''}'", "x = f'{'''a'''}'"),
    "of two kinds": ('x = f"{\'}\' + """a"""}"', 'x = f"{\'}\' + """a"""}"'),
    "after a brace in a string": ("x = f'{\"}\" + '''a'''}'", "x = f'{\"}\" + '''a'''}'"),
    "after a comment": ("x = f'''{a # }\n + '''b'''}'''", "x = f'''{a # }\n + '''b'''}'''"),
    "on the next row": ("x = f'{\n'''a'''}'", "x = f'{\n'''a'''}'"),
    "in a format": ("x = f'{a:{'''b'''}}'", "x = f'{a:{'''b'''}}'"),
    "raw": ("x = rf'\\{'''a'''}'", "x = rf'\\{'''a'''}'"),
    "in a template": ("x = t'{'''a'''}'", "x = t'{'''a'''}'"),
}
"""What stands before and after the code: read without a stack, a string in triple quotes begins in one and ends in the
other."""


def source(text: str) -> Source:
    return Source("program.py", text.encode(), text, "utf-8")


@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("deep", DEEP)
def test_hidden_nesting_is_found(ends: str, deep: str) -> None:
    before, after = ENDS[ends]
    with pytest.raises(CannotParse, match="too deeply nested"):
        parse(source(f"{before}\n{DEEP[deep]}\n{after}\n"))


@pytest.mark.parametrize("ends", ENDS)
def test_what_is_not_deep_is_no_deeper_for_it(ends: str) -> None:
    before, after = ENDS[ends]
    shape = measure(f"{before}\nx = (1)\n{after}\n")
    assert shape.plain and shape.brackets < 4


def test_a_form_feed_hides_no_pattern() -> None:
    assert measure(f"match a:\n \fcase {'A(' * 12}b{')' * 12}:\n  pass\n").hopeless
    assert measure(f"\fdel {'(' * 12}b{')' * 12}\n").hopeless


def test_the_reason_names_the_limit_of_patterns() -> None:
    result = gpulint.check_source(f"import tensorflow as tf\nmatch a:\n case {'[' * 9}b{']' * 9}:\n  tf.ones(1 1)\n")
    assert [one.message for one in result.findings] == [TOO_DEEP]
    assert "(8 after `case` or `del`)" in TOO_DEEP


@pytest.mark.parametrize(
    ("text", "brackets"),
    [
        ("f'{a['b']}'", "{[]}"),
        ("f'{f'{f'{a}'}'}' + (b)", "{{{}}}()"),
        ("f'{{(}}' + [a]", "[]"),
        ("f'{a:{b}[}' + [c]", "{{}}[]"),
        ("f'{a:%H:%M}' + [c]", "{}[]"),
        ("f'{a[b:c]}' + {d: e}", "{[]}{}"),
        ("f'\\N{BULLET}(' + [a]", "[]"),
        ("rf'\\N{a}' + [b]", "{}[]"),
        ("f'\\'{a}' + [b]", "{}[]"),
        ("f'''{a # (\n}''' + [b]", "{}[]"),
        ("éf'(' + [b]", "[]"),
        ("b'(' + [b]  # (", "[]"),
        ("f'(\n[a]", ""),
        ("f'{'(\n[a]", "{"),
    ],
)
def test_the_brackets_of_code(text: str, brackets: str) -> None:
    code = code_of(text.encode()).decode()
    assert "".join(one for one in code if one in "()[]{}") == brackets
