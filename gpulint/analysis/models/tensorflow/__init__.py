"""TensorFlow and Keras, one module for each part."""
