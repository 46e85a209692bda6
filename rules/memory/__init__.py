"""Rules about what stays in memory (GPU3xx)."""
