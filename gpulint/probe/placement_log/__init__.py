"""What TensorFlow prints about devices, as records."""
