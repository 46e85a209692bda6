"""Claims of the fixture programs about TensorFlow, verified on TensorFlow itself."""
