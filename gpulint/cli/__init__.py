"""The command line: one module per command, and what commands share."""
