"""Kinds of abstract values, one module per family."""
