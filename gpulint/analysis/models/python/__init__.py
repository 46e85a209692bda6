"""Libraries of Python's own, and those beside TensorFlow."""
