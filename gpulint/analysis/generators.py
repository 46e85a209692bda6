"""What a Python generator that feeds a pipeline of tf.data does for each of its elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpulint.analysis.values import NONE, Arguments, Bound, Function, Object, Partial
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


class Work:
    """What a generator is seen to do: the loops in which it gives something, and the slow calls with the loops around
    each."""

    def __init__(self) -> None:
        self._giving: set[Site] = set()
        self._calls: list[tuple[Site, frozenset[Site]]] = []

    def gives(self, interp: Interpreter) -> None:
        """It gives an element."""
        self._giving.update(loop.site for loop in interp.context.loops)

    def calls(self, interp: Interpreter, name: str, site: Site) -> None:
        """It calls a library function of that dotted name."""
        if name.startswith(_SLOW):
            self._calls.append((site, frozenset(loop.site for loop in interp.context.loops)))

    def for_samples(self) -> Site | None:
        """The first slow call in a loop that goes on within one element: over the samples of a batch."""
        return next((site for site, around in self._calls if not around <= self._giving), None)


def for_samples(interp: Interpreter, arguments: Arguments, site: Site) -> Site | None:
    """Where the generator that `from_generator` is given works for each sample of what it gives; None where it does
    not, or is not known."""
    function = interp.choose(arguments.get("generator", 0) or NONE)
    if not isinstance(function, (Function, Partial, Bound, Object)):
        return None
    before = interp.generator
    interp.generator = work = Work()
    with interp.aside(MAX_STEPS):
        interp.context = interp.context._replace(devices=(), scopes=(), replica=None, traced=None, loops=())
        interp.call(function, Arguments(open=True), site)
    interp.generator = before
    return work.for_samples()
