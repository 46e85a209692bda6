"""Programs in which what matters turns on one thing: a name, a guard, a setting that is in force, an unknown value.
Each case stands beside one that looks like it."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

import gpulint
from tests.checking import codes_in, codes_of, findings_in, findings_of
from tests.fixing.fixing import fixed_text

STEP = """
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam()
data = tf.data.Dataset.from_tensor_slices(tf.zeros((6400, 4))).batch(64)


def eager_step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss
"""

COMPILED = "step = tf.function(eager_step)\n"

STEPS = [
    (
        "shapes that are compared with each other",
        """
        def check(one, other):
            if len(one) != len(other):
                raise ValueError("not of one length")

        def train(x, y, z):
            check(x, y)
            check(x, z)
            for batch in data:
                eager_step(batch)

        train(read("x"), read("y"), read("z"))
        """,
        {"GPU508"},
    ),
    (
        "a function that ends with an error for two of its three callers",
        """
        def use(kind):
            if kind != "gpu":
                raise ValueError(kind)
            with tf.device("/gpu:0"):
                return tf.zeros(3)

        if read(1):
            use("first")
        if read(2):
            use("last")
        use("gpu")
        """,
        {"GPU101"},
    ),
    (
        "an object that has items",
        """
        class Options:
            def __init__(self):
                self.values = {"limits": None}

            def __getitem__(self, key):
                return self.values[key]

            def __setitem__(self, key, value):
                self.values[key] = value

        options = Options()
        options["limits"] = read()
        print(options["limits"].shape)
        for batch in data:
            eager_step(batch)
        """,
        {"GPU508"},
    ),
    (
        "losses in a dict of which no key is known",
        """
        @tf.function
        def parts(x):
            with tf.GradientTape() as tape:
                losses = read(model(x))
                loss = tf.add_n(list(losses.values()))
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
            return {name: tf.reduce_mean(value) for name, value in losses.items()}

        for x in data:
            losses = parts(x)
            print(float(losses["total"]))
            for name, value in losses.items():
                print("{}: {:.2f}".format(name, value))
        """,
        {"GPU501"},
    ),
    (
        "numbers in a dict of which no key is known",
        """
        for x in data:
            step(x)
            counts = {name: 1 for name in read()}
            print(float(counts["total"]), ["{:.2f}".format(count) for count in counts.values()])
        """,
        set(),
    ),
    *(
        (
            f"a list or a number told apart by {test}",
            f"""
            def listed(value):
                if {test}:
                    value = [value]
                return value

            for x in data:
                loss = step(x)
                print(listed(loss)[0].numpy())
            """,
            {"GPU501"},
        )
        for test in ("type(value) != list", "not isinstance(value, list)", "type(value) is not list")
    ),
    (
        "lists of one kind on both ways",
        """
        def results(x):
            first, second = step(x), step(x + 1)
            return [first, second] if read() else [second, first]

        for x in data:
            print([one.numpy() for one in results(x)])
        """,
        {"GPU501"},
    ),
    (
        "a loop over the gradients of a step",
        """
        @tf.function
        def gradients_of(x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(model(x) ** 2)
            return loss, tape.gradient(loss, model.trainable_variables)

        for x in data:
            loss, gradients = gradients_of(x)
            for gradient, variable in zip(gradients, model.trainable_variables):
                optimizer.apply_gradients([(gradient, variable)])
            print(loss.numpy())
        """,
        {"GPU501"},
    ),
    (
        "a helper that is first given numbers, then a tensor",
        """
        def first(values):
            return values[0]

        print(first([1]), first([2]), first([3]))
        for x in data:
            loss = step(x)
            print(first([loss]).numpy())
        """,
        {"GPU501"},
    ),
    (
        "an image that is optimised",
        """
        image = tf.random.uniform((1, 4))
        for number in range(100):
            with tf.GradientTape() as tape:
                tape.watch(image)
                score = tf.reduce_mean(model(image))
            image += 10.0 * tape.gradient(score, image)
        """,
        {"GPU508"},
    ),
    (
        "what each image says of its pixels",
        """
        for x in data:
            with tf.GradientTape() as tape:
                tape.watch(x)
                score = tf.reduce_mean(model(x))
            save(tape.gradient(score, x))
        """,
        set(),
    ),
    *(
        (
            f"a function made {case} for a compiled one",
            f"""
            def measure_of(width):
                def measure(x):
                    return x / width
                return measure

            @tf.function
            def measured(x, measure):
                return measure(x)

            {before}
            for number in range(100):
                {inside}
                for x in data:
                    measured(x, measure)
            """,
            expected,
        )
        for case, before, inside, expected in [
            ("anew", "", "measure = measure_of(3)", {"GPU504"}),
            ("once", "measure = measure_of(3)", "", set()),
        ]
    ),
    *(
        (
            f"a model by {case}",
            f"""
            import json
            import sys

            import numpy as np

            def small():
                return tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])

            def large():
                return tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(9)])

            builders = {{"small": small, "large": large}}
            net = builders[{key}]()
            for sample in np.zeros((1000, 4)):
                print(net.predict(np.expand_dims(sample, 0)))
            """,
            {"GPU503"},
        )
        for case, key in [("an argument", "sys.argv[1]"), ("a settings file", 'json.load(open("f"))["net"]["kind"]')]
    ),
    *(
        (
            f"a prediction of {made}",
            f"""
            import numpy as np

            for number in range(1000):
                print(model.predict({made}))
            """,
            expected,
        )
        for made, expected in [
            ("np.random.normal(0, 1, (1, 4))", {"GPU503"}),
            ("np.random.randn(1, 4)", {"GPU503"}),
            ("np.zeros((1, 4)) + number", {"GPU503"}),
            ("np.random.randn(64, 4)", set()),
            ("np.zeros((number, 1))", set()),
        ]
    ),
    (
        "a read once for all steps of a loop inside",
        """
        for image in tf.data.Dataset.from_tensor_slices(tf.zeros((100, 64, 4))):
            for x in tf.data.Dataset.from_tensor_slices(image).batch(16):
                loss = step(x)
            print(loss.numpy())
        """,
        set(),
    ),
    (
        "a read in each step of a loop around another",
        """
        for x in data:
            loss = step(x)
            for one in range(20):
                step(x + one)
            print(loss.numpy())
        """,
        {"GPU501"},
    ),
    (
        "a model anew where another is asked for",
        """
        current = open("present").read()
        for name in open("names"):
            if name != current:
                current = name
                small = tf.keras.models.load_model(name)
            print(small.predict(read()))
        """,
        set(),
    ),
    (
        "models that show the layers of another",
        """
        for layer in model.layers:
            shown = tf.keras.Model(inputs=model.inputs, outputs=layer.output)
            print(shown.predict(read()))
        """,
        set(),
    ),
    (
        "models of parts of others",
        """
        for name in open("names"):
            whole = tf.keras.models.load_model(name)
            part = tf.keras.Model(inputs=whole.inputs, outputs=whole.layers[3].output)
            print(part.predict(read()))
        """,
        {"GPU305"},
    ),
    (
        "a profiler that is among the built-ins",
        "@profile\ndef train():\n    for batch in data:\n        eager_step(batch)\n\ntrain()",
        {"GPU508"},
    ),
    (
        "a decorator that is not known",
        "from somewhere import profile\n\n@profile\ndef train():\n    for batch in data:\n"
        "        eager_step(batch)\n\ntrain()",
        set(),
    ),
    (
        "a read in the condition of an inner loop",
        "for epoch in range(99):\n    seen = 0\n    while optimizer.iterations.numpy() < 1000:\n"
        "        step(next(iter(data)))\n        seen += 1",
        {"GPU501"},
    ),
    (
        "numbers of which there may be none",
        """
        class Evaluator:
            count = 0

            def update(self, loss):
                self.count += 1
                self.loss = loss

            def get(self):
                if self.count == 0:
                    return 0
                return self.loss, self.loss / self.count

        evaluator = Evaluator()
        for batch in data:
            loss = step(batch)
            evaluator.update(loss)
            print("{:.3f} {:.3f}".format(*evaluator.get()))
        """,
        {"GPU501"},
    ),
    *(
        (
            f"a counter on the device, {case}",
            f"""
            count = tf.Variable(0, dtype=tf.int64)

            @tf.function
            def counted(x):
                if {when}:
                    count.assign_add(2)

            while count.numpy() < 1000:
                step(tf.zeros((8, 4)))
                {change}
            """,
            expected,
        )
        for case, when, change, expected in [
            ("by eager code", "False", "count.assign_add(1)", {"GPU501"}),
            ("by compiled code", "True", "counted(tf.zeros(3))", {"GPU501"}),
            ("by compiled code at times", "tf.reduce_any(x > 0)", "counted(tf.zeros(3))", set()),
            (
                "by what is computed",
                "False",
                "count.assign(tf.cast(tf.reduce_sum(model(tf.zeros((8, 4)))), tf.int64))",
                set(),
            ),
        ]
    ),
    (
        "what is a tensor",
        """
        def placed(x):
            if tf.is_tensor(x):
                return x
            with tf.device("/gpu:0"):
                return tf.constant(x)

        placed(tf.zeros(3))
        """,
        set(),
    ),
    (
        "what is none",
        """
        def placed(x):
            if tf.is_tensor(x):
                return x
            with tf.device("/gpu:0"):
                return tf.constant(x)

        placed([1.0, 2.0])
        """,
        {"GPU101"},
    ),
    (
        "a function that is made anew in each epoch, in a mode",
        """
        class Trainer:
            def __init__(self, options):
                self.options = options

            def epoch(self):
                run = eager_step
                if self.options.compiles:
                    run = tf.function(run)
                for batch in data:
                    run(batch)

        trainer = Trainer(read())
        for epoch in range(100):
            trainer.epoch()
        """,
        {"GPU505"},
    ),
    (
        "a function that is made where there is none yet",
        """
        class Trainer:
            run = None

            def epoch(self):
                if self.run is None:
                    self.run = tf.function(eager_step)
                for batch in data:
                    self.run(batch)

        trainer = Trainer()
        for epoch in range(100):
            trainer.epoch()
        """,
        set(),
    ),
]


@pytest.mark.parametrize(("case", "code", "expected"), STEPS, ids=[case for case, _, _ in STEPS])
def test_steps(case: str, code: str, expected: set[str], tmp_path: Path) -> None:
    before = STEP + (COMPILED if " step(" in code else "")
    assert codes_in(before + textwrap.dedent(code) + "\n", tmp_path) == expected


GIVEN = """
import tensorflow as tf


def fit(model, optimizer, data):
    {function}
    def train_step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
        grads = tape.gradient(loss, model.trainable_variables)
        {apply}
        return loss

    for x, y in data:
        loss = train_step(x, y)
        {after}
"""

APPLY = "optimizer.apply_gradients(zip(grads, model.trainable_variables))"


@pytest.mark.parametrize(
    ("function", "apply", "after", "expected"),
    [
        ("", APPLY, "pass", {"GPU508"}),
        ("@tf.function", APPLY, "print(float(loss))", {"GPU501"}),
        ("@tf.function", APPLY, "pass", set()),
        ("@tf.function", "optimizer.note(grads)", "print(float(loss))", set()),
        ("@tf.function", "optimizer.apply_gradients(model.pairs)", "print(float(loss))", set()),
    ],
    ids=["eager", "read", "compiled", "no update", "gradients of others"],
)
def test_an_optimizer_that_is_given(function: str, apply: str, after: str, expected: set[str], tmp_path: Path) -> None:
    """It may scale losses, too: GPU601 says nothing of it."""
    program = GIVEN.format(function=function, apply=apply, after=after)
    in_float16 = "\n\ntf.keras.mixed_precision.set_global_policy('mixed_float16')\n"
    assert codes_in(program, tmp_path) == codes_in(program + in_float16, tmp_path) == expected


STRATEGIES = [
    (
        "one strategy of several",
        """
        import sys

        def get(device=None):
            if isinstance(device, str):
                if "CPU" in device.upper():
                    return tf.distribute.get_strategy(), "CPU"
                elif "tpu" in device.lower():
                    return tf.distribute.TPUStrategy(read()), "TPU"
            if tf.config.list_physical_devices("GPU"):
                return tf.distribute.MirroredStrategy(devices=device), "GPU"
            return tf.distribute.get_strategy(), "CPU"

        class Trainer:
            def __init__(self, device):
                self.strategy, self.kind = get(device)
                if len(read()) > 3 and self.kind:
                    self.more = read()
                with self.strategy.scope():
                    self.model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
                    self.optimizer = tf.keras.optimizers.Adam()
                    self.seen = tf.keras.metrics.Mean()

            @tf.function
            def train_step(self, x):
                def replica_step(x):
                    with tf.GradientTape() as tape:
                        loss = tf.nn.compute_average_loss(self.model(x)[:, 0] ** 2, global_batch_size=64)
                    gradients = tape.gradient(loss, self.model.trainable_variables)
                    self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
                    self.seen.update_state(loss)

                self.strategy.run(replica_step, args=(x,))

        trainer = Trainer(sys.argv[1] if len(sys.argv) > 1 else None)
        data = tf.data.Dataset.from_tensor_slices(tf.zeros((640, 4))).batch(64)
        for x in trainer.strategy.experimental_distribute_dataset(data):
            trainer.train_step(x)
        """,
        set(),
    ),
    (
        "two strategies",
        """
        first, second = tf.distribute.MirroredStrategy(), tf.distribute.MirroredStrategy()
        with first.scope():
            model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
        with second.scope():
            model.compile("sgd", "mse")
        """,
        {"GPU210"},
    ),
    *(
        (
            f"penalties from {where}",
            f"""
            strategy = tf.distribute.MirroredStrategy()
            with strategy.scope():
                model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
                optimizer = tf.keras.optimizers.SGD()

            def step(x):
                with tf.GradientTape() as tape:
                    loss = read(model(x)) + tf.reduce_sum([tf.reduce_sum(one) for one in {where}])
                optimizer.apply_gradients(
                    zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
                )

            @tf.function
            def train(x):
                strategy.run(step, args=(x,))

            for x in strategy.experimental_distribute_dataset(read()):
                train(x)
            """,
            expected,
        )
        for where, expected in [("model.losses", set()), ("[model(x)]", {"GPU208"})]
    ),
    (
        "a weight of a loss from the command line",
        """
        from absl import flags

        strategy = tf.distribute.MirroredStrategy()
        with strategy.scope():
            model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
            optimizer = tf.keras.optimizers.SGD()

        def step(x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(model(x)) * flags.FLAGS.voltage_cost
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))

        @tf.function
        def train(x):
            strategy.run(step, args=(x,))

        for x in strategy.experimental_distribute_dataset(read()):
            train(x)
        """,
        {"GPU208"},
    ),
    (
        "a strategy in a tuple with names",
        """
        import collections

        class Settings(collections.namedtuple("Settings", ["strategy", "epochs"])):
            def __new__(cls, strategy=None, epochs=3):
                return super().__new__(cls, strategy, epochs)

        def train(settings):
            with settings.strategy.scope():
                model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
            model.compile("sgd", "mse")
            model.fit(tf.zeros((640, 4)), tf.zeros((640, 1)), epochs=settings.epochs)

        train(Settings(strategy=tf.distribute.MirroredStrategy()))
        """,
        {"GPU202"},
    ),
    (
        "one of more builders than are gone through",
        """
        def small():
            return tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])

        builders = {"a": small, "b": small, "c": small, "d": small, "e": small, "f": small, "g": small, "h": small,
                    "i": tf.keras.applications.VGG16, "j": tf.keras.applications.VGG19}
        model = builders[open("kind").read()]()
        with tf.distribute.MirroredStrategy().scope():
            model.compile("sgd", "mse")
        model.fit(tf.zeros((640, 4)), tf.zeros((640, 1)))
        """,
        {"GPU201"},
    ),
    *(
        (
            f"a batch of data named {name}",
            f"""
            strategy = tf.distribute.MirroredStrategy()
            {name} = tf.data.Dataset.from_tensor_slices(tf.zeros((640, 4))).batch(64)
            for x in strategy.experimental_distribute_dataset({name}):
                print(strategy.experimental_local_results(x))
            """,
            expected,
        )
        for name, expected in [("train_data", {"GPU209"}), ("test_data", set()), ("train_val_data", {"GPU209"})]
    ),
]


@pytest.mark.parametrize(("case", "code", "expected"), STRATEGIES, ids=[case for case, _, _ in STRATEGIES])
def test_strategies(case: str, code: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in("import tensorflow as tf\n" + textwrap.dedent(code) + "\n", tmp_path) == expected


SET = """
import os

import tensorflow as tf


def configure(visible, grows):
    os.environ["CUDA_VISIBLE_DEVICES"] = visible
    for gpu in tf.config.list_physical_devices("GPU"):
        tf.config.experimental.set_memory_growth(gpu, grows)


for fold in range(5):
    configure({visible}, {grows})
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    tf.keras.backend.clear_session()
"""


@pytest.mark.parametrize(
    ("visible", "grows", "expected"),
    [
        ('"0"', "True", set()),
        ("os.environ['MINE']", "True", set()),
        ("str(fold)", "True", {"GPU302"}),
        ('"0"', "fold > 2", {"GPU301"}),
    ],
    ids=["the same", "the same, unknown", "another GPU", "another setting"],
)
def test_settings_that_are_in_force(visible: str, grows: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(SET.format(visible=visible, grows=grows), tmp_path) == expected


@pytest.mark.parametrize(("pin", "expected"), [("", {"GPU301"}), ("tensorflow==2.5.0", set())])
def test_optimizers_make_no_variables_in_old_releases(pin: str, expected: set[str], tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text(pin)
    code = """
    import tensorflow as tf

    optimizer = tf.keras.optimizers.Adam()
    for gpu in tf.config.list_physical_devices("GPU"):
        tf.config.experimental.set_memory_growth(gpu, True)
    """
    assert codes_in(textwrap.dedent(code), tmp_path) == expected


@pytest.mark.parametrize(("pin", "expected"), [("", {"GPU703"}), ("tensorflow==2.9.1", set())])
def test_keras_2_lets_the_chief_alone_write(pin: str, expected: set[str], tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text(pin)
    code = """
    import os

    import tensorflow as tf

    os.environ["TF_CONFIG"] = open("cluster.json").read()
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
        model.compile("sgd", "mse")
    data = tf.data.Dataset.from_tensor_slices((tf.zeros((640, 4)), tf.zeros((640, 1))))
    data = data.batch(64 * strategy.num_replicas_in_sync)
    model.fit(data, callbacks=[tf.keras.callbacks.ModelCheckpoint("model.keras")])
    """
    assert codes_in(textwrap.dedent(code), tmp_path) & {"GPU703"} == expected


VERSIONS = """
import tensorflow as tf
from packaging import version

NOW = version.parse(tf.__version__)
IS_TWO = {check}


def seed(number):
    if IS_TWO:
        tf.random.set_seed(number)
    else:
        tf.random.set_random_seed(number)


seed(1)
"""


@pytest.mark.parametrize("check", ['version.parse("2.0.0") <= NOW', 'NOW >= version.parse("2.0.0")'])
def test_a_check_of_the_version_in_either_order(check: str, tmp_path: Path) -> None:
    assert codes_in(VERSIONS.format(check=check), tmp_path) == set()


TIMED = """
import timeit

import tensorflow as tf


def on_cpu():
    with tf.device("/cpu:0"):
        return tf.matmul(tf.random.normal((999, 999)), tf.random.normal((999, 999)))


def on_gpu():
    with tf.device("/gpu:0"):
        return tf.{what}(tf.random.normal((999, 999)), tf.random.normal((999, 999)))


print(timeit.timeit(on_cpu, number=9), timeit.timeit(on_gpu, number=9))
on_cpu()
on_gpu()
"""


@pytest.mark.parametrize(("what", "expected"), [("matmul", set()), ("subtract", {"GPU101"})])
def test_a_gpu_is_compared_with_the_cpu(what: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(TIMED.format(what=what), tmp_path) == expected


IN_PYTHON = """
import tensorflow as tf


def read(name, label):
    return tf.io.decode_png(tf.io.read_file(name)), label, name


names = tf.data.Dataset.list_files("*.png").map(lambda name: (name, 1), num_parallel_calls=tf.data.AUTOTUNE)
data = names.map(lambda name, label: tf.py_function(read, [name, label], [{types}, tf.int64, tf.string])).batch(8)
model = tf.keras.models.load_model("model.keras")
model.fit(data)
"""


@pytest.mark.parametrize(("types", "expected"), [("tf.float32", {"GPU402", "GPU404"}), ("tf.int32", set())])
def test_what_python_gives_with_a_name(types: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(IN_PYTHON.format(types=types), tmp_path) == expected


EAGER = """
import tensorflow as tf

tf.config.run_functions_eagerly(True)
model = tf.keras.models.load_model("model.keras")
"""


@pytest.mark.parametrize(
    ("work", "expected"),
    [
        ("model.evaluate(tf.zeros((640, 4)), tf.zeros((640, 1)))", {"GPU506"}),
        ("for x in read():\n    print(model.predict(x))", {"GPU506"}),
        ("print(model.predict(read()))", set()),
        ("for x in read():\n    print(tf.reduce_sum(x))", {"GPU506"}),
        ("print(tf.reduce_sum(read()))", set()),
        ("model.save('again.keras')", set()),
        ("tf.config.run_functions_eagerly(False)\nmodel.evaluate(tf.zeros((640, 4)), tf.zeros((640, 1)))", set()),
    ],
    ids=["evaluated", "many predictions", "one prediction", "many sums", "one sum", "saved", "taken back"],
)
def test_an_eager_mode_of_programs_that_do_not_train(work: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(EAGER + work + "\n", tmp_path) == expected


REPLAY = """
import random
from collections import deque

import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(2)])
memory = deque(maxlen=2000)
memory.append(read())
for state, action, reward in {drawn}:
    print(model.predict(state), action, reward)
"""


@pytest.mark.parametrize(
    ("drawn", "expected"),
    [
        ("random.sample(memory, 32)", {"GPU503"}),
        ("zip(*random.sample(memory, 3))", set()),
        ("read()", set()),
    ],
)
def test_records_that_are_drawn_from_a_memory(drawn: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(REPLAY.format(drawn=drawn), tmp_path) == expected


OPTION = """
import numpy as np
import tensorflow as tf

model = tf.keras.models.load_model("model.keras")


def predicted(x, batches=None, many=False):
    if {test}:
        return model.predict({first})
    else:
        return model.predict({second})


for x in read():
    print(predicted(np.expand_dims(x, 0){given}))
"""


@pytest.mark.parametrize(
    ("test", "one_is_second", "given", "expected"),
    [
        ("many", True, "", {"GPU503"}),
        ("batches is not None", True, "", {"GPU503"}),
        ("batches is None", False, "", {"GPU503"}),
        ("not many", False, "", set()),
        ("many", False, ", many=True", set()),
        ("batches is not None", False, ", batches=3", set()),
    ],
)
def test_options_that_nobody_uses(
    test: str, one_is_second: bool, given: str, expected: set[str], tmp_path: Path
) -> None:
    first, second = ("read()", "x") if one_is_second else ("x", "read()")
    program = OPTION.format(test=test, first=first, second=second, given=given)
    assert codes_in(program, tmp_path) == expected


PICKED = """
import tensorflow as tf

import nets

for name in open("names"):
    model = nets.{pick}(name)
    model.fit(tf.zeros((64, 4)), tf.zeros((64, 1)))
"""


def test_what_a_module_has_under_a_name(tmp_path: Path) -> None:
    (tmp_path / "nets.py").write_text(NETS)
    assert codes_in(PICKED.format(pick="__dict__[open('kind').read()]"), tmp_path) == {"GPU305"}
    assert codes_in(PICKED.format(pick="__doc__[open('kind').read()]"), tmp_path) == set()


NETS = """
import tensorflow as tf


def small(name):
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)], name=name)
    model.compile("sgd", "mse")
    return model


def large(name):
    return small(name)
"""

LOOKED_FOR = """
import os

import tensorflow as tf

wanted = int(open("wanted").read())
for name in os.listdir("models"):
    if {condition}:
        model = tf.keras.models.load_model(name)
        model.fit(tf.zeros((64, 4)), tf.zeros((64, 1)))
"""


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("int(name.split('_')[1]) == wanted", set()),
        ("name == 'best.keras'", set()),
        ("name.endswith('.keras')", {"GPU305"}),
        ("wanted == 3", {"GPU305"}),
    ],
)
def test_a_model_that_a_loop_looks_for(condition: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(LOOKED_FOR.format(condition=condition), tmp_path) == expected


@pytest.mark.parametrize(("options", "expected"), [("", {"GPU503"}), (", batch_size=16", set())])
def test_an_element_that_is_predicted_in_batches(options: str, expected: set[str], tmp_path: Path) -> None:
    code = f"""
    import tensorflow as tf

    model = tf.keras.models.load_model("model.keras")
    for volume in tf.data.Dataset.list_files("*.volume").map(read):
        print(model.predict(volume{options}))
    """
    assert codes_in(textwrap.dedent(code), tmp_path) == expected


def test_a_script_that_names_no_tensorflow_runs_what_trains(tmp_path: Path) -> None:
    """The optimizer and the data are known there alone."""
    (tmp_path / "agent.py").write_text(LEARN)
    (tmp_path / "run.py").write_text("import agent\n\nagent.learn(agent.made(), 1000)\n")
    found = findings_of(gpulint.check_paths([tmp_path / "run.py", tmp_path / "agent.py"]))
    assert {finding.code for finding in found} == {"GPU508"}


LEARN = """
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])


def made():
    return {"optimizer": tf.keras.optimizers.Adam()}


def learn(settings, rounds):
    for _ in range(rounds):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(tf.zeros((8, 4))) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        settings["optimizer"].apply(gradients, model.trainable_variables)
"""


ELSEWHERE = """
import numpy as np
import tensorflow as tf
from segments import unet

model = unet(3)
model.compile({compiled})
model.fit(np.zeros((64, 4)), np.zeros((64, 1)))
for row in np.load("rows.npy"):
    print(model.predict(np.expand_dims(row, 0)))
"""


@pytest.mark.parametrize(
    ("compiled", "expected"),
    [
        ('optimizer=tf.keras.optimizers.Adam(), loss="mse"', {"GPU503"}),
        ('optimizer="adam", loss="mse", run_eagerly=True', {"GPU503", "GPU506"}),
        ('"gcc"', set()),
    ],
)
def test_a_model_of_a_library_that_is_not_known(compiled: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(ELSEWHERE.format(compiled=compiled), tmp_path) == expected


@pytest.mark.parametrize(("module", "expected"), [("helpers.everything", {"GPU101"}), ("tkinter", set())])
def test_all_that_a_library_brings(module: str, expected: set[str], tmp_path: Path) -> None:
    program = f"from {module} import *  # tensorflow\n\nwith tf.device('/gpu:0'):\n    x = tf.zeros(3)\n"
    assert codes_in(program, tmp_path) == expected


SAVED = """
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy(tf.distribute.cluster_resolver.SlurmClusterResolver())
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
model.fit(read(), steps_per_epoch=9)
if {condition}:
    model.save("export")
"""


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ('tf.__version__ == "2.0.0"', {"GPU703"}),
        ('int(tf.__version__.split(".")[1]) > 3', {"GPU703"}),
        ('tf.__version__ > "2.3" and strategy.cluster_resolver.task_id == 0', set()),
    ],
)
def test_a_release_is_the_same_on_each_worker(condition: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(SAVED.format(condition=condition), tmp_path) & {"GPU703"} == expected


COMPILED_SO = """
import tensorflow as tf

model = tf.keras.models.load_model("model.keras")
{compiled}
model.fit(tf.zeros((640, 4)), tf.zeros((640, 1)))
"""


@pytest.mark.parametrize(
    ("compiled", "expected"),
    [
        ("if read():\n    model.compile('sgd', 'mse', run_eagerly=True)", {"GPU506"}),
        (
            "if read() == 'dice':\n    model.compile('sgd', 'mae', run_eagerly=True)\nelse:\n"
            "    model.compile('sgd', 'mse', run_eagerly=True)",
            {"GPU506"},
        ),
        (
            "if read():\n    model.compile('sgd', 'mse', run_eagerly=True)\nelse:\n    model.compile('sgd', 'mse')",
            set(),
        ),
        ("if read().debug:\n    model.compile('sgd', 'mse', run_eagerly=True)", set()),
        ("model.compile('sgd', 'mse')\nif read():\n    model.run_eagerly = True", set()),
    ],
    ids=["under a condition", "on both ways", "on one of two", "to find errors", "later, under a condition"],
)
def test_where_a_model_is_compiled_to_run_eagerly(compiled: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(COMPILED_SO.format(compiled=compiled), tmp_path) == expected


def test_data_of_tensorflow_datasets_is_loaded_before_devices_are_set(tmp_path: Path) -> None:
    imports = "import tensorflow as tf\nimport tensorflow_datasets as tfds\n"
    load = "data = tfds.load('mnist')\n"
    grow = (
        "for gpu in tf.config.list_physical_devices('GPU'):\n    tf.config.experimental.set_memory_growth(gpu, True)\n"
    )
    assert codes_in(imports + load + grow, tmp_path) == {"GPU301"}
    assert codes_in(imports + grow + load, tmp_path) == set()


ITERATED = """
import tensorflow as tf


def read(name):
    return [float(part) for part in open(name)]


def loaded(name):
    return tf.py_function(read, [name], tf.float32)


model = tf.keras.models.load_model("model.keras")
iterator = tf.data.Dataset.from_tensor_slices(open("names").readlines()).map(loaded).batch(32).{iterator}
while True:
    model.train_on_batch({batch})
"""


@pytest.mark.parametrize(
    ("iterator", "batch"),
    [("__iter__()", "iterator.next()"), ("__iter__()", "next(iterator)"), ("repeat()", "next(iter(iterator))")],
)
def test_the_ways_to_iterate(iterator: str, batch: str, tmp_path: Path) -> None:
    assert codes_in(ITERATED.format(iterator=iterator, batch=batch), tmp_path) >= {"GPU404"}


MANY_OF_ONE = """
import tensorflow as tf


def samples():
    while True:
        yield read()


data = tf.data.Dataset.from_tensor_slices([0, 1]).{step}
data = data.map(lambda x: tf.numpy_function(read, [x], tf.float32)).batch(32)
model = tf.keras.models.load_model("model.keras")
for x in data:
    model.train_on_batch(x)
"""


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ("interleave(lambda x: read(x))", {"GPU402", "GPU404"}),
        ("map(read).unbatch()", {"GPU402", "GPU404"}),
        ("batch(2).unbatch()", set()),
        ("repeat()", set()),
    ],
)
def test_a_few_elements_of_which_many_are_made(step: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(MANY_OF_ONE.format(step=step), tmp_path) == expected


SESSION = """
import tensorflow as tf
from tensorflow.compat.v1 import ConfigProto, InteractiveSession

config = ConfigProto()
config.gpu_options.allow_growth = True
session = InteractiveSession(config=config)

with tf.device("/gpu:0"):
    x = tf.zeros(3)
"""


def test_a_session_that_only_configures_the_gpu(tmp_path: Path) -> None:
    assert codes_in(SESSION, tmp_path) == {"GPU101"}


EPOCHS = """
import tensorflow as tf

model = tf.keras.models.load_model("model.keras")


def loaded(name):
    return tf.py_function(read, [name], tf.float32)


def data(names):
    return iter(tf.data.Dataset.from_tensor_slices(names).map(loaded).batch(32).repeat())


def evaluate(batches):
    for number in range(100):
        print(tf.reduce_mean(model(next(batches))))


training, test = {training}, {test}
for epoch in range(100):
    for number in range(1000):
        model.train_on_batch(next(training))
    evaluate(test)
"""


@pytest.mark.parametrize(
    ("training", "test", "expected"),
    [
        ("data(open('train').readlines())", "read()", {"GPU402", "GPU404"}),
        ("read()", "data(open('test').readlines())", set()),
    ],
)
def test_a_loop_that_evaluates_in_each_epoch(training: str, test: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(EPOCHS.format(training=training, test=test), tmp_path) == expected


OF_BATCHES = """
import numpy as np
import tensorflow as tf


def clipped(x):
    return np.clip(x, 0.0, 1.0).astype("float32")


def each_clipped(x):
    return np.stack([np.clip(one, 0.0, 1.0) for one in x])


data = tf.data.Dataset.from_tensor_slices(np.load("x.npy")){before}
data = data.map(lambda x: tf.numpy_function({function}, [x], tf.float32)){after}
model = tf.keras.models.load_model("model.keras")
for x in data:
    model.train_on_batch(x)
"""


@pytest.mark.parametrize(
    ("before", "function", "after", "expected"),
    [
        (".batch(32)", "clipped", "", set()),
        (".batch(32)", "each_clipped", "", {"GPU402", "GPU404"}),
        ("", "clipped", ".batch(32)", {"GPU402", "GPU404"}),
        (".batch(32).unbatch()", "clipped", ".batch(32)", {"GPU402", "GPU404"}),
    ],
)
def test_python_that_takes_whole_batches(
    before: str, function: str, after: str, expected: set[str], tmp_path: Path
) -> None:
    program = OF_BATCHES.format(before=before, function=function, after=after)
    assert codes_in(program, tmp_path) == expected


OVERRIDE = """
import tensorflow as tf


class Gan(tf.keras.Model):
    def {name}(self, data):
        for number in range(self.times):
            self.learn(data)

    def learn(self, data):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(self.generator(data))
        variables = self.generator.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
"""


@pytest.mark.parametrize(("name", "expected"), [("train_step", set()), ("train", {"GPU508"})])
def test_what_keras_calls_of_a_model(name: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(OVERRIDE.format(name=name), tmp_path) == expected


PINNED = """
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    for number in range(1000):
        if {condition}:
            with tf.device("/gpu:0"):
                print(tf.reduce_sum(tf.zeros(3)))
"""


@pytest.mark.parametrize(("condition", "expected"), [("number % 100 == 0", set()), ("read(number)", {"GPU104"})])
def test_a_device_for_what_is_shown_now_and_then(condition: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(PINNED.format(condition=condition), tmp_path) & {"GPU104"} == expected


CHOSEN = """
import tensorflow as tf


def pick():
    gpus = tf.config.list_physical_devices("GPU")
    if len(gpus) == 0:
        return tf.distribute.OneDeviceStrategy(device="/cpu:0")
    elif len(gpus) == 1:
        return tf.distribute.OneDeviceStrategy(device="/gpu:0")
    else:
        return tf.distribute.MirroredStrategy()


strategy = pick()
data = tf.data.Dataset.from_tensor_slices(tf.zeros((640, 4)))
if read("a"):
    data = data.cache()
if read("b"):
    data = data.shuffle(100)
data = {distributed}


@tf.function
def step(batch):
    return strategy.run(lambda x: x + 1.0, args=(batch,))


for number, batch in enumerate(data, 1):
    result = step(batch)
    try:
        print(result.values[0].numpy())
    except AttributeError:
        print(result.numpy())
"""


@pytest.mark.parametrize(
    ("distributed", "expected"),
    [
        ("strategy.experimental_distribute_dataset(data.batch(64 * strategy.num_replicas_in_sync))", set()),
        ("data.batch(64 * strategy.num_replicas_in_sync)", {"GPU205"}),
    ],
)
def test_one_of_several_strategies_with_one_of_several_pipelines(
    distributed: str, expected: set[str], tmp_path: Path
) -> None:
    assert codes_in(CHOSEN.format(distributed=distributed), tmp_path) & {"GPU205", "GPU214"} == expected


NAMES = """
import numpy as np
import tensorflow as tf


def names():
    for name in open("names"):
        yield {{"id": name, "file": name}}


data = tf.data.Dataset.from_generator(names, output_types={{"id": tf.{kind}, "file": tf.{kind}}})
data = data.map(lambda x: tf.numpy_function(np.load, [x["file"]], tf.float32), tf.data.AUTOTUNE).batch(32)
model = tf.keras.models.load_model("model.keras")
for x in data:
    model.train_on_batch(x)
"""


@pytest.mark.parametrize(("kind", "expected"), [("string", set()), ("float32", {"GPU404"})])
def test_a_generator_of_names_in_a_dict(kind: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(NAMES.format(kind=kind), tmp_path) == expected


LATE = """
import os

import tensorflow as tf
{before}
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
{after}
"""


def test_gpus_are_hidden_too_late(tmp_path: Path) -> None:
    listed = "gpus = tf.config.list_physical_devices('GPU')"
    assert codes_in(LATE.format(before=listed, after=""), tmp_path) == {"GPU302"}
    assert codes_in(LATE.format(before="", after=listed), tmp_path) == set()


SCHEDULE = """
import tensorflow as tf


class Piecewise(tf.keras.callbacks.Callback):
    def on_train_begin(self, logs=None):
        self.steps = {steps}

    def on_train_batch_begin(self, batch, logs=None):
        self.steps += 1.0
        if self.steps >= 100.0:
            self.model.optimizer.learning_rate = 0.1
"""


@pytest.mark.parametrize(
    ("steps", "expected"), [("tf.cast(read(), tf.float32) + tf.zeros(())", {"GPU501"}), ("0.0", set())]
)
def test_a_callback_of_a_library_begins_before_its_batches(steps: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(SCHEDULE.format(steps=steps), tmp_path) == expected


PARTS = """
import numpy as np
import tensorflow as tf


def main():
    model = tf.keras.models.load_model("model.keras")
    x = np.load("x.npy")
    parts = []
    for i in range(0, len(x), 16):
        parts.append(x[i:{end}])
    for part in {gone_over}:
        print(model.predict({part}))
"""


@pytest.mark.parametrize(
    ("end", "gone_over", "part", "expected"),
    [
        ("i + 16", "parts", "part", {"GPU503"}),
        ("min(i + 16, len(x))", "parts", "np.expand_dims(part, 3)", {"GPU503"}),
        ("i + 16", "np.array([x[i:i + 16] for i in range(9999)])", "part.astype('float32')", {"GPU503"}),
        ("i + 4096", "parts", "part", set()),
        ("len(x)", "parts", "part", set()),
        ("i + 16", "parts[:3]", "np.array([x[i:i + 16] for i in range(9999)])", set()),
    ],
)
def test_parts_that_a_list_collects(end: str, gone_over: str, part: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(PARTS.format(end=end, gone_over=gone_over, part=part), tmp_path) == expected


ARRAYS = """
import numpy as np
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    optimizer = tf.keras.optimizers.Adam(1e-3 * strategy.num_replicas_in_sync)


def step(x, weight=1.0):
    with tf.GradientTape() as tape:
        loss = weight * tf.reduce_mean(model(x) ** 2) / strategy.num_replicas_in_sync
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))


@tf.function
def train(*given):
    strategy.run(step, args=given)


states = read("states.npy")
for _ in range(10000):
    {given}
"""


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("train(np.array(states))", {"GPU205"}),
        ("train(np.random.normal(size=(64, 4)))", {"GPU205"}),
        ("train(np.stack([state for state in states]), 0.5)", {"GPU205"}),
        ("train(states)", set()),
        ("train(np.array(0.5))", set()),
        ("train(states, np.array([0.5]))", set()),
        ("train(np.random.normal())", set()),
    ],
)
def test_arrays_that_every_replica_gets(given: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(ARRAYS.format(given=given), tmp_path) == expected


OUTPUT_GRADIENTS = """
import numpy as np


def train(environment):
    for x in data:
        with tf.GradientTape() as tape:
            actions = model(x)
        given = {given}
        gradients = tape.gradient(actions, model.trainable_variables, output_gradients=given)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))


train(read())
"""


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("-np.clip(actions.numpy(), -1.0, 1.0)", {"GPU502", "GPU508"}),
        ("-tf.clip_by_value(actions, -1.0, 1.0)", {"GPU508"}),
        ("environment.slopes(actions.numpy())", {"GPU508"}),
    ],
)
def test_gradients_that_a_tape_is_given(given: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(STEP + OUTPUT_GRADIENTS.format(given=given), tmp_path) == expected


PRESENT = """
class Trainer:
    def __init__(self, critic, clip=None):
        self.critic = critic
        self.clip = clip

    def train(self):
        for x in data:
            loss = step(x)
            {test}:
                print(float(loss))


Trainer({critic}).train()
"""


@pytest.mark.parametrize(
    ("test", "critic", "expected"),
    [
        ("if self.critic", "tf.keras.Sequential()", {"GPU501"}),
        ("if self.critic is not None", "tf.keras.Sequential()", {"GPU501"}),
        ("if self.critic", "True", set()),
        ("if self.clip is None", "tf.keras.Sequential()", set()),
    ],
)
def test_what_is_asked_of_an_object_that_is_there(test: str, critic: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(STEP + COMPILED + PRESENT.format(test=test, critic=critic), tmp_path) == expected


TUNED = """
import keras_tuner as kt
import tensorflow as tf


def examples():
    for line in open("train.csv"):
        values = [float(one) for one in line.split(",")]
        yield values[:-1], values[-1]


def build(hp):
    inner = tf.keras.layers.Dense(hp.Int("units", 8, 64))
    model = tf.keras.Sequential([tf.keras.Input((4,)), inner, tf.keras.layers.Dense(1)])
    model.compile("adam", "mse")
    return model


class Hyper(kt.HyperModel):
    def __init__(self, data):
        self.data = data

    def build(self, hp):
        return build(hp)

    def fit(self, hp, model, *args, **kwargs):
        return model.fit(*args, x=self.data.batch(hp.Int("batch", 8, 64)), **kwargs)


data = tf.data.Dataset.from_generator(examples, (tf.float32, tf.float32), ((4,), ()))
tuner = kt.RandomSearch({model}, objective="loss", max_trials=100)
tuner.{search}
"""


@pytest.mark.parametrize(
    ("model", "search", "expected"),
    [
        ("build", "search(data.batch(32), epochs=9)", {"GPU404"}),
        ("Hyper(data)", "search(epochs=9)", {"GPU404"}),
        ("build", "search_space_summary()", set()),
        ("build", "search(tf.zeros((100, 4)), tf.zeros((100, 1)))", set()),
    ],
)
def test_a_tuner_trains_what_it_builds(model: str, search: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(TUNED.format(model=model, search=search), tmp_path) == expected


NOTED = """
import numpy as np

losses = {losses}
for i, x in enumerate(data):
    loss = step(x)
    {put}
"""


@pytest.mark.parametrize(
    ("losses", "put", "expected"),
    [
        ("np.zeros((100, 3))", "losses[i, 0] = loss", {"GPU501"}),
        ("np.zeros((100, 3))", "losses[0, 0] += loss", {"GPU501"}),
        ("np.empty(100)", "losses[i : i + 1] = loss", {"GPU501"}),
        ("np.zeros(100)", "if i % 10 == 0: losses[i] = loss", set()),
        ("np.zeros(100)", "losses[i] = i", set()),
        ("read()", "losses[i] = loss", set()),
        ("[None] * 100", "losses[i] = loss", set()),
    ],
)
def test_tensors_that_are_put_into_arrays(losses: str, put: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(STEP + COMPILED + NOTED.format(losses=losses, put=put), tmp_path) == expected


FREED = """
import gc
import tensorflow as tf


def predicted(name, x):
    model = tf.keras.models.load_model(name)
    {use}
    {free}


for name in read():
    predicted(name, read())
"""


@pytest.mark.parametrize(
    ("use", "free", "expected"),
    [
        ("print(model.predict(x))", "pass", {"GPU305"}),
        ("print(model.predict(x))", "gc.collect()", set()),
        ("model.fit(x)", "gc.collect()", {"GPU305"}),
        ("model.fit(x)", "tf.keras.backend.clear_session()", set()),
    ],
)
def test_what_frees_a_model(use: str, free: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(FREED.format(use=use, free=free), tmp_path) & {"GPU305"} == expected


STATIC = """
import numpy as np
import tensorflow as tf


class Net(tf.keras.Model):
    {decorator}
    def shown(service):
        for row in read():
            print(service.predict(np.expand_dims(row, 0)))
"""


@pytest.mark.parametrize(("decorator", "expected"), [("", {"GPU503"}), ("@staticmethod", set())])
def test_a_static_method_is_given_no_object(decorator: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(STATIC.format(decorator=decorator), tmp_path) == expected


@pytest.mark.parametrize(
    ("name", "expected"), [("losses.mean_squared_error", {"GPU501", "GPU508", "GPU901"}), ("losses.get", {"GPU508"})]
)
def test_functions_that_are_gone_give_tensors(name: str, expected: set[str], tmp_path: Path) -> None:
    loop = f"""
for x in data:
    with tf.GradientTape() as tape:
        loss = tf.{name}(x, model(x))
    print(loss)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""
    assert codes_in(STEP + loop, tmp_path) == expected


ONE_BY_ONE = """
kept = []
for i, x in enumerate(data):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    {keep}
    if (i + 1) % 32 == 0:
        {apply}
        kept = []
"""


@pytest.mark.parametrize(
    ("keep", "apply", "expected"),
    [
        (
            "kept.append(tape.gradient(loss, model.trainable_variables))",
            "for one in kept: optimizer.apply_gradients(zip(one, model.trainable_variables))",
            {"GPU212"},
        ),
        (
            "kept.append(tape.gradient(loss, model.trainable_variables))",
            "optimizer.apply_gradients(zip([tf.add_n(one) for one in zip(*kept)], model.trainable_variables))",
            set(),
        ),
        (
            "kept = tape.gradient(loss, model.trainable_variables)",
            "for one in zip(kept, model.trainable_variables): optimizer.apply_gradients([one])",
            set(),
        ),
        (
            "kept = [tape.gradient(one, model.trainable_variables) for one in (loss, 2 * loss)]",
            "for one in kept: optimizer.apply_gradients(zip(one, model.trainable_variables))",
            set(),
        ),
    ],
)
def test_gradients_that_are_applied_one_by_one(keep: str, apply: str, expected: set[str], tmp_path: Path) -> None:
    found = codes_in(STEP + ONE_BY_ONE.format(keep=keep, apply=apply), tmp_path)
    assert {one for one in found if one == "GPU212"} == expected


GIVEN_NAMES = """
import tensorflow as tf


def names():
    for line in open("names.txt"):
        yield line


def image(name):
    return tf.io.decode_png(tf.io.read_file(name))


data = tf.data.Dataset.from_generator(names, output_signature=tf.TensorSpec((), tf.string))
data = data{steps}
model = tf.keras.models.load_model("model.keras")
model.fit(data.prefetch(1))
"""


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (".map(image, num_parallel_calls=tf.data.AUTOTUNE).batch(8)", set()),
        (".batch(8).map(tf.strings.length, num_parallel_calls=tf.data.AUTOTUNE)", {"GPU404"}),
    ],
)
def test_a_generator_of_names_for_those_who_read_them(steps: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(GIVEN_NAMES.format(steps=steps), tmp_path) == expected


FLAGGED = """
class Agent:
    def __init__(self, learns):
        self.learns = learns

    def train(self, x):
        if self.learns:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(model(x) ** 2)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
            {also}print(float(loss))


agent = Agent(learns=True)
for x in data:
    agent.train(x)
"""


@pytest.mark.parametrize(("also", "expected"), [("", {"GPU501", "GPU508"}), ("if shows(x): ", {"GPU508"})])
def test_a_flag_of_the_step_itself(also: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(STEP + FLAGGED.format(also=also), tmp_path) == expected


WRAPPERS = """
import functools


def logged(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        return function(*arguments)

    return wrapper


class Agent:
    @logged
    def act(self, x):
        return x + 1

    @logged
    def more(self, x):
        yield x

    @logged
    def target(self):
        pass

    @logged
    def train(self, x):
        {body}


agent = Agent()
done = False
while not done:
    x, done = read()
    agent.act(x)
    next(agent.more(x))
    agent.train(x)
    agent.target()
"""


@pytest.mark.parametrize(("body", "expected"), [("return eager_step(x)", {"GPU508"}), ("return 3", set())])
def test_each_function_behind_one_decorator_is_run(body: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(STEP + WRAPPERS.format(body=body), tmp_path) == expected


COUNTED = """
def train(optimizer):
    for x in data:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        if optimizer.iterations.numpy() % 100 == 0:
            print(loss)


train({given})
"""


@pytest.mark.parametrize("given", ["optimizer", "read().optimizer"])
def test_the_steps_of_an_optimizer_are_read_back(given: str, tmp_path: Path) -> None:
    assert codes_in(STEP + COUNTED.format(given=given), tmp_path) == {"GPU501", "GPU508"}


LOOKED_UP = """
import json

CLASSES = {}


def register(cls):
    CLASSES[cls.__name__] = cls
    return cls


def get_class(name):
    return CLASSES[name]


@register
class Batches:
    def __init__(self, settings):
        self.settings = settings

    def __iter__(self):
        return iter(data)


@register
class Problem:
    def __init__(self, settings, clock):
        self.clock = clock

    def train(self, x):
        return step(x).numpy()


@register
class Trainer:
    def __init__(self, problem, batches):
        self.problem = problem
        self.batches = batches

    def run(self):
        for x in self.batches:
            print(self.problem.train(x))


def main(settings):
    batches = get_class(settings["batches"])(settings=settings["data"])
    problem = {problem}(settings=settings["problem"], clock=settings["time"])
    get_class(settings["trainer"])(problem=problem, batches=batches).run()


main(json.load(open("settings.json")))
"""


@pytest.mark.parametrize("problem", ["get_class(settings['kind'])", "Problem"])
def test_what_is_looked_up_by_several_names(problem: str, tmp_path: Path) -> None:
    assert codes_in(STEP + COMPILED + LOOKED_UP.replace("{problem}", problem), tmp_path) == {"GPU501"}


RESHAPED = """
import tensorflow as tf
from tensorflow.keras import layers

tf.keras.mixed_precision.set_global_policy("mixed_float16")
inputs = layers.Input((4,))
hidden = layers.Dense(8)(inputs)
numbers = layers.Dense(10)(hidden)
model = tf.keras.Model(inputs, layers.Flatten()(layers.Reshape((5, 2))(numbers)))
model.compile(optimizer="adam", loss="mse")
model.fit(tf.zeros((64, 4)), tf.zeros((64, 10)))
"""


def test_layers_that_only_reshape_hand_on_what_another_one_gives(tmp_path: Path) -> None:
    (found,) = [one for one in findings_in(RESHAPED, tmp_path) if one.code == "GPU602"]
    assert RESHAPED.splitlines()[found.span.row - 1].startswith("numbers = ")
    fixed = fixed_text(RESHAPED, tmp_path, unsafe=False, select=["GPU602"])
    assert fixed.count('dtype="float32"') == 3
    assert "hidden = layers.Dense(8)(inputs)" in fixed


def test_a_layer_that_brings_float32_behind_one_in_float16(tmp_path: Path) -> None:
    text = RESHAPED.replace("layers.Flatten()", 'layers.Activation("softmax", dtype="float32")')
    assert codes_in(text, tmp_path) == set()


IMPORTED = """
import tensorflow as tf

{before}
import configuration

strategy = tf.distribute.MirroredStrategy()
examples = tf.data.Dataset.from_tensor_slices((tf.zeros((1024, 4)), tf.zeros((1024, 1))))
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(8), tf.keras.layers.Dense(1)])
    model.compile(optimizer="adam", loss="mse")
model.fit(examples.batch(32))
"""
MASK = 'import os\n\nos.environ["CUDA_VISIBLE_DEVICES"] = "1"\n'


@pytest.mark.parametrize(
    ("imported", "before", "expected"),
    [
        ("", "", {"GPU209"}),
        (MASK, "", set()),
        (MASK.replace("1", "0,1"), "", {"GPU209"}),
        (f"def mask():\n    {MASK.splitlines()[0]}\n    {MASK.splitlines()[2]}\n", "", {"GPU209"}),
        ("import inner\n", "", set()),
        (
            "import tensorflow as tf\n\n"
            'tf.config.set_visible_devices(tf.config.list_physical_devices("GPU")[:1], "GPU")\n',
            "",
            set(),
        ),
        (
            'import tensorflow as tf\n\ntf.keras.mixed_precision.set_global_policy("mixed_float16")\n',
            "",
            {"GPU209", "GPU602"},
        ),
    ],
)
def test_what_an_import_does_to_the_process(imported: str, before: str, expected: set[str], tmp_path: Path) -> None:
    (tmp_path / "configuration.py").write_text(imported)
    (tmp_path / "inner.py").write_text(MASK)
    assert codes_in(IMPORTED.format(before=before), tmp_path) == expected


def test_an_import_that_sets_the_environment_too_late(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(IMPORTED.format(before="print(tf.config.list_physical_devices())"))
    (tmp_path / "configuration.py").write_text(MASK)
    (found,) = findings_of(gpulint.check_paths([tmp_path]))
    assert (Path(found.span.path).name, found.span.row, found.code) == ("configuration.py", 3, "GPU302")


FILLED = """
import tensorflow as tf

{shared}
class Agent:
    def __init__(self, rank):
        {empty}

    def act(self, states):
        print(self.{attribute}.rank)
        return [self.model.predict(state.reshape(1, -1)) for state in states]

    def evaluate(self, data):
        for x, y in data:
            print(self.step(x, y).numpy())

    def step(self, x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((y - self.model(x, training=True)) ** 2)
        gradients = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
        return loss

    def connect(self, communicator):
        {connects}

    def build(self):
        {builds}
"""
MADE = "self.model, self.optimizer = tf.keras.Sequential([tf.keras.layers.Dense(1)]), tf.keras.optimizers.Adam()"


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, {"GPU501", "GPU503", "GPU508"}),
        ({"builds": "pass"}, {"GPU501", "GPU508"}),
        ({"connects": "pass"}, {"GPU501", "GPU503", "GPU508"}),
        (
            {
                "shared": "model = optimizer = None",
                "builds": "global model, optimizer\n        " + MADE.replace("self.", ""),
            },
            {"GPU501", "GPU503", "GPU508"},
        ),
    ],
    ids=["any order", "nobody", "others", "names of the module"],
)
def test_what_one_method_fills_in_for_another(changed: dict[str, str], expected: set[str], tmp_path: Path) -> None:
    parts = {
        "shared": "",
        "empty": "self.model = self.optimizer = self.communicator = None",
        "attribute": "communicator",
        "connects": "self.communicator = communicator",
        "builds": MADE,
    }
    program = FILLED.format(**parts | changed)
    if "shared" in changed:
        program = (
            program.replace("self.model", "model")
            .replace("self.optimizer", "optimizer")
            .replace("model = optimizer = self", "self", 1)
        )
    assert codes_in(program, tmp_path) == expected


SPLIT = """
import tensorflow as tf


class Smoothing(tf.keras.layers.Layer):
    def __init__(self, rows, **kwargs):
        super().__init__(**kwargs)
        self.rows = rows
        self.parts = 1
        while self.rows // self.parts > 64:
            self.parts += 1

    def call(self, inputs):
        for _ in range(self.rows):
            {counted}
            inputs = split(inputs, self.parts)
        return inputs


@tf.function
def split(x, parts):
    return tf.concat(tf.split(x, parts), axis=0)
"""


@pytest.mark.parametrize(("counted", "expected"), [("pass", set()), ("self.parts += 1", {"GPU504"})])
def test_a_number_that_was_counted_up_before(counted: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(SPLIT.format(counted=counted), tmp_path) == expected


CLIENTS = """
import tensorflow as tf

{function}

class Client:
    def __init__(self, data):
        self.data = data
        self.weight = tf.Variable(1.0)
        self.optimizer = tf.keras.optimizers.SGD()
        self.losses = []

    @tf.function
    def step(self, x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(x * self.weight)
        self.optimizer.apply_gradients([(tape.gradient(loss, self.weight), self.weight)])
        return loss

    def update(self):
        for x in self.data:
            self.losses.append(self.step(x))


parts = [tf.data.Dataset.from_tensor_slices(tf.random.normal((64, 4))).batch(8) for _ in open("parts")]
{train}
"""


@pytest.mark.parametrize(
    ("train", "expected"),
    [
        ("clients = [Client(part) for part in parts]\nfor i in range(100):\n    clients[i % 8].update()", {"GPU307"}),
        ("for part in parts:\n    Client(part).update()", set()),
    ],
)
def test_a_list_of_an_object_that_a_loop_makes(train: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(CLIENTS.format(train=train, function=""), tmp_path) & {"GPU307"} == expected


WORKERS = """
import json
import os

import tensorflow as tf


def place(base, index):
    if index == 0:
        return base
    return os.path.join(base, {other})


index = int(json.loads(os.environ["TF_CONFIG"])["task"]["index"])
strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
checkpoint = tf.keras.callbacks.ModelCheckpoint(os.path.join(place("runs", index), "model.keras"))
data = tf.data.Dataset.from_tensor_slices((tf.zeros((1024, 4)), tf.zeros((1024, 1)))).repeat()
model.fit(data.batch(32 * strategy.num_replicas_in_sync), epochs=2, steps_per_epoch=10, callbacks=[checkpoint])
"""


@pytest.mark.parametrize(("other", "expected"), [('"part_%d" % index', set()), ('"rest"', {"GPU703"})])
def test_a_path_that_is_one_of_two(other: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(WORKERS.format(other=other), tmp_path) - {"GPU705"} == expected


def test_a_scope_in_a_traced_function_of_another_file(tmp_path: Path) -> None:
    (tmp_path / "planner.py").write_text(PLANNER)
    program = tmp_path / "program.py"
    program.write_text(PLANS)
    found = findings_of(gpulint.check_paths([tmp_path]))
    assert [(Path(one.span.path).name, one.code) for one in found] == [("planner.py", "GPU101")]


PLANNER = """
import tensorflow as tf


class Planner:
    @tf.function
    def roll(self, x):
        with tf.device("/gpu:1"):
            return tf.linalg.matmul(x, x)

    def prepare(self, x):
        with tf.device("/gpu:1"):
            return tf.linalg.matmul(x, x)
"""
PLANS = """
import tensorflow as tf
from planner import Planner

planner = Planner()
print(planner.roll(tf.zeros((4, 4))))
for x in tf.data.Dataset.from_tensor_slices(tf.zeros((8, 4, 4))).map(planner.prepare):
    print(x)
"""


AHEAD = """
import tensorflow as tf

options = tf.data.Options()
options.experimental_optimization.inject_prefetch = False
examples = tf.data.Dataset.from_tensor_slices((tf.zeros((4096, 4)), tf.zeros((4096, 1)))).with_options(options)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
model.fit(examples{steps}.batch(32))
"""


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (".shuffle(64)", {"GPU401"}),
        (".prefetch(8).shuffle(64)", set()),
        (".prefetch(8).map(lambda x, y: (x, y * 2)).shuffle(64)", {"GPU401"}),
    ],
)
def test_elements_that_are_read_ahead(steps: str, expected: set[str], tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(AHEAD.format(steps=steps))
    assert codes_of(gpulint.check_paths([program])) == expected


UNUSED = """
import tensorflow as tf


{decorator}
def old_model(units):
    model = tf.keras.Sequential([tf.keras.layers.LSTM(units, recurrent_dropout=0.2)])
    model.compile("sgd", "mse")
    return model


model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
{guard}model.fit(tf.zeros((64, 4)), tf.zeros((64, 1)))
{end}
"""


@pytest.mark.parametrize(
    ("decorator", "guard", "end", "expected"),
    [
        ("", "", "", set()),
        ("@register", "", "", {"GPU603"}),
        ("", 'if __name__ == "__main__": ', "", {"GPU603"}),
        ("", "", "other = old_model(4)", {"GPU603"}),
    ],
)
def test_a_function_of_a_script_that_nothing_names(
    decorator: str, guard: str, end: str, expected: set[str], tmp_path: Path
) -> None:
    assert codes_in(UNUSED.format(decorator=decorator, guard=guard, end=end), tmp_path) == expected


MANY = """
import json

import tensorflow as tf

CLASSES = {{}}


def register(cls):
    CLASSES[cls.__name__] = cls
    return cls


{others}


@register
class Trainer:
    def __init__(self, problem, batches):
        self.problem = problem
        self.batches = batches

    def run(self):
        for x in self.batches:
            print(self.problem(x))


def main(settings):
    CLASSES[settings["trainer"]]({given}).run()


main(json.load(open("settings.json")))
"""
OTHER = """
@register
class Other{number}:
    def __init__(self, rows, columns):
        self.rows = rows

    def run(self):
        return self.rows
"""


@pytest.mark.parametrize(
    ("given", "expected"), [("problem=step, batches=data", {"GPU501"}), ("rows=4, columns=2", set())]
)
def test_one_of_many_classes_by_what_it_takes(given: str, expected: set[str], tmp_path: Path) -> None:
    others = "\n".join(OTHER.format(number=number) for number in range(20))
    program = STEP + COMPILED + MANY.format(others=others, given=given)
    assert codes_in(program, tmp_path) == expected


HIDDEN = """
import sys

import tensorflow as tf

gpus = tf.config.list_physical_devices("GPU")
{hides}
strategy = tf.distribute.MirroredStrategy()
examples = tf.data.Dataset.from_tensor_slices((tf.zeros((1024, 4)), tf.zeros((1024, 1))))
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile(optimizer="adam", loss="mse")
model.fit(examples.batch(32))
"""
HIDES = 'tf.config.set_visible_devices(gpus[0], "GPU")'


@pytest.mark.parametrize(
    ("hides", "expected"),
    [
        (HIDES, set()),
        (f"if gpus:\n    {HIDES}", set()),
        (f"try:\n    {HIDES}\nexcept RuntimeError as error:\n    print(error)", set()),
        (f'if "--alone" in sys.argv:\n    {HIDES}', {"GPU209"}),
    ],
)
def test_gpus_that_are_hidden_on_one_way(hides: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(HIDDEN.format(hides=hides), tmp_path) == expected


SHAPES = """
for x in data:
    step(x)
    {read}
"""


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        ("print([int(size) for size in x.shape])", set()),
        ("print([int(size) for size in tf.shape(x)[:2]])", set()),
        ("print(int(x.shape[:1][0]))", set()),
        ("print([int(number) for number in step(x)[:2]])", {"GPU501"}),
    ],
)
def test_parts_of_a_shape(read: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(STEP + COMPILED + SHAPES.format(read=read), tmp_path) == expected


ROWS = """
import numpy as np
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
window = np.zeros((8, 15, 4))
rows = np.load("rows.npy")
for i in range(200):
    window[:, -1] = model.predict({rows})
"""


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("window[:1]", {"GPU503"}),
        ("window[0:1, :, :]", {"GPU503"}),
        ("window[4:5]", {"GPU503"}),
        ("rows[i : i + 1, :, :]", {"GPU503"}),
        ("window[:2]", set()),
        ("window[0:8:2]", set()),
        ("window[:-1]", set()),
        ("window[:, 0:1]", set()),
    ],
)
def test_slices_of_one_row(rows: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(ROWS.format(rows=rows), tmp_path) == expected


LOGGED = """
import logging

logger = logging.getLogger(__name__)
for x in data:
    logger.{method}("loss %s", step(x))
"""


@pytest.mark.parametrize(("method", "expected"), [("info", {"GPU501"}), ("debug", set()), ("addFilter", set())])
def test_a_logger_prints(method: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(STEP + COMPILED + LOGGED.format(method=method), tmp_path) == expected


DISTRIBUTION = """
import numpy as np
import tensorflow_probability as tfp

for x in data:
    step(x)
    normal = tfp.distributions.Normal(loc=x, scale=1.0)
    print(np.max({value}))
"""


@pytest.mark.parametrize(("value", "expected"), [("normal.log_prob(x)", {"GPU501"}), ("normal.name", set())])
def test_what_distributions_give(value: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(STEP + COMPILED + DISTRIBUTION.format(value=value), tmp_path) == expected


METRICS = """
import tensorflow as tf

metrics = [tf.keras.metrics.Mean(name="loss"), tf.keras.metrics.Mean(name="norm")]


def results():
    return {{metric.name: metric.result() for metric in metrics}}


for x in data:
    loss = step(x)
    for metric in metrics:
        metric.update_state(loss)
    {shown}
"""


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        ("print([(name, value.numpy()) for name, value in results().items()])", {"GPU501"}),
        ("print(list(results()))", set()),
    ],
)
def test_what_metrics_give_by_their_names(shown: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(STEP + COMPILED + METRICS.format(shown=shown), tmp_path) == expected


LARGE = """
import sys

import tensorflow as tf

{branches}
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    for i in range(1000):
        strategy.run(lambda: model(tf.zeros((4, 4))))
    total = 0
    for i in range(100000):
        for j in range(100000):
{sums}
"""


def test_the_scope_of_many_replicas_is_entered_first(tmp_path: Path) -> None:
    sums = "\n".join(f"            total += abs(i * {number} - j) % max(i, {number})" for number in range(1200))
    branches = (
        'if "--one" in sys.argv:\n    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")\n'
        "else:\n    strategy = tf.distribute.MirroredStrategy()"
    )
    assert codes_in(LARGE.format(branches=branches, sums=sums), tmp_path) == {"GPU207"}


UNKNOWN_STEP = """
import numpy as np
import tensorflow as tf


def train(model, optimizer, criterion, data):
    for x, y in data:
        with tf.GradientTape() as tape:
            loss = {loss}
        gradients = tape.gradient(loss, model.trainable_variables)
        {changes}
"""
FILTERED = """kept, variables = [], []
        for gradient, variable in zip(gradients, model.trainable_variables):
            if "bias" not in variable.name:
                kept.append({kept})
                variables.append(variable)
        optimizer.apply_gradients(zip(kept, variables))"""
APPLIED = "optimizer.apply_gradients(zip({given}, model.trainable_variables))"


@pytest.mark.parametrize(
    ("loss", "changes", "expected"),
    [
        ("criterion(y, model(x))", APPLIED.format(given="gradients"), {"GPU508"}),
        ("criterion(y, x)", APPLIED.format(given="gradients"), set()),
        ("tf.reduce_mean(y - model(x))", FILTERED.format(kept="gradient"), {"GPU508"}),
        ("tf.reduce_mean(y - model(x))", FILTERED.format(kept="variable"), set()),
        (
            "tf.reduce_mean(y - model(x))",
            "gradients = [np.nan_to_num(one) for one in gradients]\n        "
            + APPLIED.format(given="tf.clip_by_global_norm(gradients, 1.0)[0]"),
            {"GPU502", "GPU508"},
        ),
    ],
)
def test_steps_of_unknown_optimizers(loss: str, changes: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(UNKNOWN_STEP.format(loss=loss, changes=changes), tmp_path) == expected


EITHER = """
@tf.function
def other(x):
    return step(x) * 2


for x in data:
    loss = step(x) if {test} else other(x)
    print((-loss).numpy())
"""


def test_the_sign_of_one_of_two_tensors(tmp_path: Path) -> None:
    program = STEP + "\nimport sys\n" + COMPILED + EITHER.format(test='"--plain" in sys.argv')
    assert codes_in(program, tmp_path) == {"GPU501"}


WHOLE = """
import numpy as np
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
data = tf.data.Dataset.from_tensor_slices({{"a": np.zeros((1000, 4), "float32")}}).batch(4)
for inputs in data:
    print(model.predict(inputs, batch_size={size}))
"""


@pytest.mark.parametrize(("size", "expected"), [('inputs["a"].shape[0]', {"GPU503"}), ("2", set())])
def test_a_prediction_in_one_batch(size: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(WHOLE.format(size=size), tmp_path) == expected


REGISTRY = """
import json

import tensorflow as tf


class Registry:
    def __init__(self):
        self.entries = {{}}

    def register(self, category, name):
        def decorate(cls):
            self.entries[(category, name)] = cls
            return cls

        return decorate

    def get(self, category, name):
        return self.entries[(category, name)]


registry = Registry()
{others}


@registry.register("trainer", "plain")
class Trainer:
    def __init__(self, step):
        self.step = step

    def run(self):
        for x in data:
            print(self.step(x).numpy())


settings = json.load(open("settings.json"))
registry.get("{category}", settings["trainer"])(step).run()
"""
REGISTERED = """
@registry.register("loader", "{number}")
class Loader{number}:
    def __init__(self, step):
        pass

    def run(self):
        return {number}
"""


@pytest.mark.parametrize(("category", "expected"), [("trainer", {"GPU501"}), ("loader", set())])
def test_a_registry_with_pairs_for_keys(category: str, expected: set[str], tmp_path: Path) -> None:
    others = "\n".join(REGISTERED.format(number=number) for number in range(12))
    assert codes_in(STEP + COMPILED + REGISTRY.format(others=others, category=category), tmp_path) == expected


FIRST = """
import networks
import tensorflow as tf

tf.compat.v1.enable_eager_execution()
optimizer = tf.compat.v1.train.AdamOptimizer(1e-3)
net = networks.Net()
for x in tf.data.Dataset.from_tensor_slices(tf.zeros((640, 4))).batch(64):
    with tf.GradientTape() as tape:
        loss = net.loss(x)
        print(loss.numpy())
    optimizer.apply_gradients(zip(tape.gradient(loss, net.variables()), net.variables()))
"""
NETWORKS = """
import tensorflow as tf


class Net:
    def __init__(self):
        self.layers = tf.keras.Sequential([tf.keras.layers.Dense(1)])

    def variables(self):
        return self.layers.trainable_variables

    def error(self, x):
        return tf.reduce_mean(self.layers(x) ** 2)

    def loss(self, x):
        return self.error(x)
"""


@pytest.mark.parametrize(("switch", "expected"), [("enable_eager_execution", {"GPU501", "GPU508"}), ("x", set())])
def test_a_program_of_tensorflow_1_that_is_eager(switch: str, expected: set[str], tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("tensorflow==1.15.0")
    (tmp_path / "networks.py").write_text(NETWORKS)
    (tmp_path / "train.py").write_text(FIRST.replace("enable_eager_execution", switch))
    assert codes_of(gpulint.check_paths([tmp_path])) - {"GPU401", "GPU901"} == expected


ONE_OF_MANY = """
import glob
import sys

import numpy as np
import tensorflow as tf
from reading import read

model = tf.keras.models.load_model(sys.argv[1])
predicted = []
for path in glob.glob("*.p"):
    x, y = read(path)
    predicted.append(model.predict(GIVEN))
"""


@pytest.mark.parametrize(
    ("given", "is_one"),
    [
        ("tf.stack([x])", True),
        ("tf.convert_to_tensor([x])", True),
        ("tf.convert_to_tensor(x[None] / 255, tf.float32)", True),
        ("tf.cast(np.expand_dims(x, 0), tf.float32)", True),
        ("tf.reshape(x, (1, 32, 32))", True),
        ("tf.stack([x, x[::-1]])", False),
        ("tf.stack([x], axis=-1)", False),
        ("tf.reshape(x, (-1, 32, 32))", False),
        ("tf.convert_to_tensor(x)", False),
    ],
)
def test_a_batch_of_one_that_operations_make(given: str, is_one: bool, tmp_path: Path) -> None:
    assert ("GPU503" in codes_in(ONE_OF_MANY.replace("GIVEN", given), tmp_path)) == is_one


FOR_OTHERS = """
import tensorflow as tf


def NAME(pattern, batch_size):
    def read(path):
        return tf.py_function(lambda one: parse(one), [path], tf.float32)

    dataset = tf.data.Dataset.list_files(pattern).map(read)
    dataset = STEPS
    return dataset.batch(batch_size).prefetch(tf.data.AUTOTUNE)
"""


@pytest.mark.parametrize(
    ("name", "steps", "expected"),
    [
        ("images", "dataset.shuffle(1000)", {"GPU402", "GPU404"}),
        ("images", "dataset.map(tf.image.random_flip_left_right, num_parallel_calls=4)", {"GPU402", "GPU404"}),
        ("images", "dataset.shuffle(1000).cache()", {"GPU403"}),
        ("images", "dataset", set()),
        ("validation_images", "dataset.shuffle(1000)", set()),
    ],
)
def test_pipelines_that_others_read(name: str, steps: str, expected: set[str], tmp_path: Path) -> None:
    text = FOR_OTHERS.replace("NAME", name).replace("STEPS", steps)
    assert codes_in(text, tmp_path) == expected


MADE_AGAIN = """
import numpy as np
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam()
trace = [np.zeros(w.shape) for w in model.trainable_variables]


@tf.function
def gradients_of(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    return tape.gradient(loss, model.trainable_variables)


for x in tf.data.Dataset.from_tensor_slices(tf.zeros((6400, 4))).batch(64).prefetch(1):
    gradients = gradients_of(x)
    GIVEN
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
"""


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("gradients = [np.clip(g.numpy(), -1, 1) for g in gradients]", {"GPU502"}),
        ("gradients = trace = [0.9 * t + g.numpy() for t, g in zip(trace, gradients)]", {"GPU502"}),
        ("gradients = [tf.clip_by_value(g, -1, 1) for g in gradients]", set()),
    ],
)
def test_gradients_that_the_host_made(given: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(MADE_AGAIN.replace("GIVEN", given), tmp_path) == expected


IN_EPOCHS = """
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam()
x = tf.random.normal((512, 4))


@tf.function
def step():
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


history = []
for ROUNDS:
    history.append(step().numpy())
"""


@pytest.mark.parametrize(
    ("rounds", "expected"),
    [
        ("epoch in range(20_000)", {"GPU501"}),
        ("epoch in range(1, 10**30)", {"GPU501"}),
        ("epoch in range(100)", set()),
        ("episode in range(20_000)", set()),
    ],
)
def test_thousands_of_epochs_are_steps(rounds: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(IN_EPOCHS.replace("ROUNDS", rounds), tmp_path) == expected


BY_ANOTHER_WAY = """
import sys

import numpy as np
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam()


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return {"loss": loss, "double": 2 * loss}


verbose = "-v" in sys.argv
sums = {}
for number, x in enumerate(tf.data.Dataset.from_tensor_slices(tf.zeros((6400, 4))).batch(64).prefetch(1)):
    losses = step(x)
    READ
"""


@pytest.mark.parametrize(
    ("read", "rows"),
    [
        (
            "for key, value in losses.items():\n        if key in sums:\n            sums[key] += np.mean(value)\n"
            "        else:\n            sums[key] = np.mean(value)",
            [26],
        ),
        (
            "loss = losses['loss']\n    if verbose:\n        print(loss.numpy())\n"
            "    else:\n        sums[0] = float(loss)",
            [26, 28],
        ),
        ("loss = losses['loss']\n    if verbose:\n        print(loss.numpy())", []),
        (
            "loss = losses['loss']\n    if verbose:\n        print(loss.numpy())\n"
            "    if number % 100 == 0:\n        print(float(loss))",
            [],
        ),
        ("loss = losses['loss']\n    sums[number] = float(loss)\n    if verbose:\n        print(loss.numpy())", [25]),
    ],
)
def test_reads_by_one_way_or_another(read: str, rows: list[int], tmp_path: Path) -> None:
    found = findings_in(BY_ANOTHER_WAY.replace("READ", read), tmp_path)
    assert [one.span.row for one in found if one.code == "GPU501"] == rows


WEIGHTS_READ = """
import numpy as np
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,))])
model.compile(optimizer="sgd", loss="mse")


class History(tf.keras.callbacks.Callback):
    def on_train_begin(self, logs=None):
        self.kept = []

    def on_train_batch_end(self, batch, logs=None):
        READ


data = tf.data.Dataset.from_tensor_slices((tf.zeros((1000, 1)), tf.zeros((1000, 1)))).batch(10)
model.fit(data, epochs=20, callbacks=[History()])
"""


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        ("self.kept.append([v.numpy() for v in self.model.variables])", {"GPU501"}),
        ("self.kept.append(self.model.trainable_variables[0].numpy())", {"GPU501"}),
        ("self.kept.append([v.name for v in self.model.variables])", set()),
        ("if batch % 100 == 0:\n            print([v.numpy() for v in self.model.variables])", set()),
    ],
)
def test_weights_that_a_callback_reads(read: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(WEIGHTS_READ.replace("READ", read), tmp_path) == expected


ON_EACH_RANK = """
import os
from datetime import datetime

import horovod.tensorflow.keras as hvd
import tensorflow as tf

hvd.init()
gpus = tf.config.list_physical_devices("GPU")
tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")
data = tf.data.Dataset.from_tensor_slices((tf.zeros((1000, 1)), tf.zeros((1000, 1))))
data = data.shard(hvd.size(), hvd.rank()).batch(10)
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,))])
model.compile(optimizer=hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.1)), loss="mse")
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]
KEPT
model.fit(data, epochs=20, callbacks=callbacks)
"""


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        ('callbacks.append(tf.keras.callbacks.TensorBoard(log_dir="logs"))', {"GPU703"}),
        ('callbacks.append(tf.keras.callbacks.TensorBoard("logs/" + datetime.now().strftime("%H%M")))', {"GPU703"}),
        ('callbacks.append(tf.keras.callbacks.TensorBoard(f"logs/{hvd.rank()}"))', set()),
        ('if hvd.rank() == 0:\n    callbacks.append(tf.keras.callbacks.TensorBoard(log_dir="logs"))', set()),
    ],
)
def test_logs_of_every_rank(kept: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(ON_EACH_RANK.replace("KEPT", kept), tmp_path) == expected


FEATURES = """
import sys

import numpy as np
import tensorflow as tf

data = tf.keras.utils.image_dataset_from_directory(sys.argv[1], batch_size=32)
base = tf.keras.applications.vgg16.VGG16(include_top=False)
words = tf.keras.layers.TextVectorization(output_sequence_length=20)
words.adapt(["a b", "c d"])
model = tf.keras.Sequential([tf.keras.layers.Embedding(2000, 8), tf.keras.layers.Dense(2000)])


def features_of(images_and_labels):
    features = []
    for images, labels in images_and_labels:
        features.append(GIVEN)
    return np.concatenate(features)


print(features_of(data))
text = "a"
for number in range(20):
    x = WORDS
    text += str(np.argmax(model.predict(x)))
"""


@pytest.mark.parametrize(
    ("given", "words", "count"),
    [
        ("base.predict(tf.keras.applications.vgg16.preprocess_input(images))", "words([text])", 2),
        ("base.predict(tf.cast(images, tf.float32) / 255)", "words([text, text])", 1),
        ("base.predict_on_batch(images)", "words(tf.constant(['a b'] * 2000))", 0),
    ],
)
def test_batches_of_data_that_are_predicted(given: str, words: str, count: int, tmp_path: Path) -> None:
    found = findings_in(FEATURES.replace("GIVEN", given).replace("WORDS", words), tmp_path)
    assert [one.code for one in found].count("GPU503") == count


RENAMED = """
import tensorflow as tf


def pair(example):
    return CHANGED, example["y"]


options = tf.data.Options()
options.experimental_optimization.inject_prefetch = False
data = tf.data.Dataset.from_tensor_slices({"x": tf.zeros((640, 4)), "y": tf.zeros((640, 1))}).batch(32)
data = data.map(lambda one: {"x": one["x"] * 2, "y": one["y"] + 1}, num_parallel_calls=8)
data = data.map(pair).with_options(options)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(data)
"""


@pytest.mark.parametrize(("changed", "expected"), [('example["x"]', set()), ('example["x"] / 255', {"GPU401"})])
def test_a_map_that_only_names_what_was_read_ahead(changed: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(RENAMED.replace("CHANGED", changed), tmp_path) == expected


SHOWN = """
import numpy as np
import tensorflow as tf


def shown(model, x):
    for layer in model.layers:
        if "activation" in layer.name:
            part = tf.keras.Model(inputs=OF.input, outputs=OF.get_layer(layer.name).output)
            print(np.mean(part.predict(x)))
"""


def test_views_of_a_model_that_is_given(tmp_path: Path) -> None:
    assert "GPU305" not in codes_in(SHOWN.replace("OF", "model"), tmp_path)


OWN_NAME = """
import tensorflow as tf


class Scale(tf.keras.layers.Layer):
    def build(self, shape):
        KEPT
        self.scale = self.add_weight(shape=(1,))

    def call(self, x):
        return x * self.scale / self.input_shape[1]


x = tf.keras.Input((3,))
model = tf.keras.Model(x, Scale()(x))
model.compile(tf.keras.optimizers.SGD(lr=0.1), "mse")
model.fit(tf.zeros((64, 3)), tf.zeros((64, 3)))
"""


@pytest.mark.parametrize(("kept", "gone"), [("self.input_shape = shape", ["lr"]), ("pass", ["input_shape", "lr"])])
def test_attributes_that_a_class_has_itself(kept: str, gone: list[str], tmp_path: Path) -> None:
    found = [one.message for one in findings_in(OWN_NAME.replace("KEPT", kept), tmp_path) if one.code == "GPU901"]
    assert [name for name in ("input_shape", "lr") if any(name in message for message in found)] == gone


OTHER_BACKEND = """
import os

os.environ["KERAS_BACKEND"] = "USED"
import keras

model = keras.Sequential([keras.Input((8, 4)), keras.layers.LSTM(8, recurrent_dropout=0.5)])
"""


@pytest.mark.parametrize(("backend", "expected"), [("jax", set()), ("tensorflow", {"GPU603"})])
def test_layers_of_another_backend(backend: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(OTHER_BACKEND.replace("USED", backend), tmp_path) == expected


BESIDE = """
import threading

import numpy as np
import tensorflow as tf


class Net:
    def __init__(self):
        self.model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
        self.optimizer = tf.keras.optimizers.Adam()

    DECORATED
    def train(self, x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(self.model(x) ** 2)
        gradients = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
        return loss


class Worker(threading.Thread):
    def __init__(self, data, net):
        super().__init__()
        self.data = data
        self.net = net
        self.own = Net()

    def run(self):
        for x in self.data:
            self.net.train(x)


def train_on(net, data):
    for x in data:
        net.train(x)


def main(data):
    net = Net()
    STARTED


main(np.load("data.npy"))
"""
CREW = """workers = []
    for shard in np.split(data, 8):
        workers.append(Worker(shard, net))
    for worker in workers:
        worker.start()"""
THREAD = "threading.Thread(target=train_on, args=(net, data)).start()"


@pytest.mark.parametrize("started", [CREW, THREAD, THREAD.replace("(net, data)", "[net], kwargs={'data': data}")])
@pytest.mark.parametrize(("decorated", "expected"), [("", {"GPU508"}), ("@tf.function", set())])
def test_what_threads_run(started: str, decorated: str, expected: set[str], tmp_path: Path) -> None:
    program = BESIDE.replace("DECORATED", decorated).replace("STARTED", started)
    assert codes_in(program, tmp_path) == expected


CLASSIC = """
import tensorflow.compat.v1 as tf


def train(model, optimizer, data):
    for x in data:
        DONE


train(tf.keras.Sequential([tf.keras.layers.Dense(1)]), tf.keras.optimizers.Adam(), load())
"""
TAPED = """with tf.GradientTape() as tape:
            loss = tf.keras.losses.MeanSquaredError()(x, model(x))
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))"""


@pytest.mark.parametrize(
    ("done", "expected"), [(TAPED, {"GPU508"}), ("tf.Session().run(optimizer.minimize(model(x)))", {"GPU901"})]
)
def test_tapes_tell_eager_code_of_the_old_names(done: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(CLASSIC.replace("DONE", done), tmp_path) == expected


@pytest.mark.parametrize(
    ("read", "expected"), [("np.isscalar(loss)", set()), ("np.shape(loss)", set()), ("np.asarray(loss)", {"GPU501"})]
)
def test_numpy_functions_that_look_at_the_kind_alone(read: str, expected: set[str], tmp_path: Path) -> None:
    loop = f"import numpy as np\nfor batch in data:\n    loss = step(batch)\n    kept = {read}\n"
    assert codes_in(STEP + COMPILED + loop, tmp_path) == expected


CHILD = """
def reward(units):
    child = tf.keras.Sequential([tf.keras.layers.Dense(units)])
    child.compile("sgd", "mse")
    child.DONE
    return units


for batch in data:
    loss = eager_step(batch)
    rewards = reward(3)
    print(float(loss), rewards)
"""


@pytest.mark.parametrize(
    ("done", "expected"), [("fit(batch, batch)", set()), ("build((None, 4))", {"GPU501", "GPU508"})]
)
def test_rounds_that_train_a_whole_model(done: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(STEP + CHILD.replace("DONE", done), tmp_path) - {"GPU305"} == expected


DRAWN = """
import numpy as np
import tensorflow as tf


def build():
    return tf.keras.Sequential([tf.keras.Input((8,)), tf.keras.layers.Dense(8)])


def train(x, epochs):
    generator, critic = build(), build()
    critic.compile("rmsprop", "mse")
    for epoch in range(epochs):
        for _ in range(5):
            real = GIVEN
            made = generator.predict(real)
            losses = critic.train_on_batch(real, 1.0), critic.train_on_batch(made, -1.0)
        print(losses)


train(np.load("x.npy"), 200)
"""


@pytest.mark.parametrize(
    ("given", "expected"), [("x[np.random.randint(0, len(x), 64)]", {"GPU503"}), ("x", set()), ("x[:64]", set())]
)
def test_epochs_that_are_steps_on_a_random_batch(given: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(DRAWN.replace("GIVEN", given), tmp_path) == expected


@pytest.mark.parametrize(("device", "expected"), [("CPU: 0", set()), ("/device:CPU:0", set()), ("GPU:0", {"GPU501"})])
def test_reads_of_what_is_done_on_the_cpu(device: str, expected: set[str], tmp_path: Path) -> None:
    loop = f"""
mean = tf.keras.metrics.Mean()
with tf.device("{device}"):
    for batch in data:
        mean(step(batch))
        print(mean.result().numpy())
"""
    assert codes_in(STEP + COMPILED + loop, tmp_path) - {"GPU101"} == expected


@pytest.mark.parametrize(
    ("learner", "expected"), [("torch.optim.Adam()", set()), ("tf.keras.optimizers.Adam()", {"GPU503"})]
)
def test_models_that_are_compiled_for_another_framework(learner: str, expected: set[str], tmp_path: Path) -> None:
    program = f"""
import numpy as np
import tensorflow as tf
import torch
from nets import Net

model = Net()
model.compile(optimizer={learner}, loss="mse")
for row in np.load("x.npy"):
    print(model.predict(np.expand_dims(row, 0)))
"""
    assert codes_in(program, tmp_path) == expected


@pytest.mark.parametrize(("taken", "expected"), [("", {"GPU403"}), (".take(1)", set())])
def test_a_sample_of_changed_elements_that_is_kept(taken: str, expected: set[str], tmp_path: Path) -> None:
    program = f"""
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
data = tf.data.TFRecordDataset("a.tfrecord").map(lambda row: tf.io.decode_raw(row, "float32") + tf.random.normal((4,)))
model.fit(data.batch(8){taken}.cache().repeat(), steps_per_epoch=100)
"""
    assert codes_in(program, tmp_path) - {"GPU402"} == expected


READ_FOR = """
import numpy as np
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam()


@tf.function
def train_step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))


def changed(row):
    image = tf.reshape(tf.io.decode_raw(row, "float32"), (8, 8, 3))
    return tf.image.random_brightness(tf.image.random_flip_left_right(image), 0.2)


train = iter(tf.data.TFRecordDataset("a.tfrecord").map(tf.io.decode_raw).batch(8).repeat())
other = iter(tf.data.TFRecordDataset("b.tfrecord").map(changed).batch(8).repeat())
for index in range(10000):
    train_step(next(train))
    for _ in range(20):
        DONE
"""


@pytest.mark.parametrize(("done", "expected"), [("model(next(other))", set()), ("train_step(next(other))", {"GPU402"})])
def test_batches_that_a_loop_beside_training_reads(done: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(READ_FOR.replace("DONE", done), tmp_path) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [("", {"GPU308"}), (", experimental_use_pfor=False", set()), (", experimental_use_pfor=True", {"GPU308"})],
)
def test_one_gradient_that_is_taken_row_by_row(given: str, expected: set[str], tmp_path: Path) -> None:
    program = f"""
import tensorflow as tf

for x in tf.data.Dataset.range(1000):
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.stack([x * x, x])
    print(tape.jacobian(y, x{given}).shape)
"""
    assert codes_in(program, tmp_path) == expected


SHOWS = """
import tensorflow as tf


class Shows(tf.keras.callbacks.Callback):
    def __init__(self, data):
        super().__init__()
        self.data = data

    def WHEN(self, index, logs=None):
        kept = []
        for x, y in self.data.repeat():
            kept.append(self.model(x))
        tf.summary.image("shown", tf.concat(kept, 0))


def train(path):
    data = tf.data.TFRecordDataset(path).map(parsed).batch(8)
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(data, callbacks=[Shows(data)], epochs=10)


train("a.tfrecord")
"""


def test_what_is_kept_while_an_epoch_is_looked_back_at(tmp_path: Path) -> None:
    assert "GPU307" not in codes_in(SHOWS.replace("WHEN", "on_epoch_end"), tmp_path)
    assert "GPU307" in codes_in(SHOWS.replace("WHEN", "on_train_begin"), tmp_path)


@pytest.mark.parametrize(
    ("source", "silent"),
    [
        ("tf.data.TextLineDataset('a.txt')", True),
        ("tf.data.TextLineDataset('a.txt').map(tf.strings.length).shuffle(9)", False),
        ("tf.data.Dataset.from_tensor_slices(load())", False),
    ],
)
def test_lines_that_are_put_into_batches(source: str, silent: bool, tmp_path: Path) -> None:
    program = f"""
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit({source}.batch(8))
"""
    (tmp_path / "requirements.txt").write_text("tensorflow==2.4.0")
    (tmp_path / "train.py").write_text(program)
    found = findings_of(gpulint.check_paths([tmp_path / "train.py"]))
    assert ("GPU401" not in {finding.code for finding in found}) is silent


@pytest.mark.parametrize(("own", "expected"), [('os.environ["CUDA_VISIBLE_DEVICES"] = "0"', set()), ("", {"GPU302"})])
def test_a_setting_that_an_imported_script_has_for_itself(own: str, expected: set[str], tmp_path: Path) -> None:
    (tmp_path / "evaluate.py").write_text(
        "import os\n\nos.environ['CUDA_VISIBLE_DEVICES'] = '1'\n\n\ndef score():\n    pass\n"
    )
    (tmp_path / "train.py").write_text(
        f"import os\nimport tensorflow as tf\n{own}\ntf.config.list_physical_devices('GPU')\n"
        "from evaluate import score\n\nscore()\n"
    )
    found = findings_of(gpulint.check_paths([tmp_path / "train.py", tmp_path / "evaluate.py"]))
    assert {finding.code for finding in found} == expected


@pytest.mark.parametrize(("after", "expected"), [("print(1)", {"GPU508"}), ("break", set()), ("sys.exit(1)", set())])
def test_a_loop_that_ends_after_its_first_step(after: str, expected: set[str], tmp_path: Path) -> None:
    loop = f"import sys\n\nfor batch in data:\n    eager_step(batch)\n    {after}\n"
    assert codes_in(STEP + loop, tmp_path) == expected


@pytest.mark.parametrize(
    ("total", "expected"),
    [
        ("tf.reduce_sum(tf.stack([scaled(real), scaled(fake)]))", set()),
        ("tf.reduce_sum([scaled(real), 0.1 * scaled(fake)])", set()),
        ("tf.reduce_sum([0.0, scaled(real)])", set()),
        ("tf.reduce_sum(tf.stack([scaled(real), tf.reduce_mean(fake)]))", {"GPU208"}),
        ("tf.reduce_sum(tf.stack([real, fake]))", {"GPU208"}),
    ],
)
def test_terms_of_a_loss_that_are_put_beside_each_other_and_added(
    total: str, expected: set[str], tmp_path: Path
) -> None:
    program = f"""
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    critic = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    optimizer = tf.keras.optimizers.Adam()


def scaled(losses):
    return tf.nn.compute_average_loss(losses, global_batch_size=64)


def step(x):
    with tf.GradientTape() as tape:
        real = tf.square(critic(x))
        fake = tf.abs(critic(-x))
        loss = {total}
    gradients = tape.gradient(loss, critic.trainable_variables)
    optimizer.apply_gradients(zip(gradients, critic.trainable_variables))


@tf.function
def train(x):
    strategy.run(step, args=(x,))


for x in strategy.experimental_distribute_dataset(tf.data.TFRecordDataset("a").map(parse).batch(64)):
    train(x)
"""
    assert codes_in(program, tmp_path) & {"GPU208"} == expected


@pytest.mark.parametrize("legacy", [True, False])
def test_a_file_of_tensorflow_1_gets_one_finding(legacy: bool, tmp_path: Path) -> None:
    names = "tf.set_random_seed(1)\ntf.logging.info(tf.gfile.Exists('a'))\nsaver = tf.train.Saver\n" if legacy else ""
    loop = "\nfor batch in data:\n    eager_step(batch)\n"
    (tmp_path / "train.py").write_text(STEP + names + loop)
    (tmp_path / "other.py").write_text("import tensorflow as tf\nimport train\n\ntf.device('/gpu:7')\n")
    found = findings_of(gpulint.check_paths([tmp_path]))
    assert [finding.code for finding in found if finding.span.path.endswith("train.py")] == [
        "GPU901" if legacy else "GPU508"
    ]


@pytest.mark.parametrize(
    ("taken", "fixed"), [("actions.flatten()", False), ("flatten(actions)", True), ("tf.reshape(actions, [-1])", True)]
)
def test_a_step_that_asks_its_arrays_for_what_tensors_do_not_have_is_not_compiled(
    taken: str, fixed: bool, tmp_path: Path
) -> None:
    program = f"""
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
flatten = tf.keras.layers.Flatten()
optimizer = tf.keras.optimizers.Adam()


def update(states, actions):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(states) * tf.cast({taken}, tf.float32))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))


for states, actions in memory():
    update(states, actions)
"""
    assert codes_in(program, tmp_path) == {"GPU508"}
    assert ("@tf.function" in fixed_text(program, tmp_path, select=["GPU508"])) is fixed


@pytest.mark.parametrize(
    ("indent", "expected"),
    [(8, {"GPU502"}), (4, set())],
    ids=["in every step", "once"],
)
def test_weights_that_are_clipped_layer_by_layer(indent: int, expected: set[str], tmp_path: Path) -> None:
    clipped = """
for layer in critic.layers:
    weights = layer.get_weights()
    weights = [np.clip(one, -0.01, 0.01) for one in weights]
    layer.set_weights(weights)
"""
    program = f"""
import numpy as np
import tensorflow as tf


def build():
    given = tf.keras.Input((28,))
    return tf.keras.Model(given, tf.keras.layers.Dense(1)(given))


critic = build()
critic.compile(loss="mse", optimizer="rmsprop")
(images, _), _ = tf.keras.datasets.mnist.load_data()


def train(steps):
    for step in range(steps):
        chosen = np.random.randint(0, images.shape[0], 64)
        critic.train_on_batch(images[chosen], np.ones((64, 1)))
{textwrap.indent(clipped, " " * indent)}

train(4000)
"""
    assert codes_in(program, tmp_path) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("tf.cond(tf.math.is_finite(loss), lambda: halved(loss), lambda: tf.constant(0.0))", {"GPU501"}),
        ("tf.cond(tf.math.is_finite(loss), lambda: 0.0, lambda: 1.0)", set()),
        ("tf.case([(loss > 9.0, lambda: loss)], default=lambda: halved(loss))", {"GPU501"}),
        ("tf.switch_case(kind, [lambda: loss, lambda: halved(loss)])", {"GPU501"}),
        ("tf.while_loop(lambda one: one > 1.0, lambda one: [one / 2], [loss])[0]", {"GPU501"}),
        ("tf.map_fn(lambda one: one * 2, tf.reshape(loss, [1]))[0]", {"GPU501"}),
        ("tf.foldl(lambda sum, one: sum + one, tf.reshape(loss, [1]))", {"GPU501"}),
        ("tf.nest.map_structure(lambda one: one * 2, [loss])[0]", {"GPU501"}),
    ],
)
def test_what_functions_give_that_an_op_calls(given: str, expected: set[str], tmp_path: Path) -> None:
    program = f"""
import numpy as np
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam()
kind = tf.constant(1)


@tf.function
def train_step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))

    def halved(loss):
        return loss / 2

    return {given}


losses = []
for x in tf.data.Dataset.from_tensor_slices(tf.zeros((640, 4))).batch(64):
    losses.append(float(train_step(x)))
"""
    assert codes_in(program, tmp_path) == expected


def test_an_eager_condition_of_an_op_is_read(tmp_path: Path) -> None:
    taken = "for batch in data:\n    loss = eager_step(batch)\n    tf.cond(loss > 1.0, lambda: loss, lambda: loss)\n"
    rows = {finding.span.row: finding.code for finding in findings_in(STEP + taken, tmp_path)}
    assert (
        rows[(STEP + taken).splitlines().index("    tf.cond(loss > 1.0, lambda: loss, lambda: loss)") + 1] == "GPU501"
    )


@pytest.mark.parametrize("structure", ["[loss, loss]", "{'loss': loss, 'of': (loss, 1.0)}"])
def test_what_is_read_of_a_whole_structure(structure: str, tmp_path: Path) -> None:
    loop = f"""
for batch in data:
    loss = eager_step(batch)
    tf.nest.map_structure(lambda one: float(one), {structure})
"""
    assert codes_in(STEP + loop, tmp_path) == {"GPU501", "GPU508"}


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        ("K.mean(K.square(model(x)))", {"GPU501"}),
        ("K.sum(K.cast(K.flatten(model(x)), 'float64'))", {"GPU501"}),
        ("K.int_shape(x)[0]", set()),
        ("K.epsilon()", set()),
    ],
)
def test_operations_of_keras_backend_make_tensors(loss: str, expected: set[str], tmp_path: Path) -> None:
    loop = f"""
from tensorflow.keras import backend as K


def measured(x):
    return {loss}


step = tf.function(eager_step)
for x in data:
    step(x)
    print(float(measured(x)))
"""
    assert codes_in(STEP + loop, tmp_path) == expected


@pytest.mark.parametrize(
    ("package", "expected"), [("tensorflow.python.keras", set()), ("tensorflow.keras", {"GPU901"})]
)
def test_the_private_copy_of_keras_2_still_has_its_names(package: str, expected: set[str], tmp_path: Path) -> None:
    program = f"from {package} import backend\n\nsession = backend.get_session()\n"
    assert codes_in(program, tmp_path) == expected


@pytest.mark.parametrize(
    ("release", "policy", "expected"),
    [("2.21", "float32", {"GPU601"}), ("2.7", "float32", set()), ("2.7", "mixed_float16", {"GPU601"})],
)
def test_who_divides_by_the_loss_scale(release: str, policy: str, expected: set[str], tmp_path: Path) -> None:
    """`apply_gradients` of a LossScaleOptimizer does in Keras 3, and does not in Keras 2 (run on both)."""
    loop = "\n@tf.function\ndef step(x):\n    eager_step(x)\n\nfor batch in data:\n    step(batch)\n"
    program = STEP.replace("\nmodel =", f'\ntf.keras.mixed_precision.set_global_policy("{policy}")\nmodel =')
    program = program.replace(
        "tf.keras.optimizers.Adam()", "tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.Adam())"
    )
    (tmp_path / "requirements.txt").write_text(f"tensorflow=={release}.0")
    (tmp_path / "train.py").write_text(program + loop)
    found = codes_of(gpulint.check_paths([tmp_path / "train.py"]))
    assert found & {"GPU601"} == expected


@pytest.mark.parametrize(
    ("caught", "expected"),
    [("RuntimeError", set()), ("Exception as error", set()), ("KeyError", {"GPU107"}), ("", set())],
)
def test_a_device_that_there_is_not_in_a_try(caught: str, expected: set[str], tmp_path: Path) -> None:
    program = f"""
import tensorflow as tf

tf.config.set_visible_devices([], "GPU")
try:
    with tf.device("/GPU:0"):
        tf.matmul(tf.ones((9, 9)), tf.ones((9, 9)))
except {caught}:
    print("none")
"""
    assert codes_in(program, tmp_path) & {"GPU107"} == expected


@pytest.mark.parametrize(
    ("learn", "synced", "expected"),
    [
        ("moves % 4 == 0", "moves % 4 == 0", True),
        ("moves % 4 == 0", "moves % 1000 == 0", False),
        ("moves > 0", "moves % 1000 == 0", False),
        ("moves % 4 == 0 and len(memory) > 99", "moves % 4 == 0", True),
    ],
)
def test_weights_that_follow_each_training_step_of_a_game(
    learn: str, synced: str, expected: bool, tmp_path: Path
) -> None:
    program = f"""
import random

import tensorflow as tf

net = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(2)])
target = tf.keras.models.clone_model(net)
optimizer = tf.keras.optimizers.Adam()


@tf.function
def update(states):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(net(states) - target(states))
    optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))


def sync():
    target.set_weights([0.9 * old + 0.1 * new for old, new in zip(target.get_weights(), net.get_weights())])


def play(environment, memory):
    moves = 0
    done = False
    while not done:
        state, done = environment.step(random.randint(0, 1))
        memory.append(state)
        moves += 1
        if {learn}:
            update(random.sample(memory, 32))
        if {synced}:
            sync()


play(make(), [])
"""
    assert ("GPU502" in codes_in(program, tmp_path)) is expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("loss == None", set()),
        ("None != loss", set()),
        ("loss != None and loss > 3", {"GPU501"}),
        ("loss == 3", {"GPU501"}),
    ],
)
def test_a_tensor_that_is_compared_with_none(condition: str, expected: set[str], tmp_path: Path) -> None:
    program = f"""{STEP}{COMPILED}
for x in data:
    loss = step(x)
    if {condition}:
        print("stop")
"""
    assert codes_in(program, tmp_path) == expected


@pytest.mark.parametrize(
    ("counter", "expected"),
    [("tf.Variable(0, dtype=tf.int64)", {"GPU501"}), ("tf.Variable(0)", set())],
)
def test_a_variable_that_a_checkpoint_keeps(counter: str, expected: set[str], tmp_path: Path) -> None:
    program = f"""{STEP}{COMPILED}
checkpoint = tf.train.Checkpoint(count={counter}, model=model)
for x in data:
    step(x)
    checkpoint.count.assign_add(1)
    if int(checkpoint.count) % 100 == 0:
        checkpoint.save("here")
"""
    assert codes_in(program, tmp_path) == expected


@pytest.mark.parametrize(
    ("several", "expected"),
    [
        ("model.metrics", {"GPU901"}),
        ("trained.metrics", {"GPU901"}),
        ("trained.layers", set()),
        ("[trained.metrics]", set()),
    ],
)
def test_what_the_metrics_of_a_model_have_no_more(several: str, expected: set[str], tmp_path: Path) -> None:
    program = f"""{STEP}
model.compile("sgd", "mse", metrics=["mae"])


def begin(trained):
    for epoch in range(3):
        for metric in {several}:
            metric.reset_states()
"""
    assert codes_in(program, tmp_path) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [("lambda upstream: tape.gradient(y, x, upstream)", set()), ("tape.gradient(y, x, tf.ones(4))", {"GPU308"})],
)
def test_a_persistent_tape_that_a_function_takes_along(given: str, expected: set[str], tmp_path: Path) -> None:
    program = f"""
import tensorflow as tf


def around(function, x):
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = function(x)
    return {given}


for x in tf.data.Dataset.from_tensor_slices(tf.zeros((64, 4))):
    pullback = around(tf.sin, x)
    if callable(pullback):
        pullback(tf.ones(4))
"""
    assert codes_in(program, tmp_path) == expected


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (".map(parsed).batch(8).prefetch(2).cache()", set()),
        (".batch(8).map(parsed, tf.data.AUTOTUNE).cache()", set()),
        (".map(parsed).batch(8).cache()", {"GPU401"}),
        (".map(parsed).prefetch(2).cache().batch(8)", {"GPU405"}),
    ],
)
def test_what_is_read_ahead_of_a_cache(steps: str, expected: set[str], tmp_path: Path) -> None:
    program = f"""
import tensorflow as tf


def parsed(row):
    image = tf.reshape(tf.io.decode_raw(row, "float32"), (8, 8, 3))
    return image, tf.reduce_mean(image)


options = tf.data.Options()
options.experimental_optimization.inject_prefetch = False
options.experimental_optimization.apply_default_optimizations = False
train = tf.data.TFRecordDataset("a.tfrecord").with_options(options){steps}
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(train, epochs=10)
"""
    assert codes_in(program, tmp_path) - {"GPU402"} == expected


@pytest.mark.parametrize(
    ("rounds", "expected"),
    [
        ("np.arange(2)", set()),
        ("np.arange(0, 9, 3)", set()),
        ("np.arange(20)", {"GPU305"}),
        ("np.arange(n)", {"GPU305"}),
    ],
)
def test_rounds_that_numpy_counts(rounds: str, expected: set[str], tmp_path: Path) -> None:
    program = f"""
import sys

import numpy as np
import tensorflow as tf

n = int(sys.argv[1])
x, y = np.zeros((1000, 4)), np.zeros((1000, 1))
for seed in {rounds}:
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(x, y, epochs=5)
"""
    assert codes_in(program, tmp_path) == expected


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("points.reshape(-1, 1)", set()),
        ("points.reshape(1, -1)", {"GPU503"}),
        ("np.reshape(points, (-1, 1))", set()),
        ("np.reshape(points, (1, -1))", {"GPU503"}),
    ],
)
def test_rows_that_one_call_is_given(rows: str, expected: set[str], tmp_path: Path) -> None:
    program = f"""
import numpy as np
import tensorflow as tf

model = tf.keras.models.load_model("dropout.keras")
points = np.linspace(-1.5, 1.5, 1000)
drawn = []
for _ in range(500):
    drawn.append(model.predict({rows}))
"""
    assert codes_in(program, tmp_path) == expected


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("", "`tf.count_nonzero` is gone since TensorFlow 2.0"),
        ("print(tf.Session().run(count))", "written for TensorFlow 1: `tf.count_nonzero` and 1 other name are gone"),
    ],
)
def test_one_name_of_tensorflow_1_is_no_file_of_it(more: str, message: str, tmp_path: Path) -> None:
    program = f"""
import tensorflow as tf

count = tf.count_nonzero(tf.range(4))
{more}
"""
    assert [finding.message for finding in findings_in(program, tmp_path)] == [message]


@pytest.mark.parametrize(
    ("imported", "expected"),
    [
        ("from keras import backend as K", [12, 15]),
        ("import keras.backend as K", [12, 15]),
        ("from tensorflow.keras import backend as K", []),
        ("from tf_keras import backend as K", []),
        ("try:\n    from keras import backend as K\n    K.mean\nexcept AttributeError:\n    K = None", []),
    ],
)
def test_what_keras_3_left_to_tensorflow(imported: str, expected: list[int], tmp_path: Path) -> None:
    rows = "\n" * (9 - imported.count("\n"))
    program = f"""{imported}{rows}
def dice(y, p):
    return K.sum(y * p) / K.epsilon()

def distance(y, p):
    return K.sqrt((y - p) ** 2)
"""
    assert [finding.span.row for finding in findings_in(program, tmp_path) if finding.code == "GPU901"] == expected


def test_much_of_one_module_that_keras_3_left_to_tensorflow_is_said_once(tmp_path: Path) -> None:
    program = """
from keras import backend as K
from keras.preprocessing.image import ImageDataGenerator, load_img
from keras.preprocessing.text import Tokenizer


def dice(y, p):
    return K.sum(y * p) / (K.sum(y) + K.sum(p))


def iou(y, p):
    return K.mean(K.abs(y - p))
"""
    assert [finding.message for finding in findings_in(program, tmp_path)] == [
        "`keras.preprocessing.image.ImageDataGenerator` is gone since Keras 3",
        "`keras.preprocessing.text` is gone since Keras 3",
        "`keras.backend.sum` is gone since Keras 3 (and 4 more uses of what `keras.backend` had)",
    ]


@pytest.mark.parametrize(("second", "expected"), [("False", set()), ("True", {"GPU506"})])
def test_an_eager_mode_that_a_function_is_asked_for(second: str, expected: set[str], tmp_path: Path) -> None:
    program = f"""
import tensorflow as tf


def trained(eagerly, x, y):
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile(loss="mse", run_eagerly=eagerly)
    model.fit(x, y, epochs=3)


x, y = tf.zeros((640, 4)), tf.zeros((640, 1))
trained(True, x, y)
trained({second}, x, y)
"""
    assert codes_in(program, tmp_path) == expected


@pytest.mark.parametrize(
    ("compiled", "between", "expected"),
    [
        ('loss="mse"', "", {"GPU305"}),
        ('loss="mse", run_eagerly=True', "", {"GPU506"}),
        ('loss="mse"', "model.run_eagerly = True", {"GPU506"}),
        ('loss="mse", run_eagerly=False', "", {"GPU305"}),
    ],
)
def test_models_that_run_eagerly_leave_no_graphs(
    compiled: str, between: str, expected: set[str], tmp_path: Path
) -> None:
    program = f"""
import tensorflow as tf

x, y = tf.zeros((640, 4)), tf.zeros((640, 1))
for units in range(4, 64):
    model = tf.keras.Sequential([tf.keras.layers.Dense(units), tf.keras.layers.Dense(1)])
    model.compile({compiled})
    {between or "pass"}
    model.fit(x, y)
"""
    assert codes_in(program, tmp_path) == expected


@pytest.mark.parametrize("eagerly", [True, False])
def test_a_program_that_runs_functions_eagerly_leaves_no_graphs(eagerly: bool, tmp_path: Path) -> None:
    program = f"""
import tensorflow as tf

tf.config.run_functions_eagerly({eagerly})
x, y = tf.zeros((640, 4)), tf.zeros((640, 1))
for units in range(4, 64):
    model = tf.keras.Sequential([tf.keras.layers.Dense(units), tf.keras.layers.Dense(1)])
    model.compile(loss="mse")
    model.fit(x, y)
"""
    assert codes_in(program, tmp_path) == ({"GPU506"} if eagerly else {"GPU305"})


@pytest.mark.parametrize(("again", "expected"), [("", set()), ("model.fit(x, y)", {"GPU506"})])
def test_a_model_compiled_eagerly_when_it_is_trained(again: str, expected: set[str], tmp_path: Path) -> None:
    program = f"""
import tensorflow as tf

x, y = tf.zeros((640, 4)), tf.zeros((640, 1))
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(loss="mse")
model.fit(x, y)
model.compile(loss="mse", run_eagerly=True)
print(model.evaluate(x, y))
{again}
"""
    assert codes_in(program, tmp_path) == expected


@pytest.mark.parametrize(
    ("called", "expected"), [("model.train_on_batch(x, x)", set()), ("tf.reduce_sum(model(x))", {"GPU207"})]
)
def test_what_keras_compiles_in_a_replica(called: str, expected: set[str], tmp_path: Path) -> None:
    program = f"""
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")


def step(x):
    {called}


for x in strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices(tf.zeros((640, 1))).batch(64)):
    strategy.run(step, args=(x,))
"""
    assert codes_in(program, tmp_path) & {"GPU207"} == expected


@pytest.mark.parametrize(
    ("device", "expected"), [("gpus[0]", {"GPU306"}), ("None", {"GPU303"})], ids=["divided", "whole"]
)
def test_growth_of_a_gpu_that_is_divided(device: str, expected: set[str], tmp_path: Path) -> None:
    divided = f"tf.config.set_logical_device_configuration({device}, [tf.config.LogicalDeviceConfiguration(1024)])"
    program = f"""
import tensorflow as tf

gpus = tf.config.list_physical_devices("GPU")
tf.config.experimental.set_memory_growth(gpus[0], True)
{divided if device != "None" else ""}
"""
    assert codes_in(program, tmp_path) == expected


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        ("model(next(others))", set()),
        ("step(next(others))", {"GPU402"}),
        ("tf.print(step(next(others)))", {"GPU402"}),
    ],
)
def test_a_pipeline_that_some_rounds_read(use: str, expected: set[str], tmp_path: Path) -> None:
    program = f"""{STEP}{COMPILED}

def read(path):
    return tf.py_function(lambda name: name, [path], tf.float32)


others = iter(tf.data.Dataset.list_files("others/*.bin").map(read).batch(64).repeat())
for number, x in enumerate(data):
    step(x)
    if number % 50 == 0:
        {use}
"""
    assert codes_in(program, tmp_path) - {"GPU404"} == expected


READ_BY = """
import tensorflow as tf


def decode(path):
    return tf.image.random_flip_left_right(tf.io.decode_jpeg(tf.io.read_file(path))), 1


class Batches:
    def __init__(self):
        self.data = tf.data.Dataset.list_files("*.jpg").map(decode).batch(32)
        self.iterator = iter(self.data)

{methods}


{functions}


model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD()


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) - y)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))


model.compile("sgd", "mse")
{training}
"""

GENERATES = """
    def __iter__(self):
        for x, y in self.data:
            yield x / 255, y
"""

STEPS_ON = """
    def __iter__(self):
        return self

    def __next__(self):
        x, y = next(self.iterator)
        return x / 255, y
"""

NUMBERED = """
    def __len__(self):
        return 1000

    def __getitem__(self, index):
        return next(self.iterator)
"""

PASSED_ON = """
def passed_on(batches):
    while True:
        for x, y in batches:
            yield x, y
"""


@pytest.mark.parametrize(
    ("methods", "functions", "training"),
    [
        (GENERATES, "", "for x, y in Batches():\n    step(x, y)"),
        (GENERATES, "", "for number, (x, y) in enumerate(Batches()):\n    step(x, y)"),
        (GENERATES, PASSED_ON, "for x, y in passed_on(Batches()):\n    step(x, y)"),
        (STEPS_ON, "", "for x, y in Batches():\n    step(x, y)"),
        (STEPS_ON, "", "batches = iter(Batches())\nfor _ in range(1000):\n    step(*next(batches))"),
        (NUMBERED, "", "for x, y in Batches():\n    step(x, y)"),
        ("", PASSED_ON, "model.fit(passed_on(Batches().data), steps_per_epoch=100, epochs=20)"),
        ("", PASSED_ON, "for x, y in passed_on(Batches().data):\n    step(x, y)"),
    ],
)
def test_pipelines_that_pass_through_pythons_iteration(
    methods: str, functions: str, training: str, tmp_path: Path
) -> None:
    program = READ_BY.format(methods=methods, functions=functions, training=training)
    assert codes_in(program, tmp_path) == {"GPU402"}


@pytest.mark.parametrize(
    ("functions", "training"),
    [
        (PASSED_ON, "model.evaluate(passed_on(Batches().data), steps=100)"),
        (PASSED_ON, "for x, y in passed_on(Batches().data):\n    print(model(x).shape)"),
    ],
)
def test_a_generator_that_only_evaluation_reads(functions: str, training: str, tmp_path: Path) -> None:
    assert codes_in(READ_BY.format(methods="", functions=functions, training=training), tmp_path) == set()


def test_rounds_of_a_generator_are_not_those_of_its_data(tmp_path: Path) -> None:
    program = f"""{STEP}

def parts():
    for x in data.take(5):
        for y in range(100):
            yield x, y


for x, y in parts():
    eager_step(x)
"""
    assert codes_in(program, tmp_path) == {"GPU508"}
