"""What a program does, as plain data."""
