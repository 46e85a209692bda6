"""The probe: runs a TensorFlow program, records what it does with its devices, and reports it."""
