"""Watches a program from inside its own process: `gpulint.watch`, the Keras callback, marked tests."""
