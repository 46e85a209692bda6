"""The version of gpulint, in a module that imports nothing: every other module may import it."""

__version__ = "0.1.0"
