"""Rules about objects that stay in memory (GPU3xx)."""
