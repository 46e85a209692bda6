"""From a keystroke to diagnostics: a program of 1,000 rows with three helper modules, through the protocol.

    python benchmarks/server.py [rounds [files]]

Each round changes the program in its middle and waits for the diagnostics of that version. Printed are the median and
the slowest of the rounds, without and with the delay that the server waits for the next keystroke, and what a change in
a helper takes until the program's diagnostics are there. `files` are others of the same folder, 2,000 by default: half
of them use TensorFlow, and every tenth of those imports one of the helpers.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path

from lsprotocol import types
from pygls.lsp.client import LanguageClient

FUNCTIONS = 40

HELPERS = {
    "dist": "import tensorflow as tf\n\n\ndef make_strategy(n):\n    return tf.distribute.MirroredStrategy()\n",
    "models": """

def build_{0}(classes):
    inputs = tf.keras.Input((32, 32, 3))
    x = tf.keras.layers.Conv2D({0} + 8, 3)(inputs)
    x = tf.keras.layers.BatchNormalization()(x)
    x = tf.keras.layers.GlobalAveragePooling2D()(x)
    return tf.keras.Model(inputs, tf.keras.layers.Dense(classes)(x))
""",
    "data": """

def pipeline_{0}(files, batch):
    ds = tf.data.Dataset.from_tensor_slices(files)
    ds = ds.shuffle(1000).map(lambda f: tf.io.decode_jpeg(tf.io.read_file(f)))
    return ds.batch(batch).prefetch(2)
""",
}

TRAIN = """

def train_{0}(files, epochs={0}):
    strategy = dist.make_strategy(4)
    model = models.build_{0}(10)
    optimizer = tf.keras.optimizers.Adam(1e-3)
    loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    with strategy.scope():
        metric = tf.keras.metrics.Mean()

    @tf.function
    def step(images, labels):
        with tf.GradientTape() as tape:
            logits = model(images, training=True)
            loss = loss_fn(labels, logits)
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        metric.update_state(loss)
        return loss

    dataset = data.pipeline_{0}(files, 64)
    for epoch in range(epochs):
        for images, labels in strategy.experimental_distribute_dataset(dataset):
            loss = strategy.run(step, args=(images, labels))
            print(float(loss))
"""


def write(folder: Path) -> None:
    """The program and its helpers."""
    for name, text in HELPERS.items():
        parts = [text] if name == "dist" else ["import tensorflow as tf\n", *map(text.format, range(FUNCTIONS))]
        (folder / f"{name}.py").write_text("".join(parts))
    calls = "".join(f'    train_{number}(["a.jpg"])\n' for number in range(FUNCTIONS))
    head, main = (
        "import tensorflow as tf\n\nimport data\nimport dist\nimport models\n",
        '\n\nif __name__ == "__main__":\n',
    )
    (folder / "train.py").write_text(head + "".join(map(TRAIN.format, range(FUNCTIONS))) + main + calls)


def write_others(folder: Path, files: int) -> None:
    """The rest of the project: packages of 50 modules."""
    for number in range(files):
        package = folder / f"package_{number // 50}"
        package.mkdir(exist_ok=True)
        (package / "__init__.py").touch()
        if number % 2:
            reader = "\n\ndef read_{0}(path):\n    return json.load(path)\n"
            text = "import json\n" + "".join(map(reader.format, range(60)))
        else:
            head = "import tensorflow as tf\n" + ("\nimport dist\n" if number % 20 == 0 else "")
            text = head + "".join(map(HELPERS["models"].format, range(FUNCTIONS)))
        (package / f"module_{number}.py").write_text(text)


async def measure(folder: Path, rounds: int, debounce: int) -> None:
    client = LanguageClient("benchmark", "1")
    seen: dict[tuple[str, int | None], int] = {}
    news = asyncio.Event()

    @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def published(params: types.PublishDiagnosticsParams) -> None:
        seen[params.uri, params.version] = len(params.diagnostics)
        news.set()

    async def diagnostics(uri: str, version: int) -> int:
        while (uri, version) not in seen:
            news.clear()
            await news.wait()
        return seen.pop((uri, version))

    await client.start_io(sys.executable, "-m", "gpulint", "server")
    await client.initialize_async(
        types.InitializeParams(
            capabilities=types.ClientCapabilities(),
            workspace_folders=[types.WorkspaceFolder(folder.as_uri(), "benchmark")],
            initialization_options={"debounce": debounce},
        )
    )
    client.initialized(types.InitializedParams())
    started = time.perf_counter()
    texts = {name: (folder / f"{name}.py").read_text() for name in ("train", "dist")}
    uris = {name: (folder / f"{name}.py").as_uri() for name in texts}
    for name, text in texts.items():
        item = types.TextDocumentItem(uris[name], "python", 0, text)
        client.text_document_did_open(types.DidOpenTextDocumentParams(item))
    found = await diagnostics(uris["train"], 0)
    print(f"from opening to the first diagnostics: {time.perf_counter() - started:.2f} s")
    for name in texts:
        times = []
        for version in range(1, rounds + 1):
            text = texts[name].replace("make_strategy(", f"make_strategy({' ' * version}", 1)
            started = time.perf_counter()
            client.text_document_did_change(
                types.DidChangeTextDocumentParams(
                    types.VersionedTextDocumentIdentifier(version=version, uri=uris[name]),
                    [types.TextDocumentContentChangeWholeDocument(text)],
                )
            )
            seen.pop((uris["train"], rounds), None)
            await diagnostics(uris["train"], version if name == "train" else rounds)
            times.append(time.perf_counter() - started)
        rows = texts["train"].count("\n")
        print(
            f"change in {name}.py, debounce {debounce} ms: median {statistics.median(times):.2f} s, slowest "
            f"{max(times):.2f} s until {found} diagnostics of train.py ({rows} rows)"
        )
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        write(Path(directory))
        write_others(Path(directory), int(sys.argv[2]) if len(sys.argv) > 2 else 2000)
        for delay in (0, 150):
            asyncio.run(measure(Path(directory), int(sys.argv[1]) if len(sys.argv) > 1 else 10, delay))
