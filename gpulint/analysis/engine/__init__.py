"""Semantics of Python. No library is named here."""
