"""Pairs of programs that differ in what matters: found in real code, where one was right and the other was not."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tests.checking import codes_in

STEP = """
import numpy as np
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam()
optimizer.build(model.trainable_variables)
data = tf.data.Dataset.from_tensor_slices(np.zeros((640, 4), "float32")).batch(8)


def rows():
    import csv

    return csv.reader(open("rows.csv"))


@tf.function
def step(x, scale=1.0):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2) * scale
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss

"""

DOUBLED = "def use(*given): ...\n\n\nfor x in data:\n    v = {}\n" + "    v = v + v\n" * 30 + "    {}"
"""A value whose written form is exponentially long."""

STEPS = [
    ("a read in each step", "for x in data:\n    print(step(x))", {"GPU501"}),
    ("a read in each of ten steps", "for _ in range(10):\n    print(step(tf.zeros((8, 4))))", set()),
    ("a read in each of many steps", "for _ in range(1000):\n    print(step(tf.zeros((8, 4))))", {"GPU501"}),
    (
        "a comparison with a shape",
        "for i in range(1000):\n    x = tf.zeros((8, 4))\n    step(x[: i if i + 8 < x.shape[0] else 8])",
        set(),
    ),
    (
        "NumPy that was read before the loop",
        """
        kept = model(tf.zeros((8, 4))).numpy()
        for i in range(1000):
            step(tf.convert_to_tensor(np.tile(kept, 4)))
        """,
        set(),
    ),
    (
        "NumPy that is read in the loop",
        """
        for i in range(1000):
            kept = model(tf.zeros((8, 4))).numpy()
            step(tf.convert_to_tensor(np.tile(kept, 4)))
        """,
        {"GPU502"},
    ),
    (
        "a value that decides whether the loop goes on",
        "reached = 0.0\nwhile reached < 0.9:\n    reached = step(tf.zeros((8, 4))).numpy()",
        set(),
    ),
    (
        "a read in each step that is not skipped",
        "from elsewhere import broken\nfor x in data:\n    if broken(x):\n        continue\n    print(step(x))",
        {"GPU501"},
    ),
    (
        "a read in each step that an assertion lets through",
        "import sys\nfor x in data:\n    loss = step(x)\n    assert len(sys.argv) > 1\n    print(loss)",
        {"GPU501"},
    ),
    (
        "a read in each step after which the program may end",
        """
        import sys

        def checked(loss):
            if len(sys.argv) > 3:
                raise SystemExit
            return loss

        for x in data:
            print(checked(step(x)))
        """,
        {"GPU501"},
    ),
    (
        "a read in each step until the loop ends",
        """
        import sys
        for i, x in enumerate(data):
            loss = step(x)
            if i > len(sys.argv):
                break
            print(loss)
        """,
        {"GPU501"},
    ),
    (
        "a read in the steps that raise nothing",
        """
        import sys
        for i, x in enumerate(data):
            loss = step(x)
            try:
                if i % len(sys.argv):
                    raise StopIteration
                print(loss)
            except StopIteration:
                pass
        """,
        set(),
    ),
    (
        "a read in each step of what an argument chooses",
        """
        import argparse
        parser = argparse.ArgumentParser()
        parser.add_argument("--many", action="store_true")
        if parser.parse_args().many:
            strategy = tf.distribute.MirroredStrategy()
        else:
            strategy = tf.distribute.OneDeviceStrategy("/gpu:0")
        with strategy.scope():
            net = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
            adam = tf.keras.optimizers.Adam()

        def replica(x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(net(x)) / 32
            adam.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
            return loss

        @tf.function
        def all_step(x):
            return strategy.reduce("SUM", strategy.run(replica, args=(x,)), axis=None)

        for x in strategy.experimental_distribute_dataset(data):
            print(all_step(x).numpy())
        """,
        {"GPU209", "GPU501"},
    ),
    (
        "a read in the steps of which an argument says so",
        """
        import sys
        verbose = "-v" in sys.argv
        for x in data:
            loss = step(x)
            if verbose:
                print(loss)
        """,
        set(),
    ),
    (
        "predictions of an agent that fits in each step",
        """
        import gymnasium

        env = gymnasium.make("CartPole-v1")
        model.compile("adam", "mse")
        memory = []
        for episode in range(500):
            state, done = env.reset(), False
            while not done:
                action = np.argmax(model.predict(state[None]))
                state, reward, done, _, _ = env.step(action)
                memory.append((state, reward))
                if len(memory) < 32:
                    continue
                states, rewards = map(np.asarray, zip(*memory[-32:]))
                model.fit(states, rewards + model.predict(states), epochs=1)
        """,
        {"GPU503"},
    ),
    (
        "a read of each part of what a step gives, by name",
        """
        @tf.function
        def parts(x):
            return {"loss": step(x), "size": tf.reduce_sum(x)}

        for x in data:
            found = parts(x)
            for name in sorted(found):
                print(name, float(found[name]))
        """,
        {"GPU501"},
    ),
    (
        "a read of each part in some steps",
        """
        @tf.function
        def parts(x):
            return {"loss": step(x), "size": tf.reduce_sum(x)}

        for i, x in enumerate(data):
            found = parts(x)
            for name in sorted(found):
                if i % 100 == 0:
                    print(name, float(found[name]))
        """,
        set(),
    ),
    (
        "a step to begin with, and a read after the others",
        """
        for name in ("first", "second"):
            for part in range(20):
                step(tf.zeros((8, 4)))
                for _ in range(500):
                    loss = step(tf.zeros((8, 4)))
                print(name, part, float(loss))
        """,
        set(),
    ),
    (
        "NumPy that a function of the program makes of what is read",
        """
        def smoothed(codes, found):
            out = codes.copy()
            for k in np.unique(found):
                out[k] = 0.9 * codes[k] + 0.1 * found.mean()
            return out

        codes = tf.random.normal((8, 4))
        for i in range(1000):
            z = model(codes)
            step(codes)
            codes = tf.constant(smoothed(codes.numpy(), z.numpy()))
        """,
        {"GPU502"},
    ),
    (
        "NumPy of several things that are read",
        """
        queue = model(tf.zeros((8, 4)))
        for x in data:
            step(x)
            queue = tf.constant(np.concatenate([model(x).numpy(), queue.numpy()])[:64])
        """,
        {"GPU502"},
    ),
    (
        "tensors kept over a pass that repeats the data",
        "kept = []\nfor x in data.repeat().take(60000):\n    kept.append(step(x))",
        {"GPU307"},
    ),
    ("tensors kept over one pass", "kept = []\nfor x in data:\n    kept.append(step(x))", set()),
    (
        "a function that is made in each step that learns",
        """
        memory = []
        for x in data:
            memory.append(x)
            if len(memory) > 32:
                tf.function(lambda x: model(x))(x)
                step(x)
        """,
        {"GPU505"},
    ),
    (
        "a function that is made when it is first needed",
        """
        class Compiled:
            made = None

            def __call__(self, x):
                if self.made is None:
                    self.made = tf.function(step)
                return self.made(x)

        compiled = Compiled()
        for x in data:
            compiled(x)
        """,
        set(),
    ),
    (
        "one gradient of a persistent tape in a traced function",
        """
        @tf.function
        def slope(x):
            with tf.GradientTape(persistent=True) as tape:
                tape.watch(x)
                y = model(x)
            return tape.gradient(y, x)

        slope(tf.zeros((8, 4)))
        """,
        {"GPU308"},
    ),
    (
        "two gradients of a persistent tape, one of them on a path that is not taken",
        """
        second = False

        def slope(x):
            with tf.GradientTape(persistent=True) as tape:
                tape.watch(x)
                y = model(x)
            dx = tape.gradient(y, x)
            if second:
                dx += tape.gradient(y, model.trainable_variables)[0]
            return dx

        slope(tf.zeros((8, 4)))
        """,
        set(),
    ),
    (
        "two persistent tapes of one name",
        """
        def slopes(x):
            with tf.GradientTape(persistent=True) as tape:
                tape.watch(x)
                y = model(x)
            dx = tape.gradient(y, x)
            with tf.GradientTape(persistent=True) as tape:
                tape.watch(x)
                y = model(x + 1)
            return dx + tape.gradient(y, x)

        slopes(tf.zeros((8, 4)))
        """,
        {"GPU308"},
    ),
    (
        "a read in each step of a count on the host",
        """
        count = tf.Variable(0)
        for x in data:
            step(x)
            count.assign_add(1)
            if count % 100 == 0:
                print(count.numpy())
        """,
        set(),
    ),
    (
        "a read in each step of a count on the device",
        """
        count = tf.Variable(0, dtype=tf.int64)
        for x in data:
            step(x)
            count.assign_add(1)
            print(count.numpy())
        """,
        {"GPU501"},
    ),
    (
        "a step that waits until there is enough to learn from",
        """
        import gymnasium

        env = gymnasium.make("CartPole-v1")
        count = 0
        while True:
            state, done = env.reset(), False
            while not done:
                count += 1
                state, reward, done, _, _ = env.step(0)
                if count > 1000:
                    print(float(step(state)))
        """,
        {"GPU501"},
    ),
    (
        "a number that a loop counts with",
        "count = 0\nfor x in data:\n    count = count + 1\n    step(x, min(1.0, count / 5000))",
        {"GPU504"},
    ),
    (
        "predictions of columns",
        "for x in data:\n    step(x)\nfor x in rows():\n    model.predict(np.expand_dims(x, axis=-1))",
        set(),
    ),
    (
        "predictions of rows",
        "for x in data:\n    step(x)\nfor x in rows():\n    model.predict(np.expand_dims(x, axis=0))",
        {"GPU503"},
    ),
    (
        "a count of steps that the step needs on the host",
        "for x in data:\n    step(x, optimizer.iterations.numpy())",
        {"GPU501"},
    ),
    (
        "a count that is made a Python number",
        "for x in data:\n    step(x, int(optimizer.iterations.numpy()))",
        {"GPU501", "GPU504"},
    ),
    (
        "a prediction of what an environment shows",
        """
        seen, _ = world.reset()
        for _ in range(1000):
            seen, reward, done = world.step(model.predict(seen))
        """,
        {"GPU503"},
    ),
    (
        "a prediction of what a file holds",
        """
        seen = world.read("first")
        for name in world.names():
            seen = world.read(model.predict(seen))
        """,
        set(),
    ),
    (
        "a condition on one of two losses in each step",
        """
        def scaled(x):
            return step(x, 2.0)

        for x in data:
            loss = (step if len(rows()) else scaled)(x)
            if loss < 0.1:
                break
        """,
        {"GPU501"},
    ),
    (
        "weights that are moved through NumPy in each step",
        """
        target = tf.keras.models.clone_model(model)
        for x in data:
            step(x)
            target.set_weights([0.9 * t + 0.1 * w for t, w in zip(target.get_weights(), model.get_weights())])
        """,
        {"GPU502"},
    ),
    (
        "weights that are moved through NumPy in each step, by a list",
        """
        target = tf.keras.models.clone_model(model)
        for x in data:
            step(x)
            moved = []
            for t, w in zip(target.get_weights(), model.get_weights()):
                moved.append(0.9 * t + 0.1 * w)
            target.set_weights(moved)
        """,
        {"GPU502"},
    ),
    (
        "weights that another process gives in each step",
        """
        for x in data:
            model.set_weights(server.pull())
            step(x)
            server.push(model.get_weights())
        """,
        set(),
    ),
    (
        "weights that are copied now and then",
        """
        target = tf.keras.models.clone_model(model)
        for i, x in enumerate(data):
            step(x)
            if i % 500 == 0:
                target.set_weights(model.get_weights())
        """,
        set(),
    ),
    (
        "weights that are copied after each pass",
        """
        target = tf.keras.models.clone_model(model)
        for epoch in range(50):
            for x in data:
                step(x)
            target.set_weights(model.get_weights())
        """,
        set(),
    ),
    (
        "a read in each step of how many there were",
        "for x in data:\n    step(x)\n    print(optimizer.iterations.numpy())",
        {"GPU501"},
    ),
    (
        "a sum that is read in each step and needed after each pass",
        """
        def evaluate(epoch, loss): ...

        for epoch in range(50):
            total = 0
            for x in data:
                total += step(x).numpy()
            evaluate(epoch, total)
        """,
        {"GPU501"},
    ),
    (
        "a read in some steps, by a count that a helper looks at",
        """
        def maybe(number, loss):
            if number % 40:
                return
            print(float(loss))

        number = 0
        for x in data:
            maybe(number, step(x))
            number += 1
        """,
        set(),
    ),
    (
        "a read in some steps, by skipping the others",
        "for i, x in enumerate(data):\n    loss = step(x)\n    if i % 100:\n        continue\n    print(loss)",
        set(),
    ),
    (
        "a step behind a buffer that other methods fill",
        """
        class Agent:
            def __init__(self):
                self.filled = 0

            def remember(self, x):
                self.filled += 1

            def learn(self, x):
                if self.filled < 64:
                    return
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean(model(x) ** 2)
                weights = model.trainable_variables
                optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))

        agent = Agent()
        for x in data:
            agent.remember(x)
            agent.learn(x)
        """,
        {"GPU508"},
    ),
    (
        "a pool that a count keeps small",
        """
        class Pool:
            def __init__(self, size=50):
                self.size, self.count, self.images = size, 0, []

            def put(self, image):
                if self.count < self.size:
                    self.count = self.count + 1
                    self.images.append(image)

        pool = Pool()
        for _ in range(9):
            for x in data:
                step(x)
                pool.put(model(x))
        """,
        set(),
    ),
    (
        "a list of one pass over what it is given",
        """
        def train(batches):
            losses = []
            for x in batches:
                losses.append(step(x))
            return np.mean(losses)

        train(np.load("batches.npy"))
        """,
        set(),
    ),
    ("the number of an epoch", "for epoch in tf.range(1, 1000):\n    step(tf.zeros((8, 4)))\n    print(epoch)", set()),
    ("a few batches", "for x in data.take(3):\n    print(step(x))", set()),
    ("formatted outside print", "def show(text): ...\nfor x in data:\n    show('%.3f' % step(x))", {"GPU501"}),
    ("ends at once", "for x in data:\n    print(step(x))\n    break", set()),
    (
        "a counter kept by hand, in a function that is called in a loop",
        """
        def epoch():
            batch = 0
            for x in data:
                loss = step(x)
                if batch % 500 == 0:
                    print(loss)
                batch = batch + 1

        for _ in range(100):
            epoch()
        """,
        set(),
    ),
    (
        "a constant flag",
        "VERBOSE = True\nfor x in data:\n    loss = step(x)\n    if VERBOSE:\n        print(loss)",
        set(),
    ),
    (
        "a condition on the step",
        "for i, x in enumerate(data):\n    l = step(x)\n    if i % 50 == 0:\n        print(l)",
        set(),
    ),
    ("in a try", "for x in data:\n    try:\n        print(step(x))\n    except ValueError:\n        pass", {"GPU501"}),
    ("after continue", "for i, x in enumerate(data):\n    l = step(x)\n    if i % 9: continue\n    print(l)", set()),
    ("an index", "names = {}\nfor x in data:\n    print(names[int(step(x))])", set()),
    ("an environment", "import gym\nenv = gym.make()\nfor x in data:\n    env.step(float(step(x)))", set()),
    ("a log", "import logging\nfor x in data:\n    logging.info('loss %s', step(x))", {"GPU501"}),
    (
        "chunks of steps",
        """
        @tf.function
        def chunk(iterator, steps):
            for _ in tf.range(steps):
                loss = step(next(iterator))
            return loss

        iterator = iter(data.repeat())
        while True:
            print(float(chunk(iterator, tf.constant(100))))
        """,
        set(),
    ),
    ("numbers of shapes", "seen = 0\nfor x in data:\n    l = step(x)\n    seen += x.shape[0]\nprint(seen / 2)", set()),
    ("a round trip", "for x in data:\n    y = tf.constant(np.sqrt(step(x).numpy()))", {"GPU502"}),
    ("a read that is doubled often", DOUBLED.format("step(x).numpy()", "use(v)"), set()),
    ("a number that is doubled often", "i = 0\n" + DOUBLED.format("i", "step(x, v)\n    i += 1"), {"GPU504"}),
    (
        "a list of lists of weights",
        DOUBLED.replace("v + v", "[v, v]").format("1", "model.set_weights(v)\n    model.get_weights()\n    step(x)"),
        set(),
    ),
    (
        "a list of lists of the weights that were got",
        DOUBLED.replace("v + v", "[v, v]").format("model.get_weights()", "model.set_weights(v)\n    step(x)"),
        {"GPU502"},
    ),
    ("calls of calls", DOUBLED.replace("v + v", "use(v, v)(v)").format("use(x)", "model.predict(v)"), set()),
    ("a round trip once", "l = step(tf.zeros((8, 4)))\ny = tf.constant(np.sqrt(l.numpy()))", set()),
    ("a counting number", "for i in range(1000):\n    step(tf.zeros((8, 4)), i)", {"GPU504"}),
    ("a counting NumPy number", "for i in range(1000):\n    step(tf.zeros((8, 4)), np.float32(i))", set()),
    ("a counting tensor", "for i in range(1000):\n    step(tf.zeros((8, 4)), tf.constant(i * 1.0))", set()),
    ("a remainder", "for i in range(1000):\n    step(tf.zeros((8, 4)), i % 2)", set()),
    ("a counter of a while loop", "i = 0\nwhile i < 9999:\n    step(tf.zeros((8, 4)), i)\n    i += 1", {"GPU504"}),
    (
        "other numbers at other calls",
        """
        def run(scale):
            for x in data:
                step(x, scale)

        run(0.5)
        run(2.0)
        """,
        set(),
    ),
    (
        "kept in each step",
        "kept = []\nfor _ in range(9):\n    for x in data:\n        kept.append(step(x))",
        {"GPU307"},
    ),
    (
        "kept in a list that is replaced after the epoch",
        "kept = []\nfor _ in range(99):\n    for x in data:\n        kept.append(step(x))\n    kept = []",
        set(),
    ),
    (
        "kept in a list that loses the oldest",
        "kept = []\nfor _ in range(99):\n    for x in data:\n        kept.append(step(x))\n        kept.pop(0)",
        set(),
    ),
    (
        "kept in a list that is cut",
        "kept = []\nfor _ in range(99):\n    for x in data:\n        kept.append(step(x))\n    del kept[:]",
        set(),
    ),
    (
        "kept in a list of limited length",
        """
        kept = []
        for _ in range(99):
            for x in data:
                if len(kept) < 50:
                    kept.append(step(x))
        """,
        set(),
    ),
    (
        "read by a solver",
        "import scipy.optimize\nfor x in data:\n    scipy.optimize.linear_sum_assignment(step(x).numpy())",
        set(),
    ),
    (
        "read into a list",
        "losses = []\nfor _ in range(99):\n    for x in data:\n        losses.append(float(step(x)))",
        {"GPU501"},
    ),
    (
        "an action that the environment takes, too",
        """
        import gym
        env = gym.make()
        for x in data:
            action = np.clip(step(x).numpy() + np.random.normal(), -1, 1)
            env.step(action)
            step(tf.convert_to_tensor(action))
        """,
        set(),
    ),
    ("kept for an epoch", "for _ in range(9):\n    kept = []\n    for x in data:\n        kept.append(step(x))", set()),
    (
        "kept in a dict that each step makes anew",
        "import lib\nfor _ in range(9):\n    for x in data:\n        outs = dict()\n        outs[lib.key()] = step(x)",
        set(),
    ),
    (
        "a read by one of the workers",
        "import horovod.tensorflow as hvd\nfor x in data:\n    y = step(x)\n    if hvd.rank() == 0: print(float(y))",
        {"GPU501"},
    ),
    (
        "a read by one of the workers, now and then",
        """
        import horovod.tensorflow as hvd
        for i, x in enumerate(data):
            y = step(x)
            if hvd.rank() == 0 and i % 100 == 0:
                print(float(y))
        """,
        set(),
    ),
    (
        "the size of a tensor",
        "for x in data:\n    y = step(x)\n    if y.shape[0] != y.shape[1]: raise ValueError",
        set(),
    ),
    ("a tensor on the right", "best = 9.0\nfor x in data:\n    if best > step(x): best = 0.0", {"GPU501"}),
    (
        "a gradient of what a function gives in a dict",
        """
        @tf.function
        def forward(x):
            return {"loss": tf.reduce_sum(model(x))}

        for x in data:
            with tf.GradientTape() as tape:
                loss = forward(x)["loss"]
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        """,
        set(),
    ),
    (
        "an update in a loop over gradients of one step",
        """
        def once(x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(model(x))
            for variable, gradient in zip(model.trainable_variables, tape.gradient(loss, model.trainable_variables)):
                variable.assign_sub(0.1 * gradient)
        """,
        set(),
    ),
    ("kept for one pass", "kept = []\nfor x in data:\n    kept.append(step(x))", set()),
]


@pytest.mark.parametrize(("case", "code", "expected"), STEPS, ids=[case for case, _, _ in STEPS])
def test_a_training_loop(case: str, code: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(STEP + textwrap.dedent(code) + "\n", tmp_path) == expected


SUMS = """
sums = [tf.Variable(tf.zeros_like(v), trainable=False) for v in model.trainable_variables]

def gradients(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2) / 4
    return tape.gradient(loss, model.trainable_variables)

for i, x in enumerate(data):
    for total, gradient in zip(sums, gradients(x)):
"""

APPLY = "optimizer.apply_gradients(zip(sums, model.trainable_variables))\n"
EMPTY = "for total in sums: total.assign(tf.zeros_like(total))\n"
NOW_AND_THEN = "    if i % 4 == 3:\n        "
ADD, REPLACE = ("        total.assign_add(gradient)\n", "        total.assign(gradient)\n")

SUMMED = [
    ("added up", ADD + NOW_AND_THEN + APPLY + "        " + EMPTY, set()),
    ("overwritten", REPLACE + NOW_AND_THEN + APPLY, {"GPU212"}),
    ("replaced and applied", REPLACE + "    " + APPLY, set()),
    ("applied at every step", ADD + "    " + APPLY + NOW_AND_THEN + EMPTY, {"GPU212"}),
    ("applied and emptied at every step", ADD + "    " + APPLY + "    " + EMPTY, set()),
]


@pytest.mark.parametrize(("case", "code", "expected"), SUMMED, ids=[case for case, _, _ in SUMMED])
def test_sums_of_gradients(case: str, code: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(STEP + SUMS + code + "\n", tmp_path) - {"GPU508"} == expected


TAKEN = """
variables = model.trainable_variables

def taken(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    return tape.gradient(loss, variables)

@tf.function
def train(pieces, n):
    sums = [tf.zeros_like(v) for v in variables]
"""

GROW = "    sums = [s + g for s, g in zip(sums, taken(x))]\n"
USE = "    optimizer.apply_gradients(zip(sums, variables))\n"
AGAIN = "    sums = [tf.zeros_like(v) for v in variables]\n"
PIECES = "for i, x in enumerate(pieces):\n"

GROWING = [
    ("applied in each round", PIECES + GROW + USE, {"GPU212"}),
    ("over a range", "for i in range(4):\n    x = pieces[i * n : (i + 1) * n]\n" + GROW + USE, {"GPU212"}),
    ("parts of a mean", PIECES + GROW.replace("s + g", "s + g / n") + USE, {"GPU212"}),
    ("by an operation", PIECES + GROW.replace("s + g", "tf.add(s, g)") + USE, {"GPU212"}),
    ("a list of two", PIECES + GROW.replace("s + g", "tf.add_n([s, g])") + USE, {"GPU212"}),
    ("by a function", PIECES + "    sums = list(map(tf.add, sums, taken(x)))\n" + USE, {"GPU212"}),
    ("at each place", PIECES + "    for j, g in enumerate(taken(x)):\n        sums[j] += g\n" + USE, {"GPU212"}),
    (
        "applied as a mean",
        PIECES + GROW + "    optimizer.apply_gradients([(s / n, v) for s, v in zip(sums, variables)])\n",
        {"GPU212"},
    ),
    (
        "begun with the first",
        """
        sums = None
        for x in pieces:
            found = taken(x)
            sums = found if sums is None else [s + g for s, g in zip(sums, found)]
            optimizer.apply_gradients(zip(sums, variables))
        """,
        {"GPU212"},
    ),
    (
        "one tensor",
        """
        total = tf.zeros_like(variables[0])
        for x in pieces:
            total += taken(x)[0]
            optimizer.apply_gradients([(total, variables[0])])
        """,
        {"GPU212"},
    ),
    ("emptied now and then", PIECES + GROW + USE + "    if i % n == n - 1:\n    " + AGAIN, {"GPU212"}),
    ("applied after the loop", PIECES + GROW + USE.removeprefix("    "), set()),
    ("applied every n-th time", PIECES + GROW + "    if i % n == n - 1:\n    " + USE + "    " + AGAIN, set()),
    ("skipped but every n-th time", PIECES + GROW + "    if (i + 1) % n:\n        continue\n" + USE + AGAIN, set()),
    (
        "applied at the last",
        "for x, last in pieces:\n" + GROW + "    if not last:\n        continue\n" + USE + "    break",
        set(),
    ),
    ("emptied after each", PIECES + GROW + USE + AGAIN, set()),
    ("begun in each round", PIECES + AGAIN + GROW + USE, set()),
    (
        "one for each batch",
        """
        for batch in pieces:
            sums = [tf.zeros_like(v) for v in variables]
            for x in tf.split(batch, n):
                sums = [s + g for s, g in zip(sums, taken(x))]
            optimizer.apply_gradients(zip(sums, variables))
        """,
        set(),
    ),
    (
        "begun by the first batch of several",
        """
        for step in range(n):
            for j in range(len(pieces)):
                found = taken(pieces[j])
                if j == 0:
                    sums = found
                else:
                    sums = [s + g for s, g in zip(sums, found)]
            optimizer.apply_gradients(zip(sums, variables))
        """,
        set(),
    ),
    ("of two losses", PIECES + "    sums = [a + b for a, b in zip(taken(x), taken(-x))]\n" + USE, set()),
    ("with decay", PIECES + "    sums = [g + 0.01 * v for g, v in zip(taken(x), variables)]\n" + USE, set()),
    ("momentum", PIECES + GROW.replace("s + g", "0.9 * s + g") + USE, set()),
    ("a running mean", PIECES + GROW.replace("s + g", "(s * i + g) / (i + 1)") + USE, set()),
    ("a running mean by differences", PIECES + GROW.replace("s + g", "s + (g - s) / (i + 1)") + USE, set()),
    (
        "a trace",
        PIECES
        + GROW
        + "    error = tf.reduce_mean(model(x))\n    "
        + USE.strip().replace("sums", "[error * s for s in sums]"),
        set(),
    ),
    ("watched only", PIECES + GROW + USE.replace("sums", "taken(x)"), set()),
    (
        "of squares",
        """
        for x in pieces:
            found = taken(x)
            sums = [s + g**2 for s, g in zip(sums, found)]
            optimizer.apply_gradients([(g / tf.sqrt(s), v) for g, s, v in zip(found, sums, variables)])
        """,
        set(),
    ),
    (
        "one gradient several times",
        PIECES + "    sums = taken(x)\n    for _ in range(4):\n    " + USE,
        set(),
    ),
]


@pytest.mark.parametrize(("case", "code", "expected"), GROWING, ids=[case for case, _, _ in GROWING])
def test_sums_of_gradients_in_lists(case: str, code: str, expected: set[str], tmp_path: Path) -> None:
    program = STEP + TAKEN + textwrap.indent(textwrap.dedent(code), "    ")
    assert codes_in(program + "\n\ntrain(tf.zeros((8, 8, 4)), 4)\n", tmp_path) == expected


JITTED = """
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy({devices})
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    optimizer = tf.keras.optimizers.SGD()
    optimizer.build(model.trainable_variables)

@tf.function(jit_compile={gradients})
def gradients(x):
    with tf.GradientTape() as tape:
        loss = tf.nn.compute_average_loss(tf.reduce_sum(model(x) ** 2, -1), global_batch_size=32)
    return tape.gradient(loss, model.trainable_variables)

@tf.function(jit_compile={step})
def step(x):
    optimizer.apply_gradients(zip(gradients(x), model.trainable_variables))

@tf.function(jit_compile={run})
def run(x):
    strategy.run(step, args=(x,))

@tf.function(jit_compile={outer})
def outer(x):
    run(x)

@tf.function(jit_compile={apart})
def apart(x):
    return tf.reduce_mean(x * 2)

data = tf.data.Dataset.from_tensor_slices(tf.zeros((320, 4))).batch(16 * strategy.num_replicas_in_sync)
for x in strategy.experimental_distribute_dataset(data):
    outer(x)
print(apart(tf.zeros(3)))
"""


@pytest.mark.parametrize(
    ("case", "options", "expected"),
    [
        ("nothing", {}, set()),
        ("what calls `strategy.run`", {"run": True}, {"GPU215"}),
        ("a function around that", {"outer": True}, {"GPU215"}),
        ("the step of each replica", {"step": True}, {"GPU215"}),
        ("what a replica computes", {"gradients": True}, set()),
        ("what is nothing to the strategy", {"apart": True}, set()),
        ("on one device", {"run": True, "devices": ["/gpu:0"]}, {"GPU211"}),
        ("on two devices", {"run": True, "devices": ["/gpu:0", "/gpu:1"]}, {"GPU215"}),
        ("where a setting says so", {"run": "input() == 'fast'"}, set()),
    ],
)
def test_what_is_jitted_under_a_strategy(
    case: str, options: dict[str, object], expected: set[str], tmp_path: Path
) -> None:
    parts = dict.fromkeys(("gradients", "step", "run", "outer", "apart"), False)
    assert codes_in(JITTED.format(**{"devices": "", **parts, **options}), tmp_path) == expected


TERMS = """
import argparse

import tensorflow as tf

arguments = argparse.ArgumentParser().parse_args()
LAMBDA = 10

strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    optimizer = tf.keras.optimizers.SGD()
    optimizer.build(model.trainable_variables)
    crossentropy = tf.keras.losses.BinaryCrossentropy(from_logits=True)
GLOBAL_BATCH = 16 * strategy.num_replicas_in_sync

def averaged(per_example):
    return tf.nn.compute_average_loss(per_example, global_batch_size=GLOBAL_BATCH)

def step(x):
    with tf.GradientTape() as tape:
        y = model(x)
        right = averaged(tf.reduce_sum(y**2, -1))
        mean = tf.reduce_mean(tf.abs(y - x))
        loss = {}
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))

@tf.function
def run(x):
    strategy.run(step, args=(x,))

data = tf.data.Dataset.from_tensor_slices(tf.zeros((320, 4))).batch(GLOBAL_BATCH)
for x in strategy.experimental_distribute_dataset(data):
    run(x)
"""


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        ("right", set()),
        ("mean", {"GPU208"}),
        ("right + mean", {"GPU208"}),
        ("right - 0.1 * mean", {"GPU208"}),
        ("right + 100 * mean", {"GPU208"}),
        ("LAMBDA * mean + right", {"GPU208"}),
        ("right + arguments.l1_weight * mean", {"GPU208"}),
        ("tf.add_n([right, tf.multiply(LAMBDA, mean)])", {"GPU208"}),
        ("sum([right, mean])", {"GPU208"}),
        ("crossentropy(x, y) + mean", {"GPU208"}),
        ("right + mean / strategy.num_replicas_in_sync", set()),
        ("(right + mean) / strategy.num_replicas_in_sync", set()),
        ("right + arguments.weight * mean / strategy.num_replicas_in_sync", set()),
        ("right + tf.multiply(1 / strategy.num_replicas_in_sync, mean)", set()),
        ("right + arguments.scale * mean", set()),
        ("right + tf.nn.scale_regularization_loss(mean)", set()),
        ("right + averaged(tf.reduce_mean(tf.abs(y - x), axis=-1))", set()),
        ("right + tf.multiply(*arguments.pair)", set()),
        ("right + tf.add_n(model.losses)", set()),
        ("right + 0.1 * tf.add_n([tf.nn.l2_loss(v) for v in model.trainable_variables])", set()),
        ("right + 0.1 * tf.add_n([tf.reduce_mean(tf.square(v)) for v in model.trainable_variables])", set()),
    ],
)
def test_terms_of_a_loss_in_a_replica(loss: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(TERMS.format(loss), tmp_path) == expected


ADVERSARIES = """
import contextlib
import sys

import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
first, second = tf.keras.optimizers.Adam(), tf.keras.optimizers.Adam()
with {scope}:
    generator = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(4)])
    critic = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])

class Steps:
    def __init__(self):
        self.generator, self.critic = generator, critic

    def of_critic(self, x):
        with tf.GradientTape() as tape:
            loss = tf.nn.compute_average_loss(self.critic(x) - self.critic(self.generator(x)))
        gradients = tape.gradient(loss, self.critic.trainable_variables)
        first.apply_gradients(zip(gradients, self.critic.trainable_variables))

    @tf.function
    def of_generator(self, x):
        with tf.GradientTape() as tape:
            loss = tf.nn.compute_average_loss(self.critic(self.generator(x)))
        gradients = tape.gradient(loss, self.generator.trainable_variables)
        second.apply_gradients(zip(gradients, self.generator.trainable_variables))

    @tf.function
    def judge(self, x):
        return self.critic(x)

    @tf.function
    def both(self, x):
        strategy.run(self.of_critic, args=(x,))
        {step}

steps = Steps()
data = tf.data.Dataset.from_tensor_slices(tf.zeros((320, 4))).batch(16 * strategy.num_replicas_in_sync)
for x in strategy.experimental_distribute_dataset(data):
    steps.both(x)
"""


@pytest.mark.parametrize(
    ("case", "scope", "step", "expected"),
    [
        ("called directly", "strategy.scope()", "self.of_generator(x)", {"GPU206"}),
        ("run by the strategy", "strategy.scope()", "strategy.run(self.of_generator, args=(x,))", set()),
        ("called in a replica", "strategy.scope()", "strategy.run(lambda x: self.of_generator(x), args=(x,))", set()),
        ("without gradients", "strategy.scope()", "self.judge(x)", set()),
        ("of models outside the scope", "contextlib.nullcontext()", "self.of_generator(x)", set()),
        (
            "on the way without a strategy",
            "strategy.scope() if len(sys.argv) > 1 else contextlib.nullcontext()",
            "self.of_generator(x) if len(sys.argv) <= 1 else strategy.run(self.of_generator, args=(x,))",
            set(),
        ),
    ],
)
def test_a_second_step_beside_one_of_a_strategy(
    case: str, scope: str, step: str, expected: set[str], tmp_path: Path
) -> None:
    assert codes_in(ADVERSARIES.format(scope=scope, step=step), tmp_path) & {"GPU206"} == expected


HANDED = """
class Trainer:
    def __init__(self, runner):
        self.runner = runner

    def micro_steps(self, batch):
        for x in tf.split(batch, 4):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(model(x) ** 2)
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))

    {decorated}
    def step(self, batch):
        {call}
"""


@pytest.mark.parametrize(
    ("case", "decorated", "call", "expected"),
    [
        (
            "run by a strategy of a traced function",
            "@tf.function",
            "self.runner.run(self.micro_steps, (batch,))",
            set(),
        ),
        ("called in a traced function", "@tf.function", "self.micro_steps(batch)", set()),
        ("called eagerly", "", "self.micro_steps(batch)", {"GPU508"}),
        ("given away eagerly", "", "self.runner.submit(self.micro_steps, batch)", {"GPU508"}),
    ],
)
def test_a_step_that_is_handed_over(case: str, decorated: str, call: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(STEP + HANDED.format(decorated=decorated, call=call), tmp_path) == expected


LOOPS = [
    (
        "a model that the replicas of another strategy train",
        """
        first, second = tf.distribute.MirroredStrategy(), tf.distribute.MirroredStrategy()
        with first.scope():
            net = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
        with second.scope():
            optimizer = tf.keras.optimizers.SGD()

        def replica(x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(net(x)) / 32
            optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))

        @tf.function
        def step(x):
            second.run(replica, args=(x,))

        for x in second.experimental_distribute_dataset(tf.data.Dataset.from_tensors(0)):
            step(x)
        """,
        {"GPU210"},
    ),
    (
        "a model of another strategy that replicas only call",
        """
        first, second = tf.distribute.MirroredStrategy(), tf.distribute.MirroredStrategy()
        with first.scope():
            teacher = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
        with second.scope():
            net = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
            optimizer = tf.keras.optimizers.SGD()

        def replica(x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(net(x) - teacher(x)) / 32
            optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))

        @tf.function
        def step(x):
            second.run(replica, args=(x,))

        for x in second.experimental_distribute_dataset(tf.data.Dataset.from_tensors(0)):
            step(x)
        """,
        set(),
    ),
    (
        "a strategy that nothing uses beside variables trained by hand",
        """
        strategy = tf.distribute.MirroredStrategy()
        weight = tf.Variable(tf.zeros((4, 4)))

        @tf.function
        def step(x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(weight * x)
            weight.assign_sub(0.1 * tape.gradient(loss, weight))

        for x in tf.data.Dataset.from_tensors(0):
            step(x)
        """,
        {"GPU203"},
    ),
    (
        "a rate of a generator that is another one in each round",
        """
        def rates(rate=0.5):
            while True:
                yield rate
                rate *= 0.99

        @tf.function
        def step(x, rate):
            return x * rate

        for x, rate in zip(tf.data.Dataset.from_tensors(0), rates()):
            step(x, rate)
        """,
        {"GPU504"},
    ),
]


@pytest.mark.parametrize(("case", "code", "expected"), LOOPS, ids=[case for case, _, _ in LOOPS])
def test_a_loop_of_its_own(case: str, code: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in("import tensorflow as tf\n" + textwrap.dedent(code) + "\n", tmp_path) == expected


FIT = """
import os
import tensorflow as tf

def network():
    return tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])

def trained(data, **options):
    model = network()
    model.compile(optimizer="sgd", loss="mse", **options)
    model.fit(data)
    return model

"""

FITS = [
    (
        "the members of an ensemble whose number is one of two things",
        """
        class Ensemble:
            def __init__(self, num_estimators=None, paths=None):
                if paths is None:
                    self.num_estimators = num_estimators
                else:
                    self.num_estimators = len(paths)

            def fit(self, data):
                for i in range(self.num_estimators):
                    trained(data).save_weights(f"{i}.weights.h5")
        """,
        set(),
    ),
    (
        "a model of each round of a loop whose number is one of two things",
        """
        class Search:
            def __init__(self, trials=None, paths=None):
                if paths is None:
                    self.trials = trials
                else:
                    self.trials = len(paths)

            def fit(self, data):
                for i in range(self.trials):
                    trained(data).save_weights(f"{i}.weights.h5")
        """,
        {"GPU305"},
    ),
    (
        "a fixed batch on the one GPU that there is",
        """
        os.environ["CUDA_VISIBLE_DEVICES"] = "6"
        strategy = tf.distribute.MirroredStrategy()
        with strategy.scope():
            model = network()
            model.compile(optimizer="sgd", loss="mse")
        model.fit(tf.zeros((4096, 4)), tf.zeros((4096, 1)), batch_size=512)
        """,
        set(),
    ),
    (
        "a fixed batch on two GPUs",
        """
        os.environ["CUDA_VISIBLE_DEVICES"] = "6,7"
        strategy = tf.distribute.MirroredStrategy()
        with strategy.scope():
            model = network()
            model.compile(optimizer="sgd", loss="mse")
        model.fit(tf.zeros((4096, 4)), tf.zeros((4096, 1)), batch_size=512)
        """,
        {"GPU209"},
    ),
    (
        "the only GPU that the program leaves itself",
        """
        tf.config.set_visible_devices(tf.config.list_physical_devices("GPU")[0], "GPU")
        with tf.device("/gpu:0"):
            trained(tf.zeros((8, 4)))
        """,
        set(),
    ),
    (
        "losses that are divided before they are added up",
        """
        strategy = tf.distribute.MirroredStrategy()
        with strategy.scope():
            model = network()
            optimizer = tf.keras.optimizers.SGD()

        class Trainer:
            def __init__(self, batch):
                self.batch = batch

            def replica(self, x):
                with tf.GradientTape() as tape:
                    parts = []
                    for scale in (1.0, 2.0):
                        parts.append(tf.reduce_sum(model(x) ** 2, axis=1) * (1.0 / self.batch))
                    loss = tf.reduce_sum(parts)
                weights = model.trainable_variables
                optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))

            @tf.function
            def step(self, x):
                strategy.run(self.replica, args=(x,))

        def main(batch):
            trainer = Trainer(batch)
            for x in strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensors(0)):
                trainer.step(x)

        main(int(os.environ["BATCH"]))
        """,
        set(),
    ),
    (
        "an activation that the user names",
        "from absl import flags\ntf.keras.layers.GRU(8, activation=flags.FLAGS.activation)",
        set(),
    ),
    (
        "a device for what a map calls",
        """
        net = network()

        def embed(x):
            with tf.device("/gpu:0"):
                return net(x)

        trained(tf.data.Dataset.from_tensors(0).map(embed))
        """,
        set(),
    ),
    (
        "a device for what a step calls",
        "net = network()\n@tf.function\ndef embed(x):\n    with tf.device('/gpu:0'):\n        return net(x)\nembed(0)",
        {"GPU101"},
    ),
    (
        "a device that the user asks for",
        """
        from absl import flags

        if flags.FLAGS.explicit_gpu_placement:
            with tf.device("/gpu:0"):
                network()
        """,
        set(),
    ),
    (
        "predict for each",
        "m = network()\nfor x in os.listdir():\n    m.predict(tf.expand_dims(read(x), 0))",
        {"GPU503"},
    ),
    (
        "predict of two inputs of one example",
        "m = network()\nfor x in os.listdir():\n    x = read(x)\n    m.predict([x[None], x[None]])",
        {"GPU503"},
    ),
    (
        "predict in each training step",
        """
        m = network()
        m.compile("sgd", "mse")
        memory = np.load("memory.npy")
        for _ in range(1000):
            chosen = memory[np.random.choice(len(memory), 32)]
            m.train_on_batch(chosen, m.predict(chosen))
        """,
        {"GPU503"},
    ),
    (
        "predict before each fit",
        """
        m = network()
        m.compile("sgd", "mse")
        memory = np.load("memory.npy")
        for _ in range(1000):
            m.fit(memory, m.predict(memory))
        """,
        set(),
    ),
    (
        "predict_on_batch of one example after another",
        "m = network()\nx = np.load('x')\nfor row in x:\n    m.predict_on_batch(row[None])",
        {"GPU503"},
    ),
    (
        "predict_on_batch of slices of one row",
        "m = network()\nx = np.load('x')\nfor i in range(len(x)):\n    m.predict_on_batch(x[i : i + 1])",
        {"GPU503"},
    ),
    (
        "predict_on_batch of what the last prediction led to",
        """
        m = network()
        state = world.reset()
        for _ in range(1000):
            state, reward = world.step(np.argmax(m.predict_on_batch(state[None])))
        """,
        set(),
    ),
    (
        "predict_on_batch",
        "m = network()\nfor x in os.listdir():\n    m.predict_on_batch(tf.expand_dims(read(x), 0))",
        set(),
    ),
    (
        "predict for each, in a comprehension behind a flag",
        "m = network()\nSHOW = True\nif SHOW:\n    y = [m.predict(tf.expand_dims(read(x), 0)) for x in os.listdir()]",
        {"GPU503"},
    ),
    ("predict many", "m = network()\nfor x in os.listdir():\n    m.predict(read(x))", set()),
    (
        "predict for an old release",
        """
        m = network()
        for x in os.listdir():
            x = tf.expand_dims(read(x), 0)
            if tf.__version__ > "2.4":
                y = m(x)
            else:
                y = m.predict(x)
        """,
        set(),
    ),
    ("a model for each trial", "for n in range(50):\n    trained(tf.zeros((8, 4)))", {"GPU305"}),
    (
        "a model for each trial of a search",
        """
        import optuna

        def objective(trial):
            return trained(tf.zeros((8, 4))).evaluate(tf.zeros((8, 4)))

        study = optuna.create_study()
        study.optimize(lambda trial: objective(trial), n_trials=50)
        """,
        {"GPU305"},
    ),
    (
        "a model for each trial of a search that clears the session",
        """
        from hyperopt import fmin

        def objective(given):
            tf.keras.backend.clear_session()
            return trained(tf.zeros((8, 4))).evaluate(tf.zeros((8, 4)))

        fmin(objective, {}, max_evals=50)
        """,
        set(),
    ),
    (
        "a search of one trial",
        "import skopt\nskopt.gp_minimize(lambda x: trained(tf.zeros((8, 4))), [(0, 1)], n_calls=1)",
        set(),
    ),
    (
        "what optimizes something else",
        "import scipy.optimize\nscipy.optimize.minimize(lambda x: trained(tf.zeros((8, 4))), 0)",
        set(),
    ),
    (
        "members of an ensemble, in objects",
        """
        class Member:
            def __init__(self):
                self.model = trained(tf.zeros((8, 4)))

        members = []
        for n in range(50):
            members.append(Member())
        """,
        set(),
    ),
    ("members of an ensemble, by name", "for n in range(len(ensemble_paths)):\n    trained(tf.zeros((8, 4)))", set()),
    (
        "a scaled sample",
        "m = network()\nfor x in os.listdir():\n    m.predict(tf.expand_dims(read(x), 0) / 255.0)",
        {"GPU503"},
    ),
    (
        "a batch of each epoch",
        "m = network()\nfor _ in range(99):\n    for x in data.take(1):\n        m.predict(x)",
        set(),
    ),
    ("a model for three trials", "for n in range(3):\n    trained(tf.zeros((8, 4)))", set()),
    ("models that are kept", "kept = [trained(tf.zeros((8, 4))) for n in range(50)]", set()),
    (
        "models in a model",
        "parts = [network() for n in range(50)]\nfor part in parts:\n    part(tf.zeros((8, 4)))",
        set(),
    ),
    ("sessions cleared", "for n in range(50):\n    tf.keras.backend.clear_session()\n    trained(0)", set()),
    ("eager", "tf.config.run_functions_eagerly(True)\ntrained(tf.zeros((8, 4)))", {"GPU506"}),
    ("eager after training", "trained(tf.zeros((8, 4)))\ntf.config.run_functions_eagerly(True)", set()),
    ("eager by a flag", "DEBUG = True\nif DEBUG:\n    tf.config.run_functions_eagerly(True)\ntrained(0)", set()),
    (
        "eager functions and a model that is not known",
        "def main(found):\n    tf.config.run_functions_eagerly(True)\n    found.model().fit(tf.zeros((8, 4)))",
        {"GPU506"},
    ),
    (
        "eager functions and nothing that trains",
        "def main(found):\n    tf.config.run_functions_eagerly(True)\n    found.model().show(tf.zeros((8, 4)))",
        set(),
    ),
    ("eager by an argument", "trained(tf.zeros((8, 4)), run_eagerly=bool(os.environ.get('E')))", set()),
    (
        "a model made eager",
        "m = network()\nm.compile('sgd', 'mse')\nm.run_eagerly = True\nm.fit(tf.zeros((8, 4)))",
        {"GPU506"},
    ),
    (
        "a model made eager and compiled anew",
        "m = network()\nm.compile('sgd')\nm.run_eagerly = True\nm.compile('sgd', 'mse')\nm.fit(tf.zeros((8, 4)))",
        set(),
    ),
    (
        "a device for what a map calls, and a call outside",
        """
        net = network()

        def embed(x):
            with tf.device("/gpu:0"):
                return net(x)

        trained(tf.data.Dataset.from_tensors(0).map(embed))
        embed(0)
        """,
        set(),
    ),
    ("eager for a while", "f = tf.config.run_functions_eagerly\nf(True)\nf(False)\ntrained(0)", set()),
    (
        "float16 outputs",
        "tf.keras.mixed_precision.set_global_policy('mixed_float16')\ntrained(tf.zeros((8, 4)))",
        {"GPU602"},
    ),
    (
        "a session cleared after the policy was set",
        """
        tf.keras.mixed_precision.set_global_policy('mixed_float16')
        tf.keras.backend.clear_session()
        trained(tf.zeros((8, 4)))
        """,
        set(),
    ),
    ("an LSTM with its own dropout", "tf.keras.layers.LSTM(8, recurrent_dropout=0.1)", {"GPU603"}),
    ("an LSTM without GPUs", "os.environ['CUDA_VISIBLE_DEVICES'] = '-1'\ntf.keras.layers.LSTM(8, unroll=True)", set()),
]


@pytest.mark.parametrize(("case", "code", "expected"), FITS, ids=[case for case, _, _ in FITS])
def test_a_fitted_model(case: str, code: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(FIT + textwrap.dedent(code) + "\n", tmp_path) == expected


PIPELINE = """
import tensorflow as tf

flip = tf.image.random_flip_left_right
def noisy(x):
    return flip(x) + tf.random.normal(tf.shape(x))

def fit(data):
    model = tf.keras.Sequential([tf.keras.layers.Conv2D(3, 3)])
    model.compile(optimizer="sgd", loss="mse")
    model.fit(data)

images = tf.data.Dataset.from_tensor_slices(tf.zeros((640, 8, 8, 3)))
"""

SEEDED = """
f = tf.keras.layers.RandomFlip(seed=1)
g = tf.keras.layers.RandomFlip(seed={})
fit(images.map(lambda x: (f(x), g(x))).batch(8))
"""

PIPELINES = [
    ("a random map", "fit(images.map(noisy).batch(8))", {"GPU402"}),
    (
        "randomness in a Lambda layer",
        "fit(images.map(lambda x: tf.keras.layers.Lambda(noisy)(x)).batch(8))",
        {"GPU402"},
    ),
    (
        "a generator of names",
        "names = tf.data.Dataset.from_generator(lambda: iter(open('names')), output_types=tf.string)\n"
        "fit(names.map(lambda x: tf.io.decode_png(tf.io.read_file(x)), tf.data.AUTOTUNE).batch(8))",
        set(),
    ),
    (
        "a generator of images",
        "read = tf.data.Dataset.from_generator(lambda: iter(open('images')), output_types=tf.float32)\n"
        "fit(read.map(lambda x: x / 255.0, tf.data.AUTOTUNE).batch(8))",
        {"GPU404"},
    ),
    (
        "a generator of batches that reads an image at a time",
        """
        import cv2, numpy as np

        class Batches:
            def read(self, name):
                return cv2.resize(cv2.imread(name), (8, 8))

            def __call__(self):
                while True:
                    for start in range(0, len(names), 32):
                        yield np.stack([self.read(name) for name in names[start : start + 32]])

        names = open("names").readlines()
        fit(tf.data.Dataset.from_generator(Batches(), tf.float32).prefetch(2))
        """,
        {"GPU404"},
    ),
    (
        "a generator of batches that reads a file at a time",
        """
        import numpy as np

        def parts():
            for name in open("names"):
                part = np.load(name)
                for start in range(0, len(part), 32):
                    yield part[start : start + 32]

        def batches():
            for part in parts():
                yield {key: part[key] for key in ("image", "label")}

        fit(tf.data.Dataset.from_generator(batches, tf.float32))
        fit(tf.data.Dataset.from_generator(lambda: parts(), tf.float32))
        """,
        set(),
    ),
    ("a random map in parallel", "fit(images.map(noisy, tf.data.AUTOTUNE).batch(8))", set()),
    ("a random map by keywords", "fit(images.map(noisy, **{'num_parallel_calls': 8}).batch(8))", set()),
    ("one call at a time", "fit(images.map(noisy, num_parallel_calls=1).batch(8))", set()),
    ("a stateless map", "fit(images.map(lambda x: tf.image.resize(x, (9, 9)) * 2.0 - 1.0).batch(8))", set()),
    ("an assertion in a map", "fit(images.map(lambda x: tf.ensure_shape(x * 2, (8, 8, 3))).batch(8))", set()),
    (
        "a random order of each element",
        "fit(images.map(lambda x: tf.random.shuffle(tf.reshape(x, (64, 3)))).batch(8))",
        {"GPU402"},
    ),
    ("one random number", "fit(images.map(lambda x: (x, tf.random.uniform(()))).batch(8))", set()),
    ("a random map for evaluation", "tf.keras.Sequential([]).evaluate(images.map(noisy).batch(8))", set()),
    ("a random map that is cached", "fit(images.map(noisy).cache().shuffle(9).batch(8))", {"GPU403"}),
    ("a cache, then a random map", "fit(images.cache().map(noisy, 4).batch(8))", set()),
    ("a shuffle that is cached", "fit(images.shuffle(640).cache().batch(8))", {"GPU403"}),
    ("a split that is cached", "fit(images.shuffle(640, reshuffle_each_iteration=False).cache().batch(8))", set()),
    ("a shuffle before and after", "fit(images.shuffle(640).cache().shuffle(640).batch(8))", set()),
    ("a sample that is cached", "fit(images.shuffle(640).repeat().batch(8).take(1).cache().repeat())", set()),
    ("a repeated cache", "fit(images.repeat(5).cache().batch(8))", {"GPU403"}),
    (
        "two maps of one seed",
        SEEDED.format(1),
        set(),
    ),
    (
        "two maps of two seeds",
        SEEDED.format(2),
        {"GPU402"},
    ),
    (
        "nothing is read ahead",
        """
        options = tf.data.Options()
        options.autotune.enabled = False
        fit(images.with_options(options).shuffle(9).batch(8))
        """,
        {"GPU401"},
    ),
    (
        "read ahead after all",
        """
        options = tf.data.Options()
        options.experimental_optimization.inject_prefetch = False
        options.experimental_optimization.inject_prefetch = True
        fit(images.with_options(options).shuffle(9).batch(8))
        """,
        set(),
    ),
    (
        "map and batch are one step",
        """
        options = tf.data.Options()
        options.experimental_optimization.inject_prefetch = False
        fit(images.map(tf.abs).batch(8).with_options(options))
        """,
        set(),
    ),
]


@pytest.mark.parametrize(("case", "code", "expected"), PIPELINES, ids=[case for case, _, _ in PIPELINES])
def test_a_pipeline(case: str, code: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(PIPELINE + textwrap.dedent(code) + "\n", tmp_path) == expected


CLUSTER = """
import os
import tensorflow as tf

os.environ["TF_CONFIG"] = "{}"
Strategy = tf.distribute.MultiWorkerMirroredStrategy
"""

ALONE = """
import os
import tensorflow as tf

Strategy = tf.distribute.MultiWorkerMirroredStrategy

def train(strategy):
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
        return model(tf.zeros((64, 4)))

"""

CHIEF = """
import tempfile

strategy = Strategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
chief = os.environ["TF_CONFIG"].count("chief")
"""

MAYBE_ALONE = [
    (
        "a path of each worker's own",
        CHIEF + "path = 'a' if chief else tempfile.mkdtemp()\nmodel.save(f'{path}/m.keras')",
        set(),
    ),
    ("one path for all workers", CHIEF + "path = 'a'\nmodel.save(f'{path}/m.keras')", {"GPU703"}),
    ("without a cluster", "train(Strategy())", {"GPU701"}),
    (
        "for several workers only",
        "import argparse\nargs = argparse.ArgumentParser().parse_args()\nif args.workers > 1:\n    train(Strategy())",
        set(),
    ),
    ("a cluster that comes later", "tf.zeros(1)\ntrain(Strategy())\nos.environ['TF_CONFIG'] = '{}'", set()),
    ("a cluster that was there", "os.environ['TF_CONFIG'] = '{}'\ntf.zeros(1)\ntrain(Strategy())", {"GPU702"}),
]


@pytest.mark.parametrize(("case", "code", "expected"), MAYBE_ALONE, ids=[case for case, _, _ in MAYBE_ALONE])
def test_a_worker(case: str, code: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(ALONE + code + "\n", tmp_path) == expected


CLUSTERS = [
    ("made first", "with Strategy().scope():\n    x = tf.constant(1)", set()),
    ("made late", "x = tf.constant(1)\nwith Strategy().scope():\n    pass", {"GPU702"}),
    ("made after a symbolic input", "x = tf.keras.Input((4,))\nwith Strategy().scope():\n    pass", set()),
    ("made twice", "for _ in range(2):\n    with Strategy().scope():\n        pass", set()),
    ("made after another", "with Strategy().scope():\n    pass\nwith Strategy().scope():\n    pass", set()),
]


@pytest.mark.parametrize(("case", "code", "expected"), CLUSTERS, ids=[case for case, _, _ in CLUSTERS])
def test_a_cluster(case: str, code: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(CLUSTER + textwrap.dedent(code) + "\n", tmp_path) == expected


LONG = (
    "import tensorflow as tf\n\n\ndef block(x, size):\n"
    + "    x = tf.keras.layers.Conv2D(8, size)(x)\n" * 40
    + "    return x\n\n\ndef network(x):\n"
    + "".join(f"    x = block(x, {size})\n" for size in range(1, 300))
    + "    return x\n\n\nnetwork(tf.keras.Input((8, 8, 3)))\ntf.keras.utils.multi_gpu_model(0)"
)
"""A network of which no more than a part is gone through."""

REMOVED = [
    ("a name", "import tensorflow as tf\ntf.keras.utils.multi_gpu_model(0)", {"GPU901"}),
    ("behind hasattr", "import tensorflow as tf\nif hasattr(tf, 'Session'):\n    tf.Session()", set()),
    (
        "after an assertion that this is TensorFlow 2",
        "import tensorflow as tf\nassert tf.__version__.startswith('2')\ntf.keras.utils.multi_gpu_model(0)",
        {"GPU901"},
    ),
    (
        "after an assertion that this is eager",
        "import tensorflow as tf\nassert tf.executing_eagerly()\ntf.keras.utils.multi_gpu_model(0)",
        {"GPU901"},
    ),
    (
        "after an assertion of one release",
        "import tensorflow as tf\nassert tf.__version__ == '2.0.0'\ntf.keras.utils.multi_gpu_model(0)",
        set(),
    ),
    (
        "in a method that is not the first of a class",
        """
        import tensorflow as tf


        class Watch(tf.keras.callbacks.Callback):
            def __init__(self):
                self.mean = tf.keras.metrics.Mean()

            def on_epoch_begin(self, epoch, logs=None):
                print(epoch)

            def on_epoch_end(self, epoch, logs=None):
                self.mean.reset_states()
        """,
        {"GPU901"},
    ),
    ("behind a network that is long to build", LONG, {"GPU901"}),
    (
        "where the import of TensorFlow 1 failed",
        """
        try:
            import tensorflow.compat.v1 as tf
        except ImportError:
            import tensorflow as tf

        try:
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
        finally:
            print("done")
        """,
        set(),
    ),
    ("behind a version", "import tensorflow as tf\nif tf.__version__ < '2':\n    tf.Session()", set()),
    (
        "behind another package's flag",
        "import tensorflow as tf\nfrom csbdeep.utils.tf import IS_TF_1\nif IS_TF_1:\n    tf.Session()",
        set(),
    ),
    ("an optimizer's old argument", "from tensorflow.keras.optimizers import Adam\nAdam(lr=1e-3)", {"GPU901"}),
    ("its new one", "from tensorflow.keras.optimizers import Adam\nAdam(learning_rate=1e-3)", set()),
    ("an optimizer's old attribute", "from tensorflow.keras import optimizers\noptimizers.Adam().lr", {"GPU901"}),
    ("a metric's old method", "from tensorflow.keras import metrics\nmetrics.Mean().reset_states()", {"GPU901"}),
    ("the same of another thing", "from tensorflow.keras import metrics\nimport a\na.b().reset_states()", set()),
    ("compat.v2", "import tensorflow.compat.v2 as tf\ntf.enable_v2_behavior()", set()),
    (
        "a module of which a name is imported",
        "from tensorflow.keras.wrappers.scikit_learn import KerasClassifier",
        {"GPU901"},
    ),
    (
        "behind a version as numbers",
        """
        import tensorflow as tf
        VERSION = tuple(int(part) for part in tf.__version__.split(".")[:2])
        if VERSION < (2, 0):
            tf.Session()
        """,
        set(),
    ),
    ("behind an except", "import tensorflow as tf\ntry:\n    tf.Session()\nexcept AttributeError:\n    pass", set()),
    ("a default", "import tensorflow as tf\nSession = getattr(tf, 'Session', None)", set()),
    ("compat.v1", "import tensorflow.compat.v1 as tf\ntf.Session()", set()),
    (
        "compat.v1 in the place of a global name",
        "import tensorflow as tf\ndef run():\n    global tf\n    import tensorflow.compat.v1 as tf\n    tf.Session()",
        set(),
    ),
    ("legacy by name", "import tensorflow as tf\nisinstance(0, tf.keras.optimizers.legacy.Adam)", set()),
    ("legacy called", "import tensorflow as tf\ntf.keras.optimizers.legacy.Adam()", {"GPU901"}),
    ("only of tf.keras", "import tensorflow as tf\ntf.keras.losses.mean_squared_error(0, 0)", {"GPU901"}),
    ("still of keras", "import keras\nkeras.losses.mean_squared_error(0, 0)", set()),
    ("Keras 2", "import tf_keras as keras\nkeras.optimizers.legacy.Adam()", set()),
    ("a method", "import tensorflow as tf\ntf.keras.Sequential([]).fit_generator(0)", {"GPU901"}),
    ("an argument", "import tensorflow as tf\ntf.keras.Sequential([]).fit(0, use_multiprocessing=True)", {"GPU901"}),
    ("an attribute", "import tensorflow as tf\ntf.keras.optimizers.Adam().get_gradients(0, 0)", {"GPU901"}),
    ("a method of one's own", "import keras\nclass A:\n    def fit_generator(self): ...\nA().fit_generator()", set()),
    (
        "TensorFlow 1",
        "import tensorflow as tf\nx = tf.placeholder(tf.float32)\ntf.Session().run(tf.global_variables_initializer())",
        {"GPU901"},
    ),
]


@pytest.mark.parametrize(("case", "code", "expected"), REMOVED, ids=[case for case, _, _ in REMOVED])
def test_a_removed_name(case: str, code: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(textwrap.dedent(code) + "\n", tmp_path) == expected


HALF = """
import sys
import tensorflow as tf
from elsewhere import parts

tf.keras.mixed_precision.set_global_policy("mixed_float16")
model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1, dtype="float32")])
optimizer = tf.keras.optimizers.Adam()
if "--scale" in sys.argv:
    optimizer = tf.keras.mixed_precision.LossScaleOptimizer(optimizer)

@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
        SCALED
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))

for x in tf.data.Dataset.from_tensor_slices(tf.zeros((640, 4))).batch(8):
    step(x)
"""


@pytest.mark.parametrize(
    ("scaled", "expected"),
    [
        ("pass", {"GPU601"}),
        ("loss = optimizer.scale_loss(loss)", set()),
        ("if '--scale' in sys.argv:\n            loss = optimizer.scale_loss(loss)", set()),
        ("loss = {name: optimizer.scale_loss(part) for name, part in parts(loss).items()}['all']", set()),
        (
            "if isinstance(optimizer, tf.keras.mixed_precision.LossScaleOptimizer):\n"
            "            loss = optimizer.scale_loss(loss)",
            set(),
        ),
    ],
    ids=["not scaled", "scaled", "scaled where the optimizer scales", "scaled in a dict", "scaled where it asks"],
)
def test_a_loss_in_half_precision(scaled: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(HALF.replace("SCALED", scaled), tmp_path) == expected


GROWTH = """
import sys
import tensorflow as tf

limit = int(sys.argv[1]) if len(sys.argv) > 1 else None
gpus = tf.config.list_physical_devices("GPU")

def set_limit(gpu):
    tf.config.set_logical_device_configuration(gpu, [tf.config.LogicalDeviceConfiguration(memory_limit=limit)])

"""

OPTIONS = [
    ("an option that is a number", '"--gpu", type=int', "args.gpu", {"GPU304"}),
    ("an option under another name", '"--device", "-d", type=int, dest="gpu"', "args.gpu", {"GPU304"}),
    ("an option that is made a string", '"--gpu", type=int', "str(args.gpu)", set()),
    ("an option that is a string", '"--gpu"', "args.gpu", set()),
    ("an option in a text", '"--gpu", type=int', "f'{args.gpu}'", set()),
]


@pytest.mark.parametrize(("case", "option", "value", "expected"), OPTIONS, ids=[case for case, *_ in OPTIONS])
def test_an_option_in_the_environment(case: str, option: str, value: str, expected: set[str], tmp_path: Path) -> None:
    code = f"""
import argparse, os

parser = argparse.ArgumentParser()
parser.add_argument({option})


def choose(args):
    if args.gpu is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = {value}


choose(parser.parse_args())

import tensorflow as tf

tf.zeros(3)
"""
    assert codes_in(code, tmp_path) == expected


FIELDS = """
import os
from dataclasses import dataclass, field

import attr


@dataclass
class Inner:
    threads: int = 2


@dataclass
class Settings:
    threads: int = 2
    name: str = field(default="2")
    inner: Inner = field(default_factory=Inner)

    def __post_init__(self):
        self.later = 2


@dataclass
class Wider(Settings):
    more: bool = False


@attr.s(auto_attribs=True)
class Attributes:
    inner: Inner = attr.ib(factory=Inner)
    other: Inner = attr.ib(default=attr.Factory(Inner))


@attr.s
class Plain:
    inner = attr.ib(factory=Inner)


os.environ["TF_GPU_THREAD_COUNT"] = {}
"""


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("Settings().threads", {"GPU304"}),
        ("Settings('2').threads", set()),
        ("Settings().name", set()),
        ("Settings().inner.threads", {"GPU304"}),
        ("Settings(inner=Inner('2')).inner.threads", set()),
        ("Settings().later", {"GPU304"}),
        ("Wider().inner.threads", {"GPU304"}),
        ("Wider(3, '2', Inner('2'), 2).more", {"GPU304"}),
        ("Attributes().inner.threads", {"GPU304"}),
        ("Attributes().other.threads", {"GPU304"}),
        ("Plain().inner.threads", {"GPU304"}),
        ("Plain(Inner('2')).inner.threads", set()),
    ],
)
def test_a_field_in_the_environment(value: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(FIELDS.format(value), tmp_path) == expected


GROWTHS = [
    (
        "growth and a limit",
        """
        for gpu in gpus:
            tf.config.experimental.set_memory_growth(gpu, True)
            if limit is not None:
                set_limit(gpu)
        """,
        {"GPU306"},
    ),
    (
        "growth and a limit, each tried",
        """
        if gpus:
            try:
                for gpu in gpus:
                    tf.config.experimental.set_memory_growth(gpu, True)
            except RuntimeError as error:
                print(error)
        if gpus:
            try:
                set_limit(gpus[0])
            except RuntimeError as error:
                print(error)
        """,
        {"GPU306"},
    ),
    (
        "growth where there is no limit",
        """
        for gpu in gpus:
            tf.config.experimental.set_memory_growth(gpu, limit is None)
            if limit is not None:
                set_limit(gpu)
        """,
        set(),
    ),
    (
        "either growth or a limit, by two flags",
        """
        for gpu in gpus:
            if "--growth" in sys.argv:
                tf.config.experimental.set_memory_growth(gpu, True)
            if limit is not None:
                set_limit(gpu)
        """,
        set(),
    ),
    (
        "growth where a flag of the object gives no limit",
        """
        class Devices:
            def __init__(self, settings):
                self.settings = settings
                for gpu in gpus:
                    tf.config.experimental.set_memory_growth(gpu, self.settings.limit is None)
                    if self.settings.limit is not None:
                        set_limit(gpu)
        """,
        set(),
    ),
    (
        "growth that is taken back",
        """
        for gpu in gpus:
            tf.config.experimental.set_memory_growth(gpu, True)
            if limit is not None:
                tf.config.experimental.set_memory_growth(gpu, False)
                set_limit(gpu)
        """,
        set(),
    ),
]


@pytest.mark.parametrize(("case", "code", "expected"), GROWTHS, ids=[case for case, _, _ in GROWTHS])
def test_growth_beside_a_limit(case: str, code: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(GROWTH + textwrap.dedent(code) + "\n", tmp_path) == expected


DEVICES = """
import os
import tensorflow as tf

class Tower:
    def __init__(self, device):
        self.device = device

def name_of(number):
    return "/gpu:%d" % number

def work():
    return tf.linalg.matmul(tf.zeros((8, 8)), tf.zeros((8, 8)))

PAIR = ["/gpu:0", "/gpu:1"]
BY_NAME = {"left": "/gpu:0", "right": "/gpu:1"}

"""

CHOSEN = [
    ("%", "for i in range(2):", "'/gpu:%d' % i"),
    ("% of a setting", "N = 1\nfor i in range(N):", "'/gpu:%d' % i"),
    ("format", "for i in range(2):", "'/gpu:{}'.format(i)"),
    ("an f-string", "for i in range(2):", "f'/gpu:{i}'"),
    ("+", "for i in range(2):", "'/gpu:' + str(i)"),
    ("join", "for i in range(2):", "':'.join(['/gpu', str(i)])"),
    ("a function", "for i in range(2):", "name_of(i)"),
    ("DeviceSpec", "for i in range(2):", "tf.DeviceSpec(device_type='GPU', device_index=i)"),
    ("a list", "for device in PAIR:", "device"),
    ("an index of a list", "for i in range(2):", "PAIR[i]"),
    ("a remainder", "for i in range(50):", "PAIR[i % 2]"),
    ("enumerate", "for i, device in enumerate(PAIR):", "device"),
    ("zip", "for device, line in zip(PAIR, open('lines')):", "device"),
    ("sorted", "for device in sorted(PAIR):", "device"),
    ("the items of a dict", "for name, device in BY_NAME.items():", "device"),
    ("the values of a dict", "for device in BY_NAME.values():", "device"),
    ("an attribute", "for tower in [Tower(device) for device in PAIR]:", "tower.device"),
    ("attributes that are written out", "for tower in (Tower('/gpu:0'), Tower('/gpu:1')):", "tower.device"),
    ("the host and a GPU", "for device in ['/cpu:0', '/gpu:0']:", "device"),
    ("sixteen", "for i in range(16):", "'/gpu:%d' % i"),
    ("while", "i = 0\nwhile i < 2:\n    i += 1", "'/gpu:%d' % i"),
]


@pytest.mark.parametrize(("loop", "device"), [row[1:] for row in CHOSEN], ids=[row[0] for row in CHOSEN])
def test_a_loop_chooses_the_device(loop: str, device: str, tmp_path: Path) -> None:
    code = f"{DEVICES}{loop}\n    with tf.device({device}):\n        work()\n"
    assert codes_in(code, tmp_path) == set()


@pytest.mark.parametrize(
    ("loop", "device"),
    [
        ("for device in ['/gpu:0']:", "device"),
        ("for i in range(2):", "'/gpu:0'"),
        ("for i in range(2):", "'/gpu:%d' % 0"),
        ("if True:", "PAIR[0]"),
        ("if True:", "BY_NAME['left']"),
        ("if True:", "Tower('/gpu:1').device"),
        ("if True:", "tf.DeviceSpec(device_type='GPU', device_index=1)"),
    ],
)
def test_no_loop_chooses_the_device(loop: str, device: str, tmp_path: Path) -> None:
    code = f"{DEVICES}{loop}\n    with tf.device({device}):\n        work()\n"
    assert codes_in(code, tmp_path) == {"GPU101"}


REPLICAS = """
import os
import tensorflow as tf

class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = tf.keras.optimizers.SGD()

    @tf.function
    def step(self, x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(self.model(x))
        gradients = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
        return loss

def network():
    return tf.keras.Sequential([tf.keras.layers.Dense(1)])

def on(device):
    with tf.device(device):
        return Trainer(network())

gpus = tf.config.list_logical_devices("GPU")
wanted = int(os.environ["WANTED"])
trainers = {}

"""

REPLICATED = [
    ("listed GPUs", "for gpu in gpus:", "gpu.name", True),
    ("listed GPUs, or the host", "for gpu in [one.name for one in gpus] or ['/cpu:0']:", "gpu", True),
    ("listed GPUs, if there are any", "for gpu in [one.name for one in gpus] if gpus else ['/cpu:0']:", "gpu", True),
    ("names", "for gpu in ('/gpu:0', '/gpu:1'):", "gpu", True),
    ("numbers", "for gpu in range(2):", "'/gpu:%d' % gpu", True),
    ("numbers that are not known", "for gpu in range(wanted):", "'/gpu:%d' % gpu", True),
    ("numbers, and something for each", "for gpu, part in zip(gpus, open('parts')):", "gpu.name", True),
    ("one GPU", "for fold in range(3):", "gpus[0].name", False),
    ("one GPU by number", "for fold in range(3):", "'/gpu:%d' % wanted", False),
    ("hosts", "for host in range(2):", "'/cpu:%d' % host", False),
]


@pytest.mark.parametrize(
    ("loop", "device", "reported"), [row[1:] for row in REPLICATED], ids=[row[0] for row in REPLICATED]
)
def test_a_model_for_each_gpu(loop: str, device: str, reported: bool, tmp_path: Path) -> None:
    scoped = f"with tf.device({device}):\n        trainers[{device}] = Trainer(network())"
    for body in (scoped, f"trainers[{device}] = on({device})"):
        assert codes_in(f"{REPLICAS}{loop}\n    {body}\n", tmp_path) == ({"GPU106"} if reported else set())


def test_models_on_two_gpus_in_each_round_are_no_replicas(tmp_path: Path) -> None:
    code = "for trial in range(3):\n    trainers[trial] = on('/gpu:0'), on('/gpu:1')\n"
    assert codes_in(REPLICAS + code, tmp_path) == set()


BATCHES = """
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()

class Source:
    def __init__(self, size):
        self.size = size

    def __call__(self):
        data = tf.data.Dataset.from_tensor_slices((tf.zeros((64, 4)), tf.zeros((64, 1))))
        return data.shuffle(self.size).batch(8)

@tf.function
def step(x, y=None):
    return x

source = Source(64)
data = source()
distributed = strategy.experimental_distribute_dataset(source())

"""

GIVEN = [
    ("one of its parts", "for x, y in {}:", "args=(x, y)"),
    ("in a tuple", "for batch in {}:", "args=(batch,)"),
    ("in a list", "for batch in {}:", "args=[batch]"),
    ("as all arguments", "for batch in {}:", "args=batch"),
    ("as all arguments, counted", "for i, batch in enumerate({}):", "args=batch"),
    ("as a tuple", "for batch in {}:", "args=tuple(batch)"),
    ("with a star", "for batch in {}:", "args=(*batch,)"),
    ("part by part", "for batch in {}:", "args=(batch[0], batch[1])"),
    ("by name", "for batch in {}:", "kwargs={{'x': batch}}"),
    ("as all names", "for batch in {}:", "kwargs=batch"),
    ("of an iterator", "it = iter({})\nfor _ in range(500):", "args=next(it)"),
    ("of an iterator, in a tuple", "it = iter({})\nfor _ in range(500):", "args=(next(it),)"),
    ("of get_next", "it = iter({})\nfor _ in range(500):", "args=it.get_next()"),
]


@pytest.mark.parametrize(("loop", "given"), [row[1:] for row in GIVEN], ids=[row[0] for row in GIVEN])
def test_a_batch_that_is_given_to_replicas(loop: str, given: str, tmp_path: Path) -> None:
    code = f"{BATCHES}{loop}\n    strategy.run(step, {given})\n"
    assert "GPU205" in codes_in(code.format("data"), tmp_path)
    assert "GPU205" not in codes_in(code.format("distributed"), tmp_path)


TOWERS = """
import tensorflow as tf

class Tower:
    def __init__(self, device):
        self.device = device
        with tf.device(device):
            self.weights = tf.random.normal((8, 8))

    def loss(self, x):
        return tf.reduce_sum(tf.matmul(x, self.weights))

data = tf.data.Dataset.from_tensors(tf.zeros((8, 8)))
towers = [Tower(f"/gpu:{i}") for i in range(COUNT)]

for n, x in enumerate(data):
    losses = []
    for tower, part in zip(towers, tf.split(x, COUNT)):
        with tf.device(tower.device):
            losses.append(tower.loss(part))
"""


@pytest.mark.parametrize(
    ("count", "total", "expected"),
    [
        (2, "tf.add_n(losses)", {"GPU102"}),
        (2, "tf.stack(losses)", {"GPU102"}),
        (1, "tf.add_n(losses)", set()),
        (2, "tf.add_n(losses[:1])", set()),
        (2, "[float(loss) for loss in losses]", set()),
    ],
)
def test_losses_of_towers(count: int, total: str, expected: set[str], tmp_path: Path) -> None:
    code = TOWERS.replace("COUNT", str(count))
    assert codes_in(f"{code}    total = {total}\n", tmp_path) == expected
    assert codes_in(f"{code}    with tf.device('/cpu:0'):\n        total = {total}\n", tmp_path) == set()


REGISTERED = """
import tensorflow as tf

NETWORKS = {{}}


def network(name):
    def add(made):
        NETWORKS[name] = made
        return made

    return add


@network("small")
class Small(tf.keras.Model):
    def __init__(self, units):
        super().__init__()
        self.layer = tf.keras.layers.Dense(units)

    def call(self, x):
        return self.layer(x)


@network("large")
def large(units):
    inputs = tf.keras.Input((4,))
    return tf.keras.Model(inputs, tf.keras.layers.Dense(units)(inputs))


BY_NAME = {{one.__name__: one for one in (Small, large)}}
strategy = tf.distribute.MirroredStrategy()
{}
data = tf.data.Dataset.from_tensor_slices((tf.zeros((64, 4)), tf.zeros((64, 1))))
model.fit(data.batch(4 * strategy.num_replicas_in_sync))
"""


@pytest.mark.parametrize(
    "made",
    ["NETWORKS['small'](1)", "NETWORKS['large'](1)", "BY_NAME['Small'](1)"],
    ids=["a class by its decorator", "a function by its decorator", "a class by a comprehension"],
)
def test_a_model_is_found_where_it_is_registered(made: str, tmp_path: Path) -> None:
    outside = f"model = {made}\nwith strategy.scope():\n    model.compile('sgd', 'mse')"
    inside = f"with strategy.scope():\n    model = {made}\n    model.compile('sgd', 'mse')"
    assert codes_in(REGISTERED.format(outside), tmp_path) == {"GPU201"}
    assert codes_in(REGISTERED.format(inside), tmp_path) == set()


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("    @tf.function\n    def double(x):\n        return x + x", set()),
        ("    @tf.function\n    def double(x):\n        return x + x\n    double(tf.zeros(4))", {"GPU101"}),
        ("    y = tf.zeros(4)\ndef double(x):\n    return x + x", {"GPU101"}),
    ],
    ids=["a definition", "a definition and a call", "an operation"],
)
def test_a_device_scope_around(body: str, expected: set[str], tmp_path: Path) -> None:
    text = f"import tensorflow as tf\n\nwith tf.device('/gpu:0'):\n{body}\ndouble(tf.zeros(4))\n"
    assert codes_in(text, tmp_path) == expected


@pytest.mark.parametrize(("kind", "expected"), [("CPU", set()), ("GPU", {"GPU301"})])
def test_devices_made_visible_after_the_first_operation(kind: str, expected: set[str], tmp_path: Path) -> None:
    text = f"""
import tensorflow as tf

tf.zeros(4)
tf.config.set_visible_devices(tf.config.list_physical_devices("{kind}")[:1], "{kind}")
"""
    assert codes_in(text, tmp_path) == expected


MIXED = """
import types

import tensorflow as tf


class Base:
    def __init__(self, options):
        self.options = options
        self.strategy = tf.distribute.MirroredStrategy()
        with self.strategy.scope():
            self.build()


class Metered:
    def __init__(self, *given):
        {before}
        super().__init__(*given)
        {after}


class Named:
    def build(self):
        self.name = "trainer"
        super().build()


class Modelled(Base):
    def build(self):
        self.model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        self.model.compile("sgd", "mse")


class Trainer(Metered, Named, Modelled):
    def train(self, data):
        self.model.fit(data.batch(self.options.share * self.strategy.num_replicas_in_sync))


data = tf.data.Dataset.from_tensor_slices((tf.zeros((64, 4)), tf.zeros((64, 1))))
Trainer(types.SimpleNamespace(share={share})).train(data)
"""


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("pass", "pass", set()),
        ("pass", "with self.strategy.scope():\n            self.build()", set()),
        ("pass", "self.build()\n        with self.strategy.scope():\n            self.model.compile()", {"GPU201"}),
    ],
    ids=["nothing", "a model in the scope", "a model outside the scope"],
)
def test_a_mixin_builds(before: str, after: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(MIXED.format(before=before, after=after, share=8), tmp_path) == expected


@pytest.mark.parametrize(("mode", "expected"), [("kind == 'small'", {"GPU503"}), ("i == 7", set())])
def test_predictions_of_samples_where(mode: str, expected: set[str], tmp_path: Path) -> None:
    text = f"""
import numpy as np
import tensorflow as tf


def show(kind, samples):
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    for i, sample in enumerate(samples):
        if {mode}:
            print(model.predict(np.expand_dims(sample, 0)))
"""
    assert codes_in(text, tmp_path) == expected


@pytest.mark.parametrize(("use", "expected"), [("fit", {"GPU404"}), ("show", set())])
def test_a_generator_that_something_unknown_is_given(use: str, expected: set[str], tmp_path: Path) -> None:
    text = f"""
import tensorflow as tf
from PIL import Image
import numpy as np

import tasks


def images():
    for name in tasks.names():
        yield np.asarray(Image.open(name).resize((64, 64)), np.float32)


data = tf.data.Dataset.from_generator(images, output_signature=tf.TensorSpec((64, 64, 3), tf.float32))
tasks.find("wgan").{use}(data.batch(32).prefetch(2), 10)
"""
    assert codes_in(text, tmp_path) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [("options.out", {"GPU703"}), ("os.path.join(options.out, str(options.rank))", set())],
    ids=["of an option", "of the worker"],
)
def test_a_path_to_which_weights_are_saved(path: str, expected: set[str], tmp_path: Path) -> None:
    text = f"""
import json, os

import tensorflow as tf

print(json.loads(os.environ["TF_CONFIG"]))


def run(options):
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile("sgd", "mse")
    model.save_weights({path})
"""
    assert codes_in(text, tmp_path) == expected


HEADS = """
import tensorflow as tf

tf.keras.mixed_precision.set_global_policy("mixed_float16")
inputs = tf.keras.Input((8,))
hidden = tf.keras.layers.Dense(8)(inputs)
kinds = tf.keras.layers.Dense(3, activation="softmax"{kinds})(hidden)
boxes = tf.keras.layers.Dense(4{boxes})(hidden)
model = tf.keras.Model(inputs, [kinds, boxes])
optimizer = tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.Adam())
of_kinds = tf.keras.losses.SparseCategoricalCrossentropy()
data = tf.data.Dataset.from_tensor_slices((tf.zeros((64, 8)), tf.zeros((64,), tf.int32))).batch(8)


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        kind, box = model(x, training=True)
        loss = optimizer.scale_loss(of_kinds(y, kind) + tf.reduce_mean(tf.cast(box, tf.float32) ** 2))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))


for x, y in data:
    step(x, y)
"""


@pytest.mark.parametrize(
    ("kinds", "boxes", "expected"),
    [("", ', dtype="float32"', {"GPU602"}), (', dtype="float32"', "", set())],
    ids=["the head in the loss", "the other head"],
)
def test_a_head_in_half_precision(kinds: str, boxes: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(HEADS.format(kinds=kinds, boxes=boxes), tmp_path) == expected
