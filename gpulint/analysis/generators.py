"""What a Python generator that feeds a pipeline of tf.data does for each of its elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpulint.analysis.nesting import leaves
from gpulint.analysis.symbols import Symbol
from gpulint.analysis.values import NONE, Arguments, Bound, Function, Object, Partial, symbol_of
from gpulint.places import Site

if TYPE_CHECKING:
    from gpulint.analysis.interpreter import Interpreter

_SLOW = (
    *("PIL.", "SimpleITK.", "albumentations.", "cv2.", "imageio.", "imgaug.", "librosa.", "nibabel.", "pydicom."),
    *("rasterio.", "rdkit.", "scipy.", "skimage.", "soundfile.", "tifffile."),
    *("h5py.File", "matplotlib.image.imread", "matplotlib.pyplot.imread", "pandas.read_", "wave.open"),
    *("numpy.fft.", "numpy.fromfile", "numpy.genfromtxt", "numpy.linalg.", "numpy.load"),
    *("tensorflow.keras.preprocessing.image.load_img", "tensorflow.keras.utils.load_img"),
)
"""Beginnings of the names of functions that read a file or compute much, on the host."""


MAX_STEPS = 2_000
"""Expressions and statements of a generator that are evaluated."""


_READS = ("tensorflow.io.decode_", "tensorflow.io.read_file")
"""Beginnings of the names of operations that read a file or decode one: a generator makes them one at a time."""


class Work:
    """What a generator is seen to do: the loops in which it gives something, and the slow calls with the loops around
    each."""

    def __init__(self) -> None:
        self._giving: set[Site] = set()
        self._each: set[frozenset[Site]] = set()
        self._calls: list[tuple[Site, frozenset[Site]]] = []
        self._reads: list[frozenset[Site]] = []

    def gives(self, interp: Interpreter) -> None:
        """It gives an element."""
        around = _around(interp)
        self._giving.update(around)
        self._each.add(around)

    def calls(self, interp: Interpreter, name: str, site: Site) -> None:
        """It calls a library function of that dotted name."""
        if name.startswith(_SLOW):
            self._calls.append((site, _around(interp)))
        if name.startswith((*_SLOW, *_READS)):
            self._reads.append(_around(interp))

    def for_samples(self) -> Site | None:
        """The first slow call in a loop that goes on within one element: over the samples of a batch."""
        return next((site for site, around in self._calls if not around <= self._giving), None)

    @property
    def reads(self) -> bool:
        """Whether it reads or computes something in all the loops in which it gives an element: for each."""
        return any(giving and giving <= around for giving in self._each for around in self._reads)


def _around(interp: Interpreter) -> frozenset[Site]:
    return frozenset(loop.site for loop in interp.context.loops)


def give_names(types: list[str]) -> bool:
    """Whether what Python gives are names and labels: a text first, or one among whole numbers."""
    text = "tensorflow.string"
    return text in types and (types[0] == text or not any("float" in one for one in types))


def gives_names(arguments: Arguments, work: Work) -> bool:
    """Whether `from_generator` says that names are given, and its generator is not seen to read what they name."""
    given = [arguments.get("output_types", 1) or NONE, arguments.get("output_signature") or NONE]
    types = [_type_of(symbol_of(leaf)) for value in given for leaf in leaves(value) if leaf is not NONE]
    return give_names(types) and not work.reads


def _type_of(name: Symbol) -> str:
    """The type that a symbol names, by itself or in a `TensorSpec`."""
    return next((word for word in sorted(name.words) if word == "tensorflow.string" or "float" in word), "")


def seen(interp: Interpreter, arguments: Arguments, site: Site) -> Work:
    """What the generator that `from_generator` is given does; nothing where it is not known."""
    function = interp.choose(arguments.get("generator", 0) or NONE)
    if not isinstance(function, (Function, Partial, Bound, Object)):
        return Work()
    before = interp.generator
    interp.generator = work = Work()
    with interp.aside(MAX_STEPS):
        interp.context = interp.context._replace(devices=(), scopes=(), replica=None, traced=None, loops=())
        interp.call(function, Arguments(open=True), site)
    interp.generator = before
    return work
