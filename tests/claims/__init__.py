"""What the fixture programs claim about TensorFlow, shown on TensorFlow itself."""
