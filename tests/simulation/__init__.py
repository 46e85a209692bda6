"""Programs that are rehearsed on simulated GPUs, many in one process: TensorFlow is imported once."""
