"""Runs inside the user's program. Imports only the standard library, and never imports TensorFlow first: the program
decides when, and whether."""
