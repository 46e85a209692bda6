"""What can be computed from a capture: memory, leaks, waiting for input, balance, and why operations ran on the CPU."""
