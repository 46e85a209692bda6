"""What gpulint knows of TensorFlow and Keras, as tables.

`canonical(dotted)` brings every spelling of a public name to one; `fact(canonical_name)` says what it is;
`has_gpu_kernel(canonical_name, dtype)` answers from the kernel registry.
"""
