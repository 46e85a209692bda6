"""Applying the fixes of findings to files."""
