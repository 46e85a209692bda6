"""Pairs of programs from real code, one correct and one not, that differ in one relevant point."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tests.checking import codes_in

ADD, REPLACE = ("        total.assign_add(gradient)\n", "        total.assign(gradient)\n")


LONG = (
    "import tensorflow as tf\n\n\ndef block(x, size):\n"
    + "    x = tf.keras.layers.Conv2D(8, size)(x)\n" * 40
    + "    return x\n\n\ndef network(x):\n"
    + "".join(f"    x = block(x, {size})\n" for size in range(1, 300))
    + "    return x\n\n\nnetwork(tf.keras.Input((8, 8, 3)))\ntf.keras.utils.multi_gpu_model(0)"
)
"""A network that is too large to be analysed completely."""

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
