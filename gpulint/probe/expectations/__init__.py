"""Expectations of a program: expressions, metrics, levels, and the result of each check."""
