"""gpulint: why the GPUs of a TensorFlow program sit idle."""

__version__ = "0.1.0"
