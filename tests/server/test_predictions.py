"""Predictions for the places of a program."""

from __future__ import annotations

from pathlib import Path

from gpulint.analysis import Project
from gpulint.linting.deep_stack import on_deep_stack
from gpulint.server.predictions import Predictions, predict
from gpulint.sources.decoding import decode
from gpulint.sources.source import Source

HEAD = "import tensorflow as tf\n\n"


def predicted(text: str, **others: str) -> Predictions:
    texts = {"/p/main.py": HEAD + text, **{f"/p/{name}.py": HEAD + other for name, other in others.items()}}

    def read(path: str) -> Source | None:
        return decode(path, texts[path].encode()) if path in texts else None

    class InMemory(Project):
        def find(self, dotted: str, importer: str) -> str | None:
            return path if (path := f"/p/{dotted}.py") in texts else None

    source = read("/p/main.py")
    assert source is not None
    return on_deep_stack(lambda: predict(source, InMemory([Path("/p")], read), "2.21"))


def at(text: str, words: str, within: int = 0, **others: str) -> list[str]:
    """The prediction at the last occurrence of some words."""
    whole = HEAD + text
    offset = whole.rindex(words) + within
    row, column = whole.count("\n", 0, offset) + 1, offset - whole.rfind("\n", 0, offset)
    found = predicted(text, **others).at(row, column)
    return list(found.texts) if found is not None else []


def hints(text: str, **others: str) -> list[tuple[int, str, str]]:
    return [(one.span.row, one.kind, one.text) for one in predicted(text, **others).hints]


IN_DEVICE = 'with tf.device("/gpu:1"):\n    a = tf.random.normal((2, 2))\nb = tf.matmul(a, a)\n'


def test_an_operation_in_a_device_scope_runs_there() -> None:
    assert at(IN_DEVICE, "tf.random.normal") == ["runs on `/GPU:1` (`tf.device` at line 3); eager"]


def test_a_name_tells_of_the_value_that_it_was_given() -> None:
    assert at(IN_DEVICE, "a, a)") == ["runs on `/GPU:1` (`tf.device` at line 3); eager"]
    assert at(IN_DEVICE, "b =")[0].startswith("runs on TensorFlow's default device")


def test_of_an_operation_outside_all_scopes_the_default_device_is_reported() -> None:
    (said,) = at(IN_DEVICE, "matmul")
    assert said.startswith("runs on TensorFlow's default device: `/GPU:0` where there is one") and "eager" in said


def test_an_operation_without_a_gpu_kernel_runs_on_the_cpu() -> None:
    assert (
        at("y = tf.strings.upper('a')\n", "upper")[0] == "runs on the CPU: TensorFlow has no GPU kernel for it; eager"
    )


def test_a_program_that_hides_its_gpus_runs_on_the_cpu() -> None:
    text = 'tf.config.set_visible_devices([], "GPU")\ny = tf.random.normal((2, 2))\n'
    assert at(text, "normal")[0] == "runs on the CPU: the program hides the GPUs; eager"


def test_of_a_function_that_nobody_calls_only_its_own_scopes_are_reported() -> None:
    text = 'def f(x):\n    y = tf.matmul(x, x)\n    with tf.device("/cpu:0"):\n        return tf.abs(y)\n'
    assert at(text, "matmul") == []
    assert at(text, "abs") == ["runs on `/CPU:0` (`tf.device` at line 5)"]


def test_behind_a_decorator_that_is_not_known_neither_eager_nor_compiled_is_reported() -> None:
    text = "import other\n@other.wrap\ndef f():\n    return tf.random.normal((2, 2))\nf()\n"
    said = at(text, "normal")
    assert said and not any("eager" in one or "compiled" in one for one in said)


REPLICATED = """\
strategy = tf.distribute.MirroredStrategy(["GPU:0", "GPU:1"])


@tf.function
def step(x):
    return tf.reduce_sum(x * 2)


strategy.run(step, args=(tf.ones(4),))
"""


def test_a_replica_function_runs_on_every_replica_and_is_compiled() -> None:
    assert at(REPLICATED, "reduce_sum") == [
        "runs on every replica of MirroredStrategy (2), created at line 3; compiled by `tf.function` (line 6)"
    ]
    assert at(REPLICATED, "def step", 5) == ["replica function: every replica of MirroredStrategy (2) runs it"]


def test_a_device_scope_around_strategy_run_is_not_that_of_the_replicas() -> None:
    text = REPLICATED.replace("strategy.run", 'with tf.device("/cpu:0"):\n    strategy.run')
    assert at(text, "reduce_sum")[0].startswith("runs on every replica")
    inner = REPLICATED.replace("    return tf.r", '    with tf.device("/cpu:0"):\n        return tf.r')
    assert at(inner, "reduce_sum")[0].startswith("runs on `/CPU:0` (`tf.device` at line 8), on every replica")


PIPELINE = "ds = tf.data.Dataset.range(64).map(lambda x: tf.abs(x)).batch(8).prefetch(2)\nfor x in ds:\n    pass\n"


def test_an_input_pipeline_runs_on_the_host() -> None:
    assert at(PIPELINE, "prefetch") == ["tf.data, on the host CPU: range → map → batch(8) → prefetch(2)"]
    assert at(PIPELINE, "in ds", 3) == ["tf.data, on the host CPU: range → map → batch(8) → prefetch(2)"]
    assert at(PIPELINE, "range(")[0] == "tf.data, on the host CPU: range"
    assert at(PIPELINE, "tf.abs", 3) == ["runs on the host CPU, in a function of a tf.data pipeline"]


def test_a_call_in_a_chain_over_several_rows_is_found_at_its_name() -> None:
    text = "ds = (\n    tf.data.Dataset.range(64)\n    .batch(8)\n    .prefetch(2)\n)\nfor x in ds:\n    pass\n"
    assert at(text, "batch") == ["tf.data, on the host CPU: range → batch(8)"]


def test_a_call_of_the_programs_own_builder_tells_what_it_makes() -> None:
    text = "from other import build\ns = tf.distribute.MirroredStrategy()\nwith s.scope():\n    m = build()\n"
    other = "def build():\n    return tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
    said = ["Sequential: one copy on each replica of MirroredStrategy (`other.py`)"]
    assert at(text, "build()", other=other) == said
    assert at(text, "m =", other=other) == said


def test_nothing_is_reported_of_what_is_not_known() -> None:
    text = "def f(x, y):\n    z = x\n    for x in y:\n        print(x)\n    return 3\n"
    for words in ("print", "x)", "y:", "3", "z"):
        assert at(text, words) == []


def test_nothing_is_reported_of_a_name_that_a_loop_or_parameter_binds() -> None:
    text = "a = tf.random.normal((2, 2))\ndef f(a):\n    return [a]\nfor a in [1]:\n    print(a)\n"
    assert at(text, "[a]", 1) == []
    assert at(text, "print(a", 6) == []


def test_the_condition_of_a_scope_is_reported() -> None:
    text = 'import sys\nif len(sys.argv) > 1:\n    with tf.device("/gpu:1"):\n        a = tf.random.normal((2, 2))\n'
    (said,) = at(text, "normal")
    assert said.startswith("runs on `/GPU:1`") and ", when len(" in said


FIT = """\
strategy = tf.distribute.MirroredStrategy(["GPU:0", "GPU:1"])
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    counter = tf.Variable(0.0)
    model.compile(optimizer="adam", loss="mse")
"""


def test_a_batch_that_is_split_shows_the_share_of_a_replica() -> None:
    text = FIT + "model.fit(tf.data.Dataset.range(64).batch(32).prefetch(2))\n"
    assert (8, "batch", "16 per replica") in hints(text)
    assert "global batch 32, split by MirroredStrategy: 16 for each replica" in at(text, "batch(32")


def test_a_batch_size_of_fit_shows_the_share_of_a_replica() -> None:
    assert (8, "batch", "16 or 17 per replica") in hints(FIT + "model.fit(x, y, batch_size=33)\n")


def test_a_batch_scaled_by_the_replicas_shows_its_factor() -> None:
    text = FIT + "model.fit(tf.data.Dataset.range(64).batch(32 * strategy.num_replicas_in_sync).prefetch(2))\n"
    assert (8, "batch", "32 per replica") in hints(text)


def test_without_a_count_of_replicas_the_share_is_a_quotient() -> None:
    text = FIT.replace('["GPU:0", "GPU:1"]', "") + "model.fit(tf.data.Dataset.range(64).batch(32).prefetch(2))\n"
    assert (8, "batch", "32 / replicas") in hints(text)


def test_a_batch_on_one_device_has_no_hint() -> None:
    text = FIT.replace("with strategy.scope():", "if True:") + "model.fit(tf.data.Dataset.range(64).batch(32))\n"
    assert [one for one in hints(text) if one[1] == "batch"] == []


def test_what_is_made_in_a_scope_shows_its_replicas() -> None:
    where = "on every replica of MirroredStrategy (2)"
    assert hints(FIT)[:2] == [(5, "device", where), (6, "device", where)]


def test_a_device_scope_shows_its_device_and_so_does_what_is_made_in_it() -> None:
    text = 'number = 1\nwith tf.device(f"/gpu:{number}"):\n    v = tf.Variable(1.0)\nw = tf.Variable(1.0)\n'
    assert hints(text) == [(4, "device", "on /GPU:1"), (5, "device", "on /GPU:1")]


def test_a_scope_that_goes_over_devices_shows_them_all() -> None:
    text = 'for name in ["/gpu:0", "/gpu:1"]:\n    with tf.device(name):\n        v = tf.Variable(1.0)\n'
    assert hints(text) == [(4, "device", "on /GPU:0, /GPU:1"), (5, "device", "on /GPU:0, /GPU:1")]


def test_a_device_that_is_not_known_has_no_hint() -> None:
    assert hints("import sys\nwith tf.device(sys.argv[1]):\n    v = tf.Variable(1.0)\n") == []


def test_of_strategies_of_which_one_is_chosen_a_hint_names_both() -> None:
    text = (
        "def train(many: bool):\n    if many:\n        strategy = tf.distribute.MirroredStrategy()\n    else:\n"
        "        strategy = tf.distribute.MultiWorkerMirroredStrategy()\n    with strategy.scope():\n"
        "        v = tf.Variable(1.0)\n"
    )
    found = [said for row, _, said in hints(text) if row == 9]
    assert found == ["on every replica of MirroredStrategy or every replica of MultiWorkerMirroredStrategy"]


def test_a_condition_is_written_as_it_is_meant() -> None:
    loop = "def train(steps: int):\n    for step in range(10):\n        if (steps + 1) % (2 * 8) == 0:\n"
    (said,) = at(f"{loop}            with tf.device('/gpu:1'):\n                y = tf.ones(2)\n", "tf.ones", 3)
    assert said.endswith("when (steps + 1) % 16 == 0")


def test_a_condition_of_which_nothing_can_be_written_is_only_mentioned() -> None:
    text = "if [1, 2][index()]() > 3:\n    with tf.device('/gpu:1'):\n        y = tf.ones(2)\n"
    (said,) = at(text, "tf.ones", 3)
    assert said.endswith("when a condition holds")
