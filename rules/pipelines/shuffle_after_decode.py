"""GPU407."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from gpulint.plugin import (
    Draft,
    Edit,
    Plan,
    Refused,
    Report,
    Rule,
    Severity,
    Site,
    confidence,
    events,
    possible,
    unsafe,
    values,
)
from gpulint.plugin.fixes import calls, statements
from gpulint.plugin.queries import datasets_in, known, pipelines, symbol_of
from gpulint.plugin.symbols import Symbol
from gpulint.plugin.words import DATASET_SOURCES, PREPARING_WORDS

LARGE = 2**30
"""Size in bytes from which a buffer counts as large."""

MANY = 10_000
"""Number of images of unknown size from which a buffer counts as large."""

SMALL = 64 * 64
"""Number of pixels up to which an image is small."""


class ShuffleAfterDecode(Rule):
    """Shuffle buffer of decoded images

    ## What it does
    Finds `shuffle(n)` behind the `map` that decodes or scales images, if n images take 1 GiB or more, or n is the
    number of all files, or of all images as a loop counts them, also if `zip` joins the images with labels; and behind
    `image_dataset_from_directory`, where it shuffles batches.

    ## Why is this bad
    The buffer is filled before the first batch of every epoch, and the GPU waits meanwhile. 2,000 images of 224 x 224
    take 1.2 GB and, on two cores, 4 to 5 s; shuffling their names takes 0.2 to 0.4 s until the first batch
    (`benchmarks/experiments/shuffle_after_decode.py`).

    ## Example
    ```python
    import tensorflow as tf


    def read(path, label):
        return tf.image.resize(tf.io.decode_jpeg(tf.io.read_file(path), channels=3), (224, 224)), label


    def train(model, paths, labels):
        examples = tf.data.Dataset.from_tensor_slices((paths, labels)).map(read).shuffle(5000)
        model.compile(optimizer="sgd", loss="sparse_categorical_crossentropy")
        model.fit(examples.batch(32), epochs=10)
    ```

    ## Use instead
    ```python
    import tensorflow as tf


    def read(path, label):
        return tf.image.resize(tf.io.decode_jpeg(tf.io.read_file(path), channels=3), (224, 224)), label


    def train(model, paths, labels):
        examples = tf.data.Dataset.from_tensor_slices((paths, labels)).shuffle(5000).map(read)
        model.compile(optimizer="sgd", loss="sparse_categorical_crossentropy")
        model.fit(examples.batch(32), epochs=10)
    ```

    ## What is not reported
    Buffers behind a `cache`, which holds the images anyway; images of up to 64 x 64 pixels; buffers of unknown size,
    unless it is the number of files; a map that only parses examples and leaves the images encoded.

    ## Fix
    Unsafe: moves `shuffle` before the `map`. The order of the elements changes. None behind a `zip`.

    ## At run time
    Steps that wait for input.
    """

    code = "GPU407"
    name = "shuffle-after-decode"
    severity = Severity.WARNING
    is_performance = True
    any_of_names = DATASET_SOURCES
    all_of_name_sets = (
        frozenset({".shuffle("}),
        PREPARING_WORDS - {".shuffle"},
        frozenset({"decode_bmp", "decode_image", "decode_jpeg", "decode_png", "image_dataset_from_directory"})
        | frozenset({"load", "resize", "resize_with_crop_or_pad", "resize_with_pad"}),
    )
    why = "every epoch starts by decoding a buffer full of images into host memory, while the GPU sits idle"
    instead = (
        "call `shuffle` before the `map` that decodes the images: the buffer then holds file names or encoded data"
    )

    def on_end(self, plan: Plan) -> Iterator[Report]:
        decoded = _images(self.all(events.OpCalled))
        counted = {symbol_of(event.dataset): event.dataset for event in self.all(events.DatasetConsumed)}
        for event in pipelines.made_for_training(plan):
            for one in datasets_in(event.dataset):
                parts = list(_parts(one))
                for index, step in enumerate(one.steps):
                    image = _image_before(one.steps[:index], parts, decoded) if step.name == "shuffle" else None
                    if (
                        image is not None
                        and (text := _too_large(step, image, (one, *parts), event, counted)) is not None
                    ):
                        by_name = unsafe(
                            "Move `shuffle` up: the order of the elements changes", _first, step.site, image.site
                        )
                        yield Report(
                            step.site,
                            text,
                            instead=_instead(image, one),
                            confidence=confidence(event.where),
                            happens_at=event.site,
                            related=((image.site, "the images are decoded here"), pipelines.reader(event)),
                            fix=by_name if image.is_step and not _is_joined(one) else None,
                        )


class _Image(NamedTuple):
    """Images that a step makes, or the source: their number of values, None if unknown, and how many in an element.

    `is_shape`: the step only states the shape of what other steps may have decoded. `is_float`: the values are numbers
    of 32 bits, rather than bytes, which count as a quarter.
    """

    site: Site
    numbers: int | None
    batch: int = 1
    is_step: bool = True
    is_shape: bool = False
    is_float: bool = False


def _images(found: Iterable[events.OpCalled]) -> dict[Site, _Image]:
    """Images that the functions of maps decode or scale, by the site of the map."""
    images: dict[Site, _Image] = {}
    for event in found:
        step = event.where.context.mapped
        if step is None:
            continue
        before = images.get(step)
        if event.name in _SCALES:
            sizes = [one.value for one in event.inputs[1:] if isinstance(one, values.Constant)]
            numbers = [size for size in sizes if type(size) is int]
            if len(sizes) < len(event.inputs) - 1 or len(numbers) < 2:
                images[step] = before or _Image(step, None)
                continue
            size = math.prod(numbers[:2]) * 3
            smaller = min(size, before.numbers) if before and before.numbers else size
            images[step] = _Image(step, smaller, is_float=True)
        elif event.name in _STATES and (before is None or before.numbers is None):
            sizes = [one.value for one in event.inputs[1:] if isinstance(one, values.Constant)]
            numbers = [size for size in sizes if type(size) is int and size > 0]
            if len(numbers) == len(event.inputs) - 1 == 3:
                is_float = _is_float(event.inputs[0]) or (before is not None and before.is_float)
                images[step] = _Image(step, math.prod(numbers), is_shape=before is None, is_float=is_float)
        elif event.name.startswith(_DECODES) and (before is None or before.is_shape):
            images[step] = _Image(step, None)
        elif before is not None and event.name in _CASTS and _is_float(event.result):
            images[step] = before._replace(is_float=True)
    return images


def _is_float(value: values.Value) -> bool:
    return isinstance(value, values.Tensor) and value.dtype == "float32"


_CASTS = frozenset({"tensorflow.cast", "tensorflow.image.convert_image_dtype"})

_DECODES = tuple(
    f"tensorflow.{module}.decode_{kind}" for module in ("image", "io") for kind in ("bmp", "image", "jpeg", "png")
)
_STATES = frozenset({"tensorflow.ensure_shape", "tensorflow.reshape"})
"""Ops whose last argument states the shape of the images."""

_SCALES = frozenset(
    f"tensorflow.image.{name}" for name in ("random_crop", "resize", "resize_with_crop_or_pad", "resize_with_pad")
)
"""Ops whose last argument is the size of the images that they return."""


def _instead(image: _Image, dataset: values.Dataset) -> str:
    """What to do instead; "" for what the rule says."""
    if not image.is_step:
        return "remove it: this dataset shuffles its files itself"
    return _ZIP_NAMES if _is_joined(dataset) else ""


_ZIP_NAMES = "zip the file names or encoded data, call `shuffle`, and decode the images in a `map` behind it"


def _parts(dataset: values.Dataset) -> Iterator[values.Dataset]:
    """Datasets that a `zip` joins, at any depth, each once, with the steps behind it; any other dataset without its own
    steps."""
    pending: list[tuple[values.Dataset, tuple[values.Step, ...]]] = [(dataset, ())]
    seen: set[int] = set()
    while pending:
        one, steps = pending.pop()
        if not _is_joined(one):
            yield one.but(steps=steps)
            continue
        for part in reversed(one.inputs):
            if id(part) not in seen:
                seen.add(id(part))
                pending.append((part, (*part.steps, *steps)))


def _is_joined(dataset: values.Dataset) -> bool:
    return dataset.source.endswith(".zip")


def _image_before(
    steps: tuple[values.Step, ...], parts: Iterable[values.Dataset], decoded: dict[Site, _Image]
) -> _Image | None:
    """Images that come out of these steps, which follow those of the parts of a dataset."""
    found = (_image_of((*part.steps, *steps), part, decoded) for part in parts)
    return next((image for image in found if image is not None), None)


def _image_of(steps: tuple[values.Step, ...], source: values.Dataset, decoded: dict[Site, _Image]) -> _Image | None:
    """Images that come out of these steps, unless a cache keeps them."""
    if any(step.name == "cache" for step in steps):
        return None
    found = [decoded[step.site] for step in steps if step.site in decoded]
    first = next((one for one in found if not one.is_shape), None)
    batch = _batch_of(steps)
    if first is not None and batch is not None:
        sizes = [one.numbers for one in found if one.numbers is not None]
        width = 1 if any(one.is_float for one in found) else 4
        return first._replace(numbers=min(sizes) // width if sizes else None, batch=batch)
    if first is None and source.source.endswith(".image_dataset_from_directory"):
        image = _of_directory(source)
        if image is None or not any(step.name == "unbatch" for step in steps):
            return image
        return image._replace(batch=batch) if batch is not None else None
    return None


def _batch_of(steps: tuple[values.Step, ...]) -> int | None:
    """Number of images in an element after these steps, None if it is unknown."""
    count: int | None = 1
    for step in steps:
        if step.name == "unbatch":
            count = 1
        elif step.name in pipelines.BATCHES:
            size = known(step.arguments.get("batch_size", 0)) if step.name == "batch" and count == 1 else None
            count = size if type(size) is int else None
    return count


def _of_directory(source: values.Dataset) -> _Image | None:
    """Images that `image_dataset_from_directory` gives. By default these are batches of 32 with 256 x 256 pixels."""
    given, size = source.arguments.get("image_size"), source.arguments.get("batch_size")
    sizes = [known(one) for one in given.items or ()] if isinstance(given, values.Items) else []
    batch = known(size) if size is not None else 32
    if type(batch) is not int or known(source.arguments.get("shuffle")) is False or source.arguments.open:
        return None
    if given is None:
        sizes = [256, 256]
    if len(sizes) != 2 or not all(type(one) is int for one in sizes):
        return None
    return _Image(source.site, math.prod(one for one in sizes if type(one) is int) * 3, batch, is_step=False)


def _too_large(
    step: values.Step,
    image: _Image,
    sources: Iterable[values.Dataset],
    event: events.DatasetConsumed,
    counted: Mapping[Symbol, values.Dataset],
) -> str | None:
    """Problem of the size of a buffer, None if there is none. `counted`: datasets that loops iterate over."""
    if image.numbers is not None and image.numbers <= SMALL * 3:
        return None
    for size in possible(step.arguments.get("buffer_size", 0), event.where):
        count = _at_least(symbol_of(size))
        if count is not None:
            what = "decoded images" if image.batch == 1 else f"batches of {image.batch} decoded images"
            if image.numbers is None:
                if count * image.batch >= MANY:
                    return f"the shuffle buffer holds {count:,} {what}"
            elif count * image.batch * image.numbers * 4 >= LARGE:
                gigabytes = count * image.batch * image.numbers * 4 / 1e9
                return f"the shuffle buffer holds {count:,} {what} ({gigabytes:.1f} GB)"
        elif image.is_step and any(_is_number_of_all(size, one, counted) for one in sources):
            return "the shuffle buffer holds every decoded image"
    return None


@lru_cache(maxsize=8192)
def _at_least(size: Symbol) -> int | None:
    """A number, or the least that a product with the number of replicas can be; None if it is unknown."""
    if size.parts[:2] == ("constant", "int"):
        return int(size.parts[2])
    if size.parts[0] == "replicas":
        return 1
    if size.parts[:2] == ("binary", "*"):
        left, right = map(_at_least, size.parts[2:4])
        return left * right if left is not None and right is not None else None
    return None


def _is_number_of_all(size: values.Value, source: values.Dataset, counted: Mapping[Symbol, values.Dataset]) -> bool:
    """Whether a value is the number of the elements that a dataset is made of, or more: the length of one of the lists,
    perhaps with a number added, or the number of the iterations of a loop over the dataset."""
    name = symbol_of(size)
    while name.parts[0] in ("in_iteration", "int") or name.parts[:2] == ("binary", "+"):
        name = name.parts[1] if name.parts[0] == "int" else name.parts[2]
    if name.parts[0] == "index" and (other := counted.get(name.parts[1])) is not None:
        return other.site == source.site
    if name.parts[0] != "len" and "cardinality" not in name.words:
        return False
    given = [
        leaf
        for one in source.arguments.all()
        for leaf in (one.items or (one,) if isinstance(one, values.Items) else (one,))
    ]
    return "cardinality" in name.words or any(name.parts[1] == symbol_of(one) for one in given)


def _first(draft: Draft, shuffle: Site, cause: Site) -> list[Edit]:
    """Move the shuffle before the map: in their method chain, or as statements `data = data.shuffle(n)`."""
    try:
        return calls.moved_in_chain(draft, shuffle, cause, before=True)
    except Refused:
        return statements.exchanged(draft, shuffle, cause)
