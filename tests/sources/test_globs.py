"""Glob patterns match as in git."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pathspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpulint.sources.globs import Globs

TREE = [
    *("a.b", "b]", ".a", "-", "[a", "a b", "#a", "!b", "a ", "\\a", "*", "a/", "a/a", "a/b/", "a/b/a", "a/b/ab/"),
    *("a/b/ab/b", "a/b/-", "ab/", "ab/a/", "ab/a/b", "ab/ab", "b/", "b/a.b", "b/b/", "b/b/b/", "b/b/b/a", "b/*"),
]


@pytest.mark.parametrize(
    ("patterns", "matched", "others"),
    [
        (["*.pyc"], ["a.pyc", "a/b.pyc", ".pyc"], ["a.py", "pyc"]),
        (["build"], ["build", "build/", "a/build/b.py"], ["build.py", "rebuild"]),
        (["build/"], ["build/", "a/build/", "build/a"], ["build", "a/build"]),
        (["/a"], ["a", "a/b"], ["b/a"]),
        (["a/b"], ["a/b", "a/b/c"], ["c/a/b"]),
        (["a/*"], ["a/b", "a/b/c"], ["a/", "b/a/c"]),
        (["a/**"], ["a/b", "a/b/c"], ["a/", "a"]),
        (["**/a"], ["a", "b/a", "b/c/a/d"], ["ba"]),
        (["a/**/b"], ["a/b", "a/x/b", "a/x/y/b"], ["ab", "a/xb", "x/a/b"]),
        (["a/**/b/**/c"], ["a/b/c", "a/x/b/y/z/c"], ["a/c", "a/b/xc"]),
        (["a/*b*c/d"], ["a/bc/d", "a/xbybzc/d"], ["a/b/c/d", "a/bcx/d"]),
        (["**"], ["a", "a/b"], []),
        (["*"], ["a", ".a", "a/b"], []),
        (["a?"], ["ab"], ["a", "abc", "a/b"]),
        (["# a", r"\#b", r"\!c"], ["#b", "!c"], ["# a", "a"]),
        (["a  ", r"b\ ", "c\t"], ["a", "b ", "c\t"], ["a  ", "b", "c"]),
        (["*.py", "!a.py"], ["b.py"], ["a.py"]),
        (["!a.py", "*.py"], ["a.py"], []),
        (["a/", "!a/b"], ["a/b"], []),
        (["a/*", "!a/b"], ["a/c"], ["a/b"]),
        (["[ab]"], ["a", "b"], ["c", "ab"]),
        (["[!ab]", "[^c]d"], ["c", "ad"], ["a", "cd"]),
        (["[]a]", "[]-]x"], ["]", "a", "-x"], ["b"]),
        ([r"[\]x]", r"[a\-c]y"], ["]", "x", "-y"], ["\\", "by"]),
        (["[a-c-e]"], ["b", "-", "e"], ["d"]),
        (["[z-a]"], ["z"], ["a", "m"]),
        (["[[:digit:]_-]"], ["7", "_", "-"], ["a", ":"]),
        (["[[:upper:][:punct:]]"], ["A", "!"], ["a"]),
        (["a[/]b", "c[+-9]d", "e[!x]f"], ["c7d", "eyf"], ["a/b", "c/d", "e/f"]),
        ([r"a\*", r"\a\b"], ["a*", "ab"], ["ab c", "ax"]),
        (["[a", "b\\", "[[:none:]]", "c//", "//d", "/", "!", ""], [], ["[a", "b\\", "b", "c/", "d", "a"]),
        (["a**b/c"], ["axxb/c"], ["a/b/c"]),
    ],
)
def test_what_patterns_match(patterns: Sequence[str], matched: Sequence[str], others: Sequence[str]) -> None:
    globs = Globs(patterns)
    assert [path for path in (*matched, *others) if globs.covers(path)] == matched


def test_a_verdict_is_of_the_path_itself() -> None:
    globs = Globs(["build/", "!keep/"])
    assert [globs.verdict(path) for path in ("build/", "keep/", "build/a.py", "src/")] == [True, False, None, None]


def test_the_patterns_that_match() -> None:
    assert Globs(["tests/", "*.py", "!*.py", "a.py", "tests/*"]).matching("tests/a.py") == {0, 1, 3, 4}


def test_only_patterns_that_no_table_can_look_up_have_a_weight() -> None:
    assert Globs(["a", "/a/b/", "*.pyc", "# *?", "", "!b"]).weight == 0
    assert Globs(["a*b", "[ab]"]).weight == 7


PIECES = st.sampled_from(["a", "b", "ab", ".", "*", "**", "?", "/", "/**/", "**/", "/**", "[ab]", r"\*", "-"])
PLAIN_PATTERNS = (
    st.lists(PIECES, min_size=1, max_size=5)
    .map("".join)
    .filter(lambda text: "***" not in text and not text.endswith("**/"))
)
"""Patterns that pathspec reads as git does: `a/**/` matches its files, `***/` is its `*/`, `[!a]` matches its "/"."""
PATHS = st.lists(st.sampled_from(["a", "b", "ab", "ba", "a.b", "*", "-"]), min_size=1, max_size=5).map("/".join)


@settings(max_examples=400)
@given(st.lists(PLAIN_PATTERNS, max_size=3), PATHS)
def test_pathspec_agrees_on_files(patterns: list[str], path: str) -> None:
    assert Globs(patterns).covers(path) == pathspec.GitIgnoreSpec.from_lines(patterns).match_file(path)


ODD_PIECES = st.sampled_from(
    [
        " ",
        r"\ ",
        "!",
        "#",
        "[",
        "]",
        "\\",
        "***",
        "[]]",
        "[]-]",
        "[!a]",
        "[!]a]",
        "[^b]",
        r"[a\]]",
        "[b-a]",
        "[--0]",
        "[+-9]",
    ]
    + ["[a-b-c]", "[[:alpha:]]", "[[:punct:]-b]", "[[:x:]]", "[[:]", "[[::]]", "[a-[:alpha:]]", "[[:", "*a*b*", r"\/"]
)
PATTERNS = st.lists(PIECES | ODD_PIECES, min_size=1, max_size=5).map("".join)
FILES = st.lists(PATTERNS | PATTERNS.map("!{}".format), min_size=1, max_size=4)


def is_known_difference(pattern: str) -> bool:
    """Git looks for the text before the first wildcard by itself, and then reads `a**/b` as `a` with `**/b` behind it;
    its `**\\/a` does not match "a"."""
    return re.search(r"[^/*]\*{2,}(/|\\/)|\*\*\\/", pattern.removeprefix("!")) is not None


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with the same tree in twelve folders."""
    root = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "--quiet", root], check=True)
    for number in range(12):
        for path in TREE:
            target = root / str(number) / path
            (target if path.endswith("/") else target.parent).mkdir(parents=True, exist_ok=True)
            if not path.endswith("/"):
                target.write_text("")
    return root


@pytest.mark.skipif(shutil.which("git") is None or sys.platform == "win32", reason="needs git, and names such as `*`")
@settings(max_examples=12)
@given(st.lists(FILES, min_size=12, max_size=12))
def test_git_agrees(repository: Path, files: list[list[str]]) -> None:
    files = [[pattern for pattern in patterns if not is_known_difference(pattern)] for patterns in files]
    for number, patterns in enumerate(files):
        (repository / str(number) / ".gitignore").write_text("".join(f"{pattern}\n" for pattern in patterns))
    paths = [f"{number}/{path.removesuffix('/')}" for number in range(len(files)) for path in TREE]
    asked = ["git", "-c", "core.excludesFile=", "check-ignore", "--no-index", "--verbose", "--non-matching", "-z"]
    done = subprocess.run([*asked, "--stdin"], cwd=repository, input="\0".join(paths), capture_output=True, text=True)
    answers = done.stdout.split("\0")
    rules = dict(zip(answers[3::4], answers[2::4], strict=False))
    expected = {path: rules[path] != "" and not rules[path].startswith("!") for path in paths}
    globs = [Globs(patterns) for patterns in files]
    found = {
        f"{number}/{path.removesuffix('/')}": globs[number].covers(path)
        for number in range(len(files))
        for path in TREE
    }
    assert found == expected
