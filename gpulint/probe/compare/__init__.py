"""Two runs side by side: what became faster, slower or larger, and which checks changed."""
