"""Results of earlier runs of `check`, on disk."""
