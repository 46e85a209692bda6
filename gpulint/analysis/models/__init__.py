"""Semantics of libraries."""
