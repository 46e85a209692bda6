"""What a program is expected to do: the user's expressions, metrics, levels, and the result of each check."""
