"""The memory that a training step needs on one GPU, from its graph alone."""
