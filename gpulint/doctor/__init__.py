"""Finds what keeps TensorFlow off this machine's GPUs: evidence → diagnoses → report."""
