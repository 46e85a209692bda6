"""Fixing in passes: which fixes are reverted or kept, and when it ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from gpulint.fixing.rounds import MAX_ROUNDS, Checked, Fixer
from gpulint.linting.finding import Finding, Severity
from gpulint.linting.result import CheckResult
from gpulint.places import Span
from gpulint.rewriting.fix import Applicability, Edit, Fix
from gpulint.sources.decoding import decode
from tests.fixing.fixing import fixed, fixed_text

TAPE = """import tensorflow as tf

weights = tf.Variable(tf.ones((4,)))
for x in tf.data.Dataset.from_tensor_slices(tf.zeros((64, 4))):
    with tf.GradientTape(persistent=True) as tape:
        loss = tf.reduce_sum(x * weights)
    print(tape.gradient(loss, weights))
"""


def test_unsafe_fixes_are_made_only_when_they_are_wanted(tmp_path: Path) -> None:
    pinned = 'import tensorflow as tf\n\nwith tf.device("/gpu:0"):\n    x = tf.zeros(4)\n'
    assert fixed_text(pinned, tmp_path, unsafe=False) == pinned
    assert fixed_text(pinned, tmp_path) == "import tensorflow as tf\n\nx = tf.zeros(4)\n"


def test_what_is_suppressed_is_not_fixed(tmp_path: Path) -> None:
    text = TAPE.replace("as tape:\n", "as tape:  # gpulint: ignore[GPU308] read again in the notebook\n")
    assert fixed_text(text, tmp_path) == text


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("mark", "cookie"),
    [
        (b"", ""),
        (b"\xef\xbb\xbf", ""),
        (b"\xef\xbb\xbf", "# coding: utf-8\n"),
        (b"", "# -*- coding: latin-1 -*-\n"),
        (b"", "# coding: cp1252\n"),
    ],
)
@pytest.mark.parametrize("closed", [True, False])
def test_all_but_the_fix_stays_byte_for_byte(tmp_path: Path, end: str, mark: bytes, cookie: str, closed: bool) -> None:
    encoding = "latin-1" if cookie and not mark else "utf-8"
    text = cookie + TAPE.replace("64", "64  # größer\n   ") + ("" if closed else "last = 'ä'")
    before = mark + text.replace("\n", end).encode(encoding)
    path = tmp_path / "program.py"
    path.write_bytes(before)
    outcome = fixed([path])
    assert outcome.after[str(path)].data == before.replace(b"persistent=True", b"")


def test_mixed_line_ends_stay_as_they_are(tmp_path: Path) -> None:
    rows = TAPE.splitlines()
    before = "".join(row + ("\r\n" if number % 2 else "\n") for number, row in enumerate(rows)).encode()
    path = tmp_path / "program.py"
    path.write_bytes(before)
    assert fixed([path]).after[str(path)].data == before.replace(b"persistent=True", b"")


def test_a_file_that_does_not_come_back_as_it_was_is_left_alone(tmp_path: Path) -> None:
    """LibCST drops a form feed before a statement."""
    text = TAPE.replace("\nweights", "\n\fweights")
    assert fixed_text(text, tmp_path) == text


def test_a_finding_in_another_file_is_fixed_there(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(
        "import tensorflow as tf\n\n\ndef head(n):\n    return tf.keras.layers.Dense(n)\n", encoding="utf-8"
    )
    main = tmp_path / "main.py"
    main.write_text(
        "import tensorflow as tf\n\nfrom net import head\n\n"
        'tf.keras.mixed_precision.set_global_policy("mixed_float16")\n'
        "model = tf.keras.Sequential([tf.keras.layers.Dense(8), head(10)])\n"
        'model.compile("adam", "mse")\nmodel.fit(tf.zeros((64, 4)), tf.zeros((64, 10)))\n',
        encoding="utf-8",
    )
    outcome = fixed([main, tmp_path / "net.py"])
    (path,) = outcome.after
    assert path.endswith("net.py") and 'Dense(n, dtype="float32")' in outcome.after[path].text


# ----------------------------------------------------------------- with rules that go wrong


class Play:
    """A check with invented findings: for each text, its findings with their fixes."""

    def __init__(self, findings: Mapping[str, Sequence[tuple[str, Edit | None]]]) -> None:
        self.findings = findings
        self.checks = 0

    def __call__(self, paths: Sequence[str], contents: Mapping[str, bytes]) -> Checked:
        self.checks += 1
        source = decode("p.py", contents.get("p.py", b"a = 1\n"))
        found = []
        for number, (code, edit) in enumerate(self.findings.get(source.text, ())):
            fix = Fix(Applicability.SAFE, "", (edit,)) if edit is not None else None
            span = Span("p.py", 1, 1 + number, 1, 2 + number)
            found.append(Finding(code, code, Severity.ERROR, span, "", fingerprint=f"{code}{number}", fix=fix))
        return Checked(CheckResult(found, files=1), SimpleNamespace(source={"p.py": source}.get))  # type: ignore[arg-type]


def becomes(text: str) -> Edit:
    return Edit(Span("p.py", 1, 1, 1, 6), text)


def played(play: Play) -> str:
    outcome = Fixer(play, lambda path: True).run(play(["p.py"], {}), ["p.py"])
    return outcome.after["p.py"].text if outcome.after else "a = 1\n"


def test_a_fix_that_does_not_compile_is_taken_back() -> None:
    assert played(Play({"a = 1\n": [("GPU901", becomes("a = = 1"))]})) == "a = 1\n"


def test_a_fix_that_keeps_its_finding_is_taken_back() -> None:
    play = Play({"a = 1\n": [("GPU901", becomes("a = 2"))], "a = 2\n": [("GPU901", becomes("a = 2"))]})
    assert played(play) == "a = 1\n"


def test_a_fix_that_makes_more_findings_is_taken_back() -> None:
    play = Play({"a = 1\n": [("GPU901", becomes("a = 2"))], "a = 2\n": [("GPU101", None), ("GPU102", None)]})
    assert played(play) == "a = 1\n"


def test_a_good_fix_beside_a_bad_one_stays() -> None:
    good = Edit(Span("p.py", 1, 1, 1, 2), "b")
    bad = Edit(Span("p.py", 1, 5, 1, 6), "3")
    play = Play(
        {
            "a = 1\n": [("GPU901", good), ("GPU902", bad)],
            "b = 3\n": [("GPU902", None)],
            "b = 1\n": [("GPU902", bad)],
            "a = 3\n": [("GPU901", good), ("GPU902", None)],
        }
    )
    assert played(play) == "b = 1\n"


def test_fixes_that_never_end_are_stopped() -> None:
    turns = {f"a = {digit}\n": [("GPU901", becomes(f"a = {(digit + 1) % 10}"))] for digit in range(10)}
    other = {f"a = {digit}\n": [("GPU902", becomes(f"a = {(digit + 1) % 10}"))] for digit in range(0, 10, 2)}
    play = Play({**turns, **other})
    assert played(play) == "a = 1\n"
    assert MAX_ROUNDS < play.checks <= 3 * MAX_ROUNDS


def test_a_fix_can_make_room_for_another() -> None:
    first, second = becomes("b = 1"), becomes("c = 1")
    play = Play({"a = 1\n": [("GPU901", first), ("GPU902", becomes("d = 1"))], "b = 1\n": [("GPU902", second)]})
    assert played(play) == "c = 1\n"
