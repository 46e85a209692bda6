"""What runs inside the user's program. Only the standard library is imported here, and TensorFlow is never imported
first: the program decides when, and whether."""
