"""Reads the trace that TensorFlow's profiler writes, in a process of its own."""
