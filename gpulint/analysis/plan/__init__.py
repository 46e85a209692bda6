"""Events of a program, as plain data."""
