"""Kinds of abstract values, one module for each family."""
