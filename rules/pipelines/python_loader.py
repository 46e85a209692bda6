"""GPU406."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.plugin import Loop, Plan, Report, Rule, Severity, Site, confidence, events, possible, values
from gpulint.plugin.queries import callers, known, pipelines


class PythonLoader(Rule):
    """`fit` reads files in one Python thread

    ## What it does
    Finds `fit` with a loader that prepares its batches in Python, one sample after the other: `ImageDataGenerator`,
    a Keras `PyDataset` (`Sequence`) without `workers` that reads files or transforms images, a Python generator that
    does. Operations such as `tf.io.read_file` run one at a time there, too.

    ## Why is this bad
    One thread decodes and augments every image. On two cores, `flow_from_directory` gives 130 to 170 images a second,
    `image_dataset_from_directory` 260 to 580, and more with more cores; rotations and shifts leave 42
    (`benchmarks/experiments/python_loader.py`). An H200 trains a ResNet-50 on 700 images a second.

    ## Example
    ```python
    import tensorflow as tf
    from PIL import Image


    class Photographs(tf.keras.utils.PyDataset):
        def __init__(self, paths, labels):
            super().__init__()
            self.paths, self.labels = paths, labels

        def __len__(self):
            return len(self.paths) // 32

        def __getitem__(self, index):
            rows = slice(32 * index, 32 * index + 32)
            images = [tf.keras.utils.img_to_array(Image.open(path)) for path in self.paths[rows]]
            return tf.stack(images), self.labels[rows]


    def train(paths, labels):
        model = tf.keras.applications.ResNet50(classes=10, weights=None)
        model.compile(optimizer="sgd", loss="sparse_categorical_crossentropy")
        model.fit(Photographs(paths, labels))
    ```

    ## Use instead
    ```python
    import tensorflow as tf


    def read(path, label):
        image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
        return tf.image.resize(image, (224, 224)), label


    def train(paths, labels):
        model = tf.keras.applications.ResNet50(classes=10, weights=None)
        model.compile(optimizer="sgd", loss="sparse_categorical_crossentropy")
        examples = tf.data.Dataset.from_tensor_slices((paths, labels)).shuffle(10_000)
        model.fit(examples.map(read, num_parallel_calls=tf.data.AUTOTUNE).batch(32).prefetch(tf.data.AUTOTUNE))
    ```

    ## What is not reported
    Loaders with `workers` or `use_multiprocessing`; loaders of arrays in memory, unless `ImageDataGenerator` rotates,
    shifts, shears or zooms them; loaders that only validation reads.

    ## At run time
    Steps that wait for input.
    """

    code = "GPU406"
    name = "python-loader"
    severity = Severity.WARNING
    is_performance = True
    any_of_names = frozenset({".fit(", ".fit_generator("})
    all_of_name_sets = (
        frozenset({"flow_from_directory", "flow_from_dataframe", "ImageDataGenerator", "Sequence", "PyDataset"})
        | frozenset({"imread", "load_img", "open", "load", "transform", "augment", "get_data", "read_file"}),
    )
    why = "one Python thread decodes and augments every sample while the GPU sits idle"
    instead = "read the samples with `tf.data`, in a `map` with `num_parallel_calls=tf.data.AUTOTUNE`"

    def on_end(self, plan: Plan) -> Iterator[Report]:
        reads = self.all(events.SampleRead)
        flows = tuple(event for event in pipelines.flows(plan) if _is_slow(event))
        if (not reads and not flows) or "workers" in plan.referenced or "use_multiprocessing" in plan.referenced:
            return
        for fitted in self.all(events.ModelFitted):
            if fitted.arguments.open:
                continue
            for data in possible(fitted.data, fitted.where):
                if (flow := pipelines.flow_of(data, flows)) is not None:
                    yield _report(flow.site, _GENERATOR, self._of_flow(flow, plan), fitted)
                elif isinstance(data, values.Instance) and not _is_parallel(data):
                    read = _called_in(reads, fitted.site, "__getitem__") or _read_by(data, reads)
                    if read is not None:
                        yield _report(data.site, *_of_loader(data, plan), fitted, read)
                elif isinstance(data, values.Items) and data.kind == "generator":
                    called = data.symbol.parts[1]
                    if (read := self._sample_read_in(reads, called)) is not None:
                        yield _report(called, "a generator reads the samples for `fit` in one thread", "", fitted, read)
                    elif (inner := _called_in(flows, called)) is not None:
                        yield _report(inner.site, _GENERATOR, "", fitted)

    def _of_flow(self, flow: events.LibraryCalled, plan: Plan) -> str:
        """Help for what `ImageDataGenerator` creates and `fit` reads itself."""
        batches = self.name_of(flow.site, flow.site, "batches")
        return f"set `{batches}.workers = 8` before `fit`, or {self.instead}" if plan.runs_keras_3 else _OF_FIT

    def _sample_read_in(self, reads: tuple[events.SampleRead, ...], call: object) -> events.SampleRead | None:
        """First read of one sample in the loops of a generator that was called at a site. A file that can have many
        samples has one if a loop collects such files for each batch."""
        for read in reads:
            for caller in callers(read.where.caller):
                loops = read.where.context.loops[caller.loops :] if caller.site == call else ()
                if loops and not (read.name.startswith(_OF_MANY) and all(self._yields(loop) for loop in loops[1:])):
                    return read
        return None

    def _yields(self, loop: Loop) -> bool:
        import libcst.matchers as m  # slow to import, and seldom needed

        node = self.node(loop.site)
        return node is None or bool(m.findall(node, m.Yield()))


_OF_FIT = "pass `workers=8` to `fit`, or read the samples with `tf.data`"

_GENERATOR = "`ImageDataGenerator` prepares its batches in one thread"


def _of_loader(loader: values.Instance, plan: Plan) -> tuple[str, str]:
    """Message and help for a loader of one of Keras's classes."""
    libraries = loader.cls.libraries() if loader.cls is not None else ()
    kind = next((name for name in ("Sequence", "PyDataset") if any(one.endswith(name) for one in libraries)), "loader")
    where = "`super().__init__()` of the loader" if plan.runs_keras_3 else "`fit`"
    return f"a Keras `{kind}` reads its samples in one thread", f"pass `workers=8` to {where}, or read with `tf.data`"


def _report(
    site: Site, message: str, instead: str, fitted: events.ModelFitted, read: events.Event | None = None
) -> Report:
    related = ((fitted.site, "training reads the samples here"),)
    return Report(
        site,
        message,
        instead=instead,
        confidence=confidence(fitted.where),
        happens_at=fitted.site,
        related=(*(((read.site, "this line runs for every sample"),) if read is not None else ()), *related),
    )


def _called_in(found: tuple[events.Event, ...], call: object, function: str = "") -> events.Event | None:
    """First of the events in a function that was called at a site: the method `function`, or a generator."""
    for event in found:
        for caller in callers(event.where.caller):
            if caller.site == call and caller.function == (function or caller.function):
                return event
    return None


def _read_by(loader: values.Instance, reads: tuple[events.SampleRead, ...]) -> events.SampleRead | None:
    """First read in another run of the loader's `__getitem__`. The analysis runs a function only a few times."""
    found = loader.cls.find("__getitem__") if loader.cls is not None else None
    if found is None or not isinstance(found[0], values.Function):
        return None
    place = found[0].definition_site
    return next((read for read in reads if any(one.definition == place for one in callers(read.where.caller))), None)


_OF_MANY = ("h5py.File", "numpy.load", "scipy.io.")
"""Functions that read files which often have many samples."""


def _is_parallel(loader: values.Instance) -> bool:
    """Whether a loader has, or may have, several workers."""
    workers, processes = (loader.attributes.get(name) for name in ("workers", "use_multiprocessing"))
    return (workers is not None and known(workers) not in (0, 1)) or (
        processes is not None and known(processes) is not False
    )


def _is_slow(event: events.LibraryCalled) -> bool:
    """Whether `ImageDataGenerator` creates batches that take long: from files, or transformed pixel by pixel."""
    method = event.name.rpartition(".")[2]
    if event.receiver is None:
        return False
    if method in ("flow_from_directory", "flow_from_dataframe"):
        return True
    made = event.receiver.facts.get(values.ObjectFact.ARGUMENTS)
    options = made.value if isinstance(made, values.Constant) else None
    return (
        method == "flow"
        and isinstance(options, values.Arguments)
        and any(
            known(option) not in (0, 0.0, None, False) for name, option in options.keywords.items() if name in _SLOW
        )
    )


_SLOW = frozenset(
    {"brightness_range", "height_shift_range", "rotation_range", "shear_range", "width_shift_range", "zoom_range"}
)
"""Arguments of `ImageDataGenerator` that make it transform every image in SciPy or PIL."""
