"""The version of gpulint. Imports nothing, so that every module may import it."""

__version__ = "0.1.0"
