"""Record fixtures/placement_logs: what TensorFlow releases print when they log where operations run.

    python scripts/record_placement_logs.py 2.21 [PROGRAM…]

The first argument names the recordings; the TensorFlow that is recorded is that of the interpreter (3.7 or newer)
which runs the script. Each program runs in a process of its own, with standard output and standard error on files
(C stdio is then block-buffered, and what Python prints tears the lines of TensorFlow), on two logical CPU devices
where the release can have them. Lines that name something of this computer are left out, and a recording ends
with the last line before `LIMIT`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

RECORDINGS = Path(__file__).resolve().parent.parent / "fixtures" / "placement_logs"

LIMIT = 24_000
"""Bytes of a recording."""

PRIVATE = re.compile(rb"(?:/home|/root|/tmp|/usr|/opt|/proc|site-packages|localhost:\d|hostname|\(host\))")
"""What a line has that is not kept. Devices are `/job:localhost`, which is no name of a host."""

PREAMBLE = """
import sys
import tensorflow as tf

if hasattr(tf, "debugging") and hasattr(tf.debugging, "set_log_device_placement"):
    tf.debugging.set_log_device_placement(True)
cpus = tf.config.experimental.list_physical_devices("CPU")
experimental = tf.config.experimental
if hasattr(tf.config, "set_logical_device_configuration"):
    configuration = tf.config.LogicalDeviceConfiguration
    tf.config.set_logical_device_configuration(cpus[0], [configuration(), configuration()])
elif hasattr(experimental, "set_virtual_device_configuration"):
    configuration = experimental.VirtualDeviceConfiguration
    experimental.set_virtual_device_configuration(cpus[0], [configuration(), configuration()])
"""

EAGER = """
with tf.device("/cpu:1"):
    a = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    b = tf.matmul(a, a)
with tf.device("/cpu:0"):
    c = tf.reduce_sum(b + 1.0)
print("on", b.device)
print("sum", float(c))
"""

FUNCTION = """
weights = tf.Variable(tf.ones([2, 2]), name="weights")

@tf.function
def forward(x):
    with tf.device("/cpu:1"):
        y = tf.matmul(x, weights, name="product")
    with tf.device("/cpu:0"):
        return tf.reduce_sum(y, name="total")

data = tf.data.Dataset.from_tensor_slices(tf.ones([4, 2])).map(lambda row: row * 2.0).batch(2)
for step, batch in enumerate(data):
    print("step", step, float(forward(batch)))
"""

COMPILED = """
@tf.function(jit_compile=True)
def step(x):
    return tf.matmul(x, x) + 1.0

print(float(tf.reduce_sum(step(tf.ones([2, 2])))))
"""

MIRRORED = """
strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(4, activation="relu"), tf.keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse")
data = tf.data.Dataset.from_tensor_slices((tf.ones([8, 3]), tf.ones([8, 1]))).batch(4)
model.fit(data, epochs=2, verbose=1)
print("replicas", strategy.num_replicas_in_sync)
"""

SESSION = """
import tensorflow as tf
tf1 = tf.compat.v1
tf1.disable_eager_execution()
with tf1.Graph().as_default():
    with tf1.device("/cpu:1"):
        a = tf1.constant([[1.0, 2.0]], name="a")
        b = tf1.placeholder(tf.float32, [2, 1], name="b")
        v = tf1.get_variable("v", [1, 1], use_resource=False)
    c = tf1.add(tf1.matmul(a, b, name="product"), v, name="my_add")
    config = tf1.ConfigProto(log_device_placement=True, device_count={"CPU": 2})
    with tf1.Session(config=config) as session:
        session.run(tf1.global_variables_initializer())
        print("result", session.run(c, {b: [[1.0], [2.0]]}).shape)
"""

TORN = """
@tf.function
def tower(x):
    for layer in range(20):
        with tf.device("/cpu:%d" % (layer % 2)):
            x = tf.tanh(tf.matmul(x, x, name="layer_%d/product" % layer), name="layer_%d/activation" % layer)
    return x

for size in (2, 3, 4, 5, 6):
    print("building for %d" % size, end="...", flush=True)
    tower(tf.ones([size, size]))
    print("loss: 0.%d" % size, flush=True)
"""

PROGRAMS = {
    "eager": PREAMBLE + EAGER,
    "function": PREAMBLE + FUNCTION,
    "compiled": PREAMBLE + COMPILED,
    "mirrored": PREAMBLE + MIRRORED,
    "session": SESSION,
    "torn": PREAMBLE + TORN,
    "merged": PREAMBLE + TORN,
}
"""What is recorded. `merged` has both streams on one file."""


def trimmed(log: bytes) -> bytes:
    """The log without the lines that are not to be kept, up to the last whole line before the limit."""
    kept = b"".join(line for line in log.splitlines(keepends=True) if not PRIVATE.search(line))
    return kept if len(kept) <= LIMIT else kept[: kept.rindex(b"\n", 0, LIMIT) + 1]


def record(release: str, name: str) -> None:
    """Run a program and store its output; a program that fails leaves nothing."""
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "-1", "PYTHONWARNINGS": "ignore", "TF_CPP_MIN_LOG_LEVEL": "0"}
    environment.pop("PYTHONUNBUFFERED", None)
    with tempfile.TemporaryDirectory() as folder:
        streams = {stream: Path(folder, stream) for stream in ("stdout", "stderr")}
        with streams["stdout"].open("ab") as output, streams["stderr"].open("ab") as errors:
            command = [sys.executable, "-c", PROGRAMS[name]]
            target = output if name == "merged" else errors
            done = subprocess.run(command, stdout=output, stderr=target, env=environment, cwd=folder)
        if done.returncode:
            print(release, name, "failed:", streams["stderr"].read_bytes()[-300:].decode("utf-8", "replace"))
            return
        for stream, path in streams.items():
            log = trimmed(path.read_bytes())
            if log:
                kept = "merged" if name == "merged" else stream
                what = "torn" if name == "merged" else name
                (RECORDINGS / f"{release}-{what}.{kept}.log").write_bytes(log)


if __name__ == "__main__":
    RECORDINGS.mkdir(parents=True, exist_ok=True)
    for program in sys.argv[2:] or (["session"] if sys.argv[1].startswith("1.") else PROGRAMS):
        record(sys.argv[1], program)
