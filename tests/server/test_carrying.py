"""Findings of a wider check stay at their rows while a text is edited."""

from __future__ import annotations

from pathlib import Path

from gpulint.linting.finding import Finding, Related, Severity
from gpulint.places import Span
from gpulint.rewriting.fix import Applicability, Edit, Fix
from gpulint.server.carrying import Baseline, Rows, carried
from tests.server.editor import Editor, edit
from tests.server.programs import written

TEXT = "a\nb\nc\nd\n"


def finding(row: int, name: str, *, end: int = 0, fix: Fix | None = None, related: int = 0) -> Finding:
    places = (Related(Span("a.py", related, 1, related, 2), "here"),) if related else ()
    span = Span("a.py", row, 1, end or row, 2)
    return Finding("GPU101", "n", Severity.ERROR, span, "m", fingerprint=name, fix=fix, related=places)


def rows(found: tuple[Finding, ...]) -> list[tuple[int, str]]:
    return [(one.span.row, one.fingerprint) for one in found]


def test_rows_are_found_in_both_directions() -> None:
    both = Rows("a\nb\nc\n", "x\na\nc\n")
    assert [both.back(row) for row in (1, 2, 3, 4, 9)] == [None, 1, 3, 4, None]
    assert both.forth(Span("a.py", 1, 1, 1, 2)) == Span("a.py", 2, 1, 2, 2)
    assert both.forth(Span("a.py", 2, 1, 2, 2)) is None
    assert both.forth(Span("a.py", 1, 1, 3, 2)) is None
    same = Rows("a\nb", "a\nb")
    assert same.forth(Span("a.py", 1, 1, 2, 2)) == Span("a.py", 1, 1, 2, 2)


def test_a_finding_of_importers_moves_with_its_row_and_goes_with_it() -> None:
    baseline = Baseline(TEXT, [], [finding(2, "x")])
    assert rows(carried(baseline, "new\n" + TEXT, [])) == [(3, "x")]
    assert rows(carried(baseline, TEXT.replace("b", "b2"), [])) == []


def test_what_importers_retract_stays_away_and_what_is_new_is_shown() -> None:
    baseline = Baseline(TEXT, [finding(2, "x"), finding(3, "y")], [finding(3, "y")])
    now = [finding(3, "x"), finding(4, "y"), finding(1, "z")]
    assert rows(carried(baseline, "new\n" + TEXT, now)) == [(1, "z"), (4, "y")]


def test_a_finding_that_both_have_is_that_of_the_present_text() -> None:
    baseline = Baseline(TEXT, [], [finding(2, "x")])
    assert rows(carried(baseline, "new\n" + TEXT, [finding(4, "x")])) == [(4, "x")]


def test_the_fix_and_the_places_of_a_moved_finding_move_or_go() -> None:
    fix = Fix(Applicability.SAFE, "do", (Edit(Span("a.py", 2, 1, 2, 2), "B"),))
    baseline = Baseline(TEXT, [], [finding(2, "x", fix=fix, related=4)])
    (moved,) = carried(baseline, "new\n" + TEXT, [])
    assert moved.fix is not None and moved.fix.edits == (Edit(Span("a.py", 3, 1, 3, 2), "B"),)
    assert moved.related[0].span.row == 5
    (moved,) = carried(baseline, TEXT.replace("d", "e"), [])
    assert moved.related == () and moved.fix is not None
    far = Fix(Applicability.SAFE, "do", (Edit(Span("a.py", 4, 1, 4, 2), "D"),))
    (moved,) = carried(Baseline(TEXT, [], [finding(2, "x", fix=far)]), TEXT.replace("d", "e"), [])
    assert moved.fix is None


HELPER = """\
import tensorflow as tf


def note(loss):
    return loss.numpy()
"""

IMPORTER = """\
import tensorflow as tf
from helper import note

weights = tf.Variable(1.0)
for x in tf.data.Dataset.range(100):
    with tf.GradientTape() as tape:
        loss = weights * tf.cast(x, tf.float32)
    weights.assign_sub(tape.gradient(loss, weights))
    note(loss)
"""


def test_what_a_file_that_is_not_open_says_of_a_helper_stays_while_the_helper_is_edited(tmp_path: Path) -> None:
    written(tmp_path, {"train.py": IMPORTER, "helper.py": HELPER})

    async def test(editor: Editor) -> None:
        uri = editor.open(tmp_path / "helper.py")
        (found,) = await editor.until_codes(uri, "GPU501")
        row = found.range.start.line
        version = editor.type(uri, f"# a row\n{HELPER}")
        (found,) = await editor.diagnostics(uri, version)
        assert found.code == "GPU501" and found.range.start.line == row + 1
        version = editor.type(uri, HELPER.replace("loss.numpy()", "loss"))
        assert await editor.diagnostics(uri, version) == []
        editor.save(uri)
        editor.type(uri, HELPER)
        assert await editor.diagnostics(uri) == []
        editor.save(uri)
        await editor.until_codes(uri, "GPU501")

    edit(test, tmp_path)
