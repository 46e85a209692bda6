"""The standard library, and libraries that programs use with TensorFlow."""
