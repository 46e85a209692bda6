"""Operations on literals that Python refuses, or that would fill its memory: their value is unknown, and the rows after
them are analysed."""

from __future__ import annotations

import gpulint

ROWS = (
    r"""
"a".split(None, 10**30)
"a".replace("a", "b", 1 << 70)
"a".startswith("a", 1 << 70)
"a".split("")
"abc"[:: 0]
"abc"[10**400]
"a" * (1 << 70)
"a".zfill(10**9)
"{²}".format(1)
"{٣}".format(1)
"{@}".format(1)
"{:²}".format(1)
"{:{}}".format(1, 10**9)
"{0[a].b!x:q}".format(1)
"%(a" % {}
"%c" % 2**70
"%.999f" % 1e300
f"{1:{10**9}}"
f"{10**5000}"
str(10**5000)
int("9" * 5000)
int("²")
chr(1 << 70)
round(1.5, 1 << 70)
range(1, 2, 0)
range(1 << 70)[1 << 69]
list(range(10**12))
sum(range(10**12))
[0] * 10**9
[1, 2][:: 0]
[1, 2][10**400 :: -(10**400)]
bytes(10**12)
2 ** 10**9
1 << 10**12
1 << -1
10**400 / 3
int(1e999)
divmod(1, 0)
{[]: 1}
{1: 2}[[]]
tf.device("/gpu:²")
tf.device("/gpu:@")
tf.device("\ud800")
tf.data.Dataset.range(10**400).batch(1e999).shuffle(-1).repeat("²")
""".strip()
    .replace("@", "9" * 5000)
    .splitlines()
)


def test_what_python_refuses_is_unknown() -> None:
    program = "import tensorflow as tf\n" + "".join(f"x = {row}\nprint(x, x + x)\n" for row in ROWS)
    result = gpulint.check_source(f"{program}with tf.device('/gpu:0'):\n    x = tf.zeros(4)\n", path="odd.py")
    assert result.errors == []
    assert ("GPU101", program.count("\n") + 1) in {(one.code, one.span.row) for one in result.findings}
