"""Values computed from a capture: memory, leaks, waiting for input, balance, reasons for operations on the CPU."""
