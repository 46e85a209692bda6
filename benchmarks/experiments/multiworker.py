"""MultiWorkerMirroredStrategy: with no TF_CONFIG, built late, and with every worker saving to one path.

Measured on TensorFlow 2.21: no TF_CONFIG is one replica without a word; with one, a tensor, a dataset,
list_logical_devices or an optimizer before the strategy raises RuntimeError, seeds and unbuilt layers do
not. On two workers Keras 3's fit raises; saving to one path breaks the .keras file or raises on one of them.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

PROGRAM = "import keras\nimport numpy as np\nimport tensorflow as tf\n"
BUILD = "strategy = tf.distribute.MultiWorkerMirroredStrategy()\n"
SAYS = "print('SAYS', strategy.num_replicas_in_sync, strategy.cluster_resolver.cluster_spec().as_dict())"
BEFORE: dict[str, str] = {
    "a tensor": "tf.constant(1.0)",
    "a dataset": "tf.data.Dataset.range(4)",
    "keras.utils.set_random_seed": "keras.utils.set_random_seed(1)",
    "list_logical_devices": "tf.config.list_logical_devices()",
    "a layer not built": "keras.layers.Dense(1)",
    "a Keras optimizer": "keras.optimizers.Adam()",
}
MODEL = (
    "with strategy.scope():\n"
    "    model = keras.Sequential([keras.Input((1000,)), keras.layers.Dense(2000), keras.layers.Dense(1)])\n"
    "    model.compile('sgd', 'mse')\n"
    "x, y, folder = np.ones((64, 1000), np.float32), np.ones((64, 1), np.float32), {folder!r}\n"
)
TOGETHER: dict[str, str] = {
    "model.fit": "model.fit(x, y, verbose=0)",
    "model.save, three times, load": (
        "for _ in range(3): model.save(folder + '/m.keras')\nkeras.models.load_model(folder + '/m.keras')"
    ),
    "save_weights, three times": "for _ in range(3): model.save_weights(folder + '/m.weights.h5')",
}


def run(code: str, index: int = 0, ports: tuple[int, ...] = ()) -> str:
    """``passes``, what the program says, or its error."""
    environment = {key: value for key, value in os.environ.items() if key != "TF_CONFIG"}
    if ports:
        workers = [f"127.0.0.1:{port}" for port in ports]
        task = {"type": "worker", "index": index}
        environment["TF_CONFIG"] = json.dumps({"cluster": {"worker": workers}, "task": task})
    command = [sys.executable, "-c", PROGRAM + code]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=30)
    except subprocess.TimeoutExpired:
        return "hangs"
    if ran.returncode == 0:
        return next((line[5:] for line in ran.stdout.splitlines() if line.startswith("SAYS")), "passes")
    raised = [line for line in ran.stderr.splitlines() if re.match(r"[\w.]+(Error|BadZipFile)\b", line)]
    return raised[-1][:60] if raised else "fails"


def free_ports(count: int) -> tuple[int, ...]:
    """Ports of this host that were free a moment ago."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = tuple(each.getsockname()[1] for each in sockets)
    for each in sockets:
        each.close()
    return ports


def main() -> None:
    with ThreadPoolExecutor(2) as pool, tempfile.TemporaryDirectory() as root:
        print("no TF_CONFIG:", run(BUILD + SAYS))
        late = pool.map(lambda code: run(f"{code}\n{BUILD}", 0, free_ports(1)), BEFORE.values())
        for name, found in zip(BEFORE, late, strict=True):
            print(f"built after {name:30}{found}")
        for number, (name, code) in enumerate(TOGETHER.items()):
            folder = Path(root, str(number))
            folder.mkdir()
            program, ports = BUILD + MODEL.format(folder=str(folder)) + code, free_ports(2)
            both = pool.map(run, [program] * 2, range(2), [ports] * 2)
            print(f"two workers, {name:30}" + " | ".join(both))


if __name__ == "__main__":
    main()
