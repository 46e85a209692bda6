"""Starts the program, passes its output through, and knows whether it hangs and how it ended."""
