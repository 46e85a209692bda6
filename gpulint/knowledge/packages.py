"""Packages of other authors, by their import names."""

from __future__ import annotations

WITHOUT_TENSORFLOW = frozenset(
    {
        *("IPython", "PIL", "absl", "attr", "attrs", "click", "cloudpickle", "cv2", "cycler", "dateutil", "docutils"),
        *("filelock", "fire", "fsspec", "hydra", "hypothesis", "imageio", "ipykernel", "jinja2", "joblib"),
        *("jsonschema", "jupyter_client", "libcst", "lsprotocol", "lxml", "markdown_it", "matplotlib", "mypyc"),
        *("nbclient", "nbformat", "numba", "numpy", "omegaconf", "packaging", "pandas", "pathspec", "perfetto"),
        *("pkg_resources", "platformdirs", "playwright", "polars", "psutil", "pyarrow", "pydantic", "pygls"),
        *("pygments", "pynvml", "pytest", "regex", "requests", "rich", "scipy", "seaborn", "setuptools"),
        *("simplejson", "six", "skimage", "tabulate", "tensorboard", "termcolor", "tomli", "torch", "torchvision"),
        *("tqdm", "typer", "typing_extensions", "watchfiles", "yaml", "zmq"),
    }
)
"""Packages that neither are built on TensorFlow nor create objects of it that compute anything."""
