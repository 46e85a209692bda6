"""Suppression comments: what each form covers."""

from __future__ import annotations

from gpulint.sources.suppressions import read


class TwoRules:
    def codes(self, word: str) -> tuple[str, ...]:
        known = {"gpu101": ("GPU101",), "hardcoded-device": ("GPU101",), "gpu102": ("GPU102",)}
        return {**known, "gpu1": ("GPU101", "GPU102")}.get(word.lower(), ())

    def nearest(self, word: str) -> str | None:
        return "GPU101" if word == "GPU10l" else None


RULES = TwoRules()


def covered(text: str) -> list[tuple[str, tuple[str, ...] | None, int, int]]:
    return [(one.kind, one.codes, one.first, one.last) for one in read(text, RULES)[0]]


def troubles(text: str) -> list[tuple[str, int]]:
    return [(one.what, one.row) for one in read(text, RULES)[1]]


def test_a_trailing_comment_covers_its_whole_statement() -> None:
    text = "x = f(\n    1,\n    2,\n)  # gpulint: ignore[GPU101] reason\ny = 1\n"
    assert covered(text) == [("ignore", ("GPU101",), 1, 4)]
    assert covered(text.replace("1,", "1,  # gpulint: ignore[GPU102]", 1))[0] == ("ignore", ("GPU102",), 1, 4)


def test_a_comment_on_its_own_line_covers_the_next_statement() -> None:
    assert covered("# gpulint: ignore[hardcoded-device]\n\n# other\nx = f(\n    1)\n") == [
        ("ignore", ("GPU101",), 4, 5)
    ]


def test_disable_reaches_to_enable_or_the_end_of_the_block() -> None:
    assert covered("# gpulint: disable[GPU101]\na = 1\n# gpulint: enable[GPU101]\nb = 2\n") == [
        ("disable", ("GPU101",), 1, 3)
    ]
    block = "def f():\n    # gpulint: disable[GPU101]\n    a = 1\n    b = 2\nc = 3\n"
    assert covered(block) == [("disable", ("GPU101",), 2, 4)]


def test_file_ignore_covers_everything() -> None:
    ((kind, codes, first, last),) = covered("x = 1\n# gpulint: file-ignore[GPU101, GPU102]\n")
    assert (kind, codes, first) == ("file-ignore", ("GPU101", "GPU102"), 1)
    assert last > 10_000


def test_noqa_is_read_and_foreign_codes_are_left_alone() -> None:
    assert covered("x = 1  # noqa\n") == [("noqa", None, 1, 1)]
    assert covered("x = 1  # noqa: E501, GPU101\n") == [("noqa", ("GPU101",), 1, 1)]
    assert covered("x = 1  # noqa: E501\n") == []


def test_comments_that_cannot_work_are_reported() -> None:
    assert troubles("x = 1  # gpulint: ignore\n") == [("malformed", 1)]
    assert troubles("x = 1  # gpulint: ignore[]\n") == [("malformed", 1)]
    assert troubles("x = 1  # gpulint: ignore[GPU999]\n") == [("unknown", 1)]
    assert troubles("# gpulint: enable[GPU101]\n") == [("unmatched", 1)]


def test_text_in_strings_is_no_comment() -> None:
    assert read("x = '# gpulint: ignore[GPU101]'\n", RULES) == ([], [])


def test_a_prefix_covers_all_its_rules() -> None:
    assert covered("x = 1  # gpulint: ignore[GPU1]\n") == [("ignore", ("GPU101", "GPU102"), 1, 1)]
    assert covered("x = 1  # noqa: GPU1\n") == [("noqa", ("GPU101", "GPU102"), 1, 1)]


def test_an_unknown_rule_is_reported_with_the_nearest_one() -> None:
    text = "x = 1  # gpulint: ignore[GPU10l, nonsense]\n"
    assert [one.message for one in read(text, RULES)[1]] == [
        "there is no rule `GPU10l`; did you mean `GPU101`?",
        "there is no rule `nonsense`",
    ]
