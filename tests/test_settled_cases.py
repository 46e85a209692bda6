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


def test_a_script_that_names_no_tensorflow_runs_what_trains(tmp_path: Path) -> None:
    """The optimizer and the data are known only there."""
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


def test_an_import_that_sets_the_environment_too_late(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(IMPORTED.format(before="print(tf.config.list_physical_devices())"))
    (tmp_path / "configuration.py").write_text(MASK)
    (found,) = findings_of(gpulint.check_paths([tmp_path]))
    assert (Path(found.span.path).name, found.span.row, found.code) == ("configuration.py", 3, "GPU302")


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
        (".shuffle(64)", {"GPU402"}),
        (".prefetch(8).shuffle(64)", set()),
        (".prefetch(8).map(lambda x, y: (x, y * 2)).shuffle(64)", {"GPU402"}),
    ],
)
def test_elements_that_are_read_ahead(steps: str, expected: set[str], tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(AHEAD.format(steps=steps))
    assert codes_of(gpulint.check_paths([program])) == expected


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
    assert codes_of(gpulint.check_paths([tmp_path])) - {"GPU402", "GPU901"} == expected


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
            [26],
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
    assert ("GPU402" not in {finding.code for finding in found}) is silent


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


@pytest.mark.parametrize("legacy", [True, False])
def test_a_file_of_tensorflow_1_gets_one_finding(legacy: bool, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("tensorflow==2.21")
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


def test_an_eager_condition_of_an_op_is_read(tmp_path: Path) -> None:
    taken = "for batch in data:\n    loss = eager_step(batch)\n    tf.cond(loss > 1.0, lambda: loss, lambda: loss)\n"
    rows = {finding.span.row: finding.code for finding in findings_in(STEP + taken, tmp_path)}
    assert (
        rows[(STEP + taken).splitlines().index("    tf.cond(loss > 1.0, lambda: loss, lambda: loss)") + 1] == "GPU501"
    )


@pytest.mark.parametrize(
    ("release", "policy", "expected"),
    [("2.21", "float32", {"GPU601"}), ("2.7", "float32", set()), ("2.7", "mixed_float16", {"GPU601"})],
)
def test_who_divides_by_the_loss_scale(release: str, policy: str, expected: set[str], tmp_path: Path) -> None:
    """`apply_gradients` of a LossScaleOptimizer unscales in Keras 3, but not in Keras 2 (run on both)."""
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
    ("more", "message"),
    [
        ("", "`tf.count_nonzero` was removed in TensorFlow 2.0"),
        (
            "print(tf.Session().run(count))",
            "written for TensorFlow 1: `tf.count_nonzero` and 1 other name were removed",
        ),
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
        "`keras.preprocessing.image.ImageDataGenerator` was removed in Keras 3",
        "`keras.preprocessing.text` was removed in Keras 3",
        "`keras.backend` lost most of its names in Keras 3",
    ]
