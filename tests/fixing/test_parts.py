"""Fixes of programs in parts: cells of a notebook, fenced blocks of Markdown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpulint.fixing.contents import texts_of
from tests.fixing.fixing import fixed
from tests.notebooks import notebook

SETUP = "import tensorflow as tf\nstrategy = tf.distribute.MirroredStrategy(['GPU:0', 'GPU:1'])\n"
MODEL = "model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
COMPILE = "with strategy.scope():\n    model.compile(optimizer='adam', loss='mse')\n"
SCOPED = f"with strategy.scope():\n    {MODEL}"


def markdown(text: str, directory: Path) -> str:
    """A Markdown file after its fixes."""
    path = directory / "a.md"
    path.write_bytes(text.encode())
    outcome = fixed([path], select=("ALL",))
    again = fixed([path], given={str(path): outcome.after[str(path)].data} if outcome.after else {})
    assert not outcome.checked.result.errors and not again.after
    return texts_of(outcome.after[str(path)])[None] if outcome.after else text


def cells(*texts: str, directory: Path) -> list[str]:
    """The cells of a notebook after its fixes."""
    path = directory / "a.ipynb"
    path.write_text(notebook(*texts), encoding="utf-8")
    outcome = fixed([path], select=("GPU201", "GPU101"))
    data = outcome.after[str(path)].data if outcome.after else path.read_bytes()
    return ["".join(cell["source"]) for cell in json.loads(data)["cells"]]


# ----------------------------------------------------------------------------------- notebooks


def test_a_model_that_is_compiled_in_another_cell_gets_a_scope_of_its_own(tmp_path: Path) -> None:
    assert cells(SETUP, MODEL, COMPILE, directory=tmp_path) == [SETUP, SCOPED, COMPILE]


def test_a_header_does_not_move_away_from_a_body_in_another_cell(tmp_path: Path) -> None:
    other = "with strategy.scope():\n    other = tf.keras.layers.Dense(2)\n"
    after = cells(SETUP, MODEL, other, COMPILE, directory=tmp_path)
    assert after == [SETUP, SCOPED, other, COMPILE]
    for text in after:
        compile(text, "cell", "exec")


def test_what_is_made_over_several_cells_gets_a_scope_in_each(tmp_path: Path) -> None:
    made, added = "model = tf.keras.Sequential()\n", "model.add(tf.keras.layers.Dense(1))\n"
    after = cells(SETUP, made, added, COMPILE, directory=tmp_path)
    assert after == [
        SETUP,
        f"with strategy.scope():\n    {made}",
        f"with strategy.scope():\n    {added}",
        COMPILE,
    ]


def test_what_is_a_cell_of_its_own_is_not_moved_out_of_it(tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    growth = (
        "for gpu in tf.config.list_physical_devices('GPU'):\n    tf.config.experimental.set_memory_growth(gpu, True)\n"
    )
    path.write_text(notebook("import tensorflow as tf\n", "x = tf.ones(2)\n", growth), encoding="utf-8")
    outcome = fixed([path], select=("GPU301",))
    assert [one.code for one in outcome.checked.result.findings] == ["GPU301"] and not outcome.after
    path.write_text(notebook("import tensorflow as tf\n", "x = tf.ones(2)\n", f"{growth}y = x\n"), encoding="utf-8")
    assert texts_of(fixed([path], select=("GPU301",)).after[str(path)])[2] == "y = x\n"


def test_a_header_in_the_same_cell_is_used(tmp_path: Path) -> None:
    after = cells(SETUP, MODEL + COMPILE, directory=tmp_path)
    assert after == [SETUP, f"{SCOPED}    model.compile(optimizer='adam', loss='mse')\n"]


# ------------------------------------------------------------------------------------ Markdown


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("fence", ["```", "~~~~"])
@pytest.mark.parametrize("prefix", ["", "  ", "> ", ">   ", "> > "])
def test_a_block_is_fixed_in_place(prefix: str, fence: str, end: str, tmp_path: Path) -> None:
    def block(*parts: str) -> str:
        rows = [f"{fence}python", *"".join(parts).splitlines(), fence]
        return "".join(f"{prefix}{row}".rstrip() + end for row in rows)

    pinned = "\nwith tf.device('/gpu:0'):\n    x = tf.ones(2)\n\n    y = x + 1\n"
    before = f"# Title{end}{end}{block(SETUP, MODEL, COMPILE)}{end}Text.{end}{end}{block('%time f()', pinned)}"
    scoped = f"{SCOPED}    model.compile(optimizer='adam', loss='mse')\n"
    after = f"# Title{end}{end}{block(SETUP, scoped)}{end}Text.{end}{end}"
    assert markdown(before, tmp_path) == after + block("%time f()", "\nx = tf.ones(2)\n\ny = x + 1\n")


def test_a_block_in_a_list_keeps_its_indentation(tmp_path: Path) -> None:
    rows = f"{SETUP}{MODEL}{COMPILE}".splitlines()
    after = f"{SETUP}{SCOPED}    model.compile(optimizer='adam', loss='mse')\n".splitlines()
    head = "1. First:\n\n   ```python\n"
    assert markdown(head + "".join(f"   {row}\n" for row in [*rows, "```"]), tmp_path) == head + "".join(
        f"   {row}\n" for row in [*after, "```"]
    )


def test_names_of_a_block_in_a_list_are_known_behind_it(tmp_path: Path) -> None:
    rows = "".join(f"  {row}\n" for row in ["- First:", "", "```python", *SETUP.splitlines(), "```"])[2:]
    before = f"{rows}\nThen:\n\n```python\n{MODEL}{COMPILE}```\n"
    after = before.replace(MODEL + "with strategy.scope():\n", SCOPED)
    assert markdown(before, tmp_path) == after


def test_a_fix_does_not_reach_from_one_block_into_another(tmp_path: Path) -> None:
    before = f"```python\n{SETUP}{MODEL}```\n\nNow compile it.\n\n```python\n{COMPILE}```\n"
    assert markdown(before, tmp_path) == before.replace(MODEL, SCOPED)


def test_rows_in_front_of_which_different_things_stand_are_left_alone(tmp_path: Path) -> None:
    before = f"> ```python\n> {SETUP.splitlines()[0]}\n>with tf.device('/gpu:0'):\n>     x = tf.ones(2)\n> ```\n"
    assert markdown(before, tmp_path) == before


def test_a_comment_that_silences_nothing_is_removed_in_a_block(tmp_path: Path) -> None:
    before = "> ```python\n> import tensorflow as tf\n> # gpulint: ignore[GPU101] old\n> x = tf.ones(2)\n> ```\n"
    assert markdown(before, tmp_path) == before.replace("> # gpulint: ignore[GPU101] old\n", "")


def test_a_file_in_another_encoding_keeps_it(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    text = (
        "# -*- coding: latin-1 -*-\n\nGr\u00fc\u00dfe\n\n```python\nimport os\nos.environ['TF_CPP_MIN_LOG_LEVEL'] = 2\n"
    )
    path.write_bytes((text + "import tensorflow as tf\n```\n").encode("latin-1"))
    outcome = fixed([path])
    assert outcome.after[str(path)].data == path.read_bytes().replace(b"= 2", b"= '2'")
