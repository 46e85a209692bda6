"""Analysis of files as programs."""
