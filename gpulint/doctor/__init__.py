"""What stands between this machine and TensorFlow on its GPUs: evidence → diagnoses → report."""
