"""Random valid programs, built from small templates."""

from __future__ import annotations

from hypothesis import strategies as st

_NAMES = st.sampled_from(["a", "b", "x1", "tf", "strategy", "é"])
_LITERALS = st.sampled_from(["0", "12", "0xF", "1.5e-3", "2j", "None", "True", "...", "'s'", 'b"\\x01"', 'r"\\d"'])
_STRINGS = st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), max_size=8)
_BINARY = st.sampled_from(["+", "-", "*", "/", "//", "%", "@", "**", "<<", "|", "and", "or", "<", "is not", "not in"])
_UNARY = st.sampled_from(["-", "+", "~", "not "])


def _compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pair = st.tuples(inner, inner)
    return st.one_of(
        st.builds("({} {} {})".format, inner, _BINARY, inner),
        st.builds("{} {} {} {} {}".format, _NAMES, _BINARY, _NAMES, _BINARY, _NAMES),
        st.builds("({}{})".format, _UNARY, inner),
        st.builds("({}).{}".format, inner, _NAMES),
        st.builds("{}.{}({}, *{}, {}={})".format, _NAMES, _NAMES, inner, _NAMES, _NAMES, inner),
        st.builds("{}[{}:{}, {}]".format, _NAMES, inner, inner, inner),
        st.builds("({} if {} else {})".format, inner, inner, inner),
        st.builds("[{}, *{}]".format, inner, _NAMES),
        st.builds("({},)".format, inner),
        pair.map(lambda both: f"{{{both[0]}: {both[1]}, **a}}"),
        st.builds("[{} for {} in {} if {}]".format, inner, _NAMES, inner, inner),
        st.builds("(lambda {}, *, k={}: {})".format, _NAMES, inner, inner),
        st.builds("(  # note\n  {}\n)".format, inner),
        st.builds("({} := {})".format, _NAMES, inner),
        st.builds("f'{}={{{}!r:>{{{}}}}}'".format, _NAMES, _NAMES, _NAMES),
        st.builds("({} {})".format, _STRINGS.map(repr), _STRINGS.map(repr)),
    )


EXPRESSIONS = st.recursive(st.one_of(_NAMES, _LITERALS, _STRINGS.map(repr)), _compound, max_leaves=12)

_SIMPLE = st.one_of(
    EXPRESSIONS.map("({})".format),
    st.builds("{} = {}, {} = {}".format, _NAMES, _NAMES, _NAMES, EXPRESSIONS),
    st.builds("{}: {} = {}".format, _NAMES, _NAMES, EXPRESSIONS),
    st.builds("{}.{} += {}".format, _NAMES, _NAMES, EXPRESSIONS),
    st.builds("del {}, {}[0]".format, _NAMES, _NAMES),
    st.builds("import {}.{} as {}".format, _NAMES, _NAMES, _NAMES),
    st.builds("from ..{} import {}".format, _NAMES, _NAMES),
    st.builds("assert {}, {}".format, EXPRESSIONS, EXPRESSIONS),
    st.builds("raise {}".format, EXPRESSIONS),
    st.just("pass"),
)


def _indented(body: list[str]) -> str:
    return "\n".join("    " + line for line in "\n".join(body).split("\n"))


def _block(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    body = st.lists(inner, min_size=1, max_size=3).map(_indented)
    return st.one_of(
        st.builds("if {}:\n{}\nelif {}:\n{}\nelse:\n{}".format, EXPRESSIONS, body, EXPRESSIONS, body, body),
        st.builds("for {}, {} in {}:\n{}".format, _NAMES, _NAMES, EXPRESSIONS, body),
        st.builds("while {}:\n{}\nelse:\n{}".format, EXPRESSIONS, body, body),
        st.builds("with {} as {}:\n{}".format, EXPRESSIONS, _NAMES, body),
        st.builds("try:\n{}\nexcept {} as {}:\n{}\nfinally:\n{}".format, body, EXPRESSIONS, _NAMES, body, body),
        st.builds("@{}\ndef {}(p, /, q={}, *r, **s):\n{}".format, _NAMES, _NAMES, EXPRESSIONS, body),
        st.builds("class {}({}, m={}):\n{}".format, _NAMES, _NAMES, EXPRESSIONS, body),
        st.builds("match {}:\n    case [1, {}]:\n{}".format, EXPRESSIONS, _NAMES, body.map(lambda b: _indented([b]))),
    )


_STATEMENTS = st.recursive(_SIMPLE, _block, max_leaves=8)


def programs() -> st.SearchStrategy[str]:
    """Programs that every supported Python parses, with line feeds as line ends."""
    return st.lists(_STATEMENTS, max_size=5).map(lambda statements: "\n".join([*statements, ""]))
