"""How a file spells names, and where objects have a name."""

from __future__ import annotations

import pytest

from gpulint.rewriting import names
from gpulint.rewriting.draft import Draft
from gpulint.rewriting.fix import Edit, Refused
from tests.rewriting.texts import after, call, draft_of

AUTOTUNE = "tensorflow.data.AUTOTUNE"


def spell(draft: Draft) -> list[Edit]:
    place = call(draft, "f()")
    text, edits = names.spelled(draft, AUTOTUNE, draft.node(place))
    return [*edits, draft.rewrite(draft.node(place), text)]


@pytest.mark.parametrize(
    ("imports", "expected"),
    [
        ("import tensorflow as tf", "tf.data.AUTOTUNE"),
        ("import tensorflow", "tensorflow.data.AUTOTUNE"),
        ("import tensorflow.data", "tensorflow.data.AUTOTUNE"),
        ("import tensorflow.compat.v2 as tf2", "tf2.data.AUTOTUNE"),
        ("from tensorflow import data", "data.AUTOTUNE"),
        ("from tensorflow import data as d", "d.AUTOTUNE"),
        ("from tensorflow.data import AUTOTUNE as AUTO", "AUTO"),
        ("import tensorflow as tf\nfrom tensorflow import data", "data.AUTOTUNE"),
        ("try:\n    import tensorflow as tf\nexcept ImportError:\n    pass", "tf.data.AUTOTUNE"),
    ],
)
def test_a_name_is_spelled_as_the_file_imports_it(imports: str, expected: str) -> None:
    assert after(f"{imports}\nf()\n", spell) == f"{imports}\n{expected}\n"


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("f()\n", "import tensorflow as tf\ntf.data.AUTOTUNE\n"),
        ("# license\n\nf()\n", "# license\n\nimport tensorflow as tf\ntf.data.AUTOTUNE\n"),
        ('"""Doc."""\nf()\n', '"""Doc."""\n\nimport tensorflow as tf\ntf.data.AUTOTUNE\n'),
        ("import os\n\nf()\n", "import os\nimport tensorflow as tf\n\ntf.data.AUTOTUNE\n"),
        (
            '"""Doc."""\nfrom __future__ import annotations\nf()\n',
            '"""Doc."""\nfrom __future__ import annotations\nimport tensorflow as tf\ntf.data.AUTOTUNE\n',
        ),
        (
            "from x import (\n    a,\n)  # y\nf()\n",
            "from x import (\n    a,\n)  # y\nimport tensorflow as tf\ntf.data.AUTOTUNE\n",
        ),
        ("def g():\n    f()\n", "import tensorflow as tf\ndef g():\n    tf.data.AUTOTUNE\n"),
    ],
)
def test_a_missing_import_is_added_in_its_place(before: str, expected: str) -> None:
    assert after(before, spell) == expected


@pytest.mark.parametrize(
    "text",
    [
        "import torchfun as tf\nf()\n",
        "import tensorflow as tf\ntf = 3\nf()\n",
        "import tensorflow as tf\ndef g(tf):\n    f()\n",
        "import tensorflow as tf\ndef g():\n    tf = 3\n    f()\n",
        "import tensorflow.compat.v1 as tf\nf()\n",
    ],
)
def test_where_the_name_means_something_else_it_is_refused(text: str) -> None:
    draft = draft_of(text)
    with pytest.raises(Refused):
        spell(draft)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("s = made()\nf()\n", "s"),
        ("s = made() if x else other()\nf()\n", "s"),
        ("s = made()\nif x:\n    f()\n", "s"),
        ("if x:\n    s = made()\n    f()\n", "s"),
        ("if x:\n    s = made()\nelse:\n    s = other()\nf()\n", "s"),
        ("s = made()\ndef g():\n    f()\n", "s"),
        ("def g(self):\n    self.s = made()\n    f()\n", "self.s"),
    ],
)
def test_an_object_is_called_by_the_name_that_it_has_there(text: str, expected: str) -> None:
    draft = draft_of(text)
    assert names.variable(draft, call(draft, "made()"), draft.node(call(draft, "f()"))) == expected


@pytest.mark.parametrize(
    "text",
    [
        "f()\ns = made()\n",
        "if x:\n    s = made()\nf()\n",
        "s = None\nif x:\n    s = made()\nf()\n",
        "if x:\n    s = made()\nelse:\n    s = None\nf()\n",
        "s = made() if x else None\nf()\n",
        "def g():\n    s = made()\ndef h():\n    f()\n",
        "s = made()\ndef g(s):\n    f()\n",
        "s = made()\ndef g():\n    s = 1\n    f()\n",
        "def g(self):\n    self.s = made()\ndef h(self):\n    f()\n",
        "use(made())\nf()\n",
        "s = use(made())\nf()\n",
        "s = [made()]\nf()\n",
        "s = t = made()\nf()\n",
        "s = made()\nfor s in x:\n    f()\n",
        "try:\n    s = made()\nexcept E:\n    pass\nf()\n",
    ],
)
def test_where_it_has_no_name_for_certain_it_is_refused(text: str) -> None:
    draft = draft_of(text)
    with pytest.raises(Refused):
        names.variable(draft, call(draft, "made()"), draft.node(call(draft, "f()")))
