"""Wrappers that can be switched off."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Suspendable:
    """Wraps parts of TensorFlow. Subclasses leave them as they are while `is_suspended`: what a graph of a real GPU
    consists of can then be traced and read, but not run."""

    is_suspended = False

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """A context in which the wrappers are switched off."""
        before, self.is_suspended = self.is_suspended, True
        try:
            yield
        finally:
            self.is_suspended = before
