"""Parses what TensorFlow prints about devices."""
