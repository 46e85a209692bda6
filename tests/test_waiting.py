"""Programs that read tensors on some or all paths through a step, with look-alikes."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tests.checking import codes_in

STEP = """
import sys

import numpy as np
import tensorflow as tf

net = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(3)])
optimizer = tf.keras.optimizers.SGD(0.1)
optimizer.build(net.trainable_variables)
chatty = True
every = int(sys.argv[1])


@tf.function
def learn(x):
    with tf.GradientTape() as tape:
        error = tf.reduce_mean(net(x) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(error, net.trainable_variables), net.trainable_variables))
    return error


@tf.function
def learn_slowly(x):
    return learn(x / 2.0) * 1.0

"""

EACH = "for i in range(5000):\n    error = learn(tf.random.normal((16, 4)))\n"

OPERANDS = [
    ("a remainder before the read", EACH + "    if i % 20 == 0 and float(error) < 0.1:\n        print('low')", set()),
    ("a remainder before the condition", EACH + "    if i % 20 == 0 and error < 0.1:\n        print('low')", set()),
    ("a remainder before the print", EACH + "    i % 20 == 0 and print(float(error))", set()),
    ("a remainder that keeps the print away", EACH + "    i % 20 or print(float(error))", set()),
    ("a flag before the print", EACH + "    chatty and print(float(error))", set()),
    ("a flag that is off", EACH + "    not chatty or print(float(error))", set()),
    (
        "a remainder behind the read",
        EACH + "    if float(error) < 0.1 and i % 20 == 0:\n        print('low')",
        {"GPU501"},
    ),
    (
        "something that is there from the first step on",
        "lowest = None\n" + EACH + "    if lowest is None or float(error) < lowest:\n        lowest = float(error)",
        {"GPU501"},
    ),
    (
        "what one side leaves out the other reads",
        EACH + "    if i % 20 == 0 and float(error) < 0.1 or float(error) < 0.01:\n        print('low')",
        {"GPU501"},
    ),
    (
        "the end of the loop before the read",
        """
        i, error = 0, learn(tf.ones((16, 4)))
        while i < 5000 and error is not None:
            error = learn(tf.random.normal((16, 4)))
            print(error)
            i += 1
        """,
        {"GPU501"},
    ),
    ("a tensor only each 20th time", EACH + "    shown = error if i % 20 == 0 else 0.0\n    print(shown)", set()),
    ("a tensor or another one", EACH + "    shown = error if i % 20 == 0 else error / 2\n    print(shown)", {"GPU501"}),
]


@pytest.mark.parametrize(("body", "expected"), [one[1:] for one in OPERANDS], ids=[one[0] for one in OPERANDS])
def test_what_stands_behind_and_or_or_is_read_on_some_ways_only(body: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(STEP + textwrap.dedent(body), tmp_path) == expected


IN_TURN = """
for i in range(5000):
    x = tf.random.normal((16, 4))
    if {test}:
        error = learn_slowly(x)
        {one}
    else:
        error = learn(x)
        {other}
"""

BRANCHES = [
    ("i % 4 == 0", "print(float(error))", "print(float(error))", {"GPU501"}),
    ("i % 4 == 0", "pass", "print(float(error))", {"GPU501"}),
    ("i % 4", "print(float(error))", "pass", {"GPU501"}),
    ("i % 4 != 1", "print(float(error))", "pass", {"GPU501"}),
    ("i % every == 0", "print(float(error))", "print(float(error))", {"GPU501"}),
    ("i % 4 == 0", "print(float(error))", "pass", set()),
    ("i % 2 == 0", "pass", "print(float(error))", set()),
    ("i % every == 0", "pass", "print(float(error))", set()),
    ("i % every == 0", "print(float(error))", "print('on')", set()),
]


@pytest.mark.parametrize(("test", "one", "other", "expected"), BRANCHES)
def test_both_sides_of_a_remainder(test: str, one: str, other: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(STEP + IN_TURN.format(test=test, one=one, other=other), tmp_path) == expected


OUTPUTS = "from elsewhere import margin, count\n" + EACH + "    y = net(tf.ones((16, 4)))\n"

SIZES = [
    ("the rest of a size", OUTPUTS + "    y = tf.pad(y, [[0, 0], [0, int(margin[1] - y.shape[1])]])", set()),
    (
        "a size that NumPy draws from",
        OUTPUTS + "    room = (margin[1] - 0.5 * y.shape[1]) / 2\n    print(np.random.uniform(-room, room))",
        set(),
    ),
    ("a size that is compared", OUTPUTS + "    if y.shape[0] > count:\n        y = y[:count]", set()),
    (
        "sizes that are shown",
        OUTPUTS + "    rows, columns = y.shape\n    print(rows * count, columns - count)",
        set(),
    ),
    ("a tensor times a size", OUTPUTS + "    print(float(tf.reduce_sum(y) * y.shape[0]))", {"GPU501"}),
    ("a tensor less what is not known", OUTPUTS + "    print(float(y[0, 0] / y.shape[0] - count))", {"GPU501"}),
    (
        "a tensor and a size",
        OUTPUTS + "    if y[0, 0] > y.shape[0]:\n        print('high')",
        {"GPU501"},
    ),
]


@pytest.mark.parametrize(("body", "expected"), [one[1:] for one in SIZES], ids=[one[0] for one in SIZES])
def test_numbers_of_a_static_shape_are_the_hosts(body: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(STEP + body, tmp_path) - {"GPU509"} == expected


UNKNOWN = """
from elsewhere import combine, records


@tf.function
def learn_elsewhere(x):
    learn(x)
    return combine(x)


@tf.function
def drawn():
    return next(records)


for i in range(5000):
    x = tf.random.normal((16, 4))
    {body}
"""

GIVEN = [
    ("the mean of what a package made of a tensor", "print(float(tf.reduce_mean(combine(learn(x)))))", {"GPU501"}),
    ("a sum, which may be of whole numbers", "print(float(tf.reduce_sum(combine(learn(x)))))", set()),
    ("the mean of an array", "print(learn(x) is None, float(tf.reduce_mean(np.sort(combine(i)))))", set()),
    ("what a compiled function gives as a number", "print(float(learn_elsewhere(x)))", {"GPU501"}),
    ("it is compared with a number", "if learn_elsewhere(x) > 3.0: break", {"GPU501"}),
    ("it is read", "print(learn_elsewhere(x).numpy())", {"GPU501"}),
    ("a part of it is read", "one, other = learn_elsewhere(x); print(other.numpy())", {"GPU501"}),
    ("it is shown: it may be None", "print(learn_elsewhere(x))", set()),
    ("it is asked for: it may be a list", "if learn_elsewhere(x): break", set()),
    ("it is joined with a list", "print(learn_elsewhere(x) + [3])", set()),
    ("it is read at times", "y = learn_elsewhere(x); i % 50 == 0 and print(y.numpy())", set()),
    ("a function that is not compiled gives it", "print(learn(x) is None, float(combine(x)))", set()),
    ("it is the next record", "print(learn(x) is None, drawn().numpy())", set()),
]


@pytest.mark.parametrize(("body", "expected"), [one[1:] for one in GIVEN], ids=[one[0] for one in GIVEN])
def test_tensors_that_are_made_of_what_is_not_known(body: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(STEP + UNKNOWN.format(body=body), tmp_path) == expected


GAME = """
import gymnasium

game = gymnasium.make("Acrobot-v1")
seen = game.reset()[0]
for turn in range(200000):
    if turn < 3000:
        move = game.action_space.sample()
    else:
        move = {chosen}
    {taken}
    if turn >= 3000:
        error = learn(tf.random.normal((16, 4)))
"""

MOVES = [
    ("net(seen[None])[0].numpy()", "seen = game.step(move)[0]", set()),
    ("int(tf.argmax(net(seen[None])[0]))", "seen, *rest = game.step(move)", set()),
    ("net(seen[None])[0].numpy()", "print(move)", {"GPU501"}),
    ("net(seen[None])[0].numpy()", "game.history.append(move)", {"GPU501"}),
]


@pytest.mark.parametrize(("chosen", "taken", "expected"), MOVES)
def test_a_move_that_is_random_at_first(chosen: str, taken: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(STEP + GAME.format(chosen=chosen, taken=taken), tmp_path) - {"GPU509"} == expected


CHOSEN = """

class Narrow(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.last = tf.keras.layers.Dense(3)

    def call(self, x):
        return self.last(x)


class Wide(Narrow):
    pass


class Deep(Narrow):
    pass


kinds = {{"narrow": Narrow, "wide": Wide, "deep": Deep}}
{made}
for i in range(5000):
    learn(tf.random.normal((16, 4)))
    {body}
"""

MAKING = "fast, slow = kinds[sys.argv[2]](), kinds[sys.argv[2]]()"
COPIES = "slow.set_weights(fast.get_weights())"

COPIED = [
    ("a model by an option", MAKING, COPIES, {"GPU502"}),
    (
        "a model by an option, or a usual one",
        MAKING.replace("[sys.argv[2]]", ".get(sys.argv[2], Wide)"),
        COPIES,
        {"GPU502"},
    ),
    ("one of them alone", MAKING, f"if sys.argv[2] == 'wide': {COPIES}", set()),
    ("at times", MAKING, f"if i % 200 == 0: {COPIES}", set()),
    (
        "a model that may be missing",
        f"try:\n    {MAKING}\nexcept KeyError:\n    fast = slow = None",
        f"if fast: {COPIES}",
        set(),
    ),
]


@pytest.mark.parametrize(("made", "body", "expected"), [one[1:] for one in COPIED], ids=[one[0] for one in COPIED])
def test_weights_of_a_model_out_of_a_dict(made: str, body: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(STEP + CHOSEN.format(made=made, body=body), tmp_path) == expected
