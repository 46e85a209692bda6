"""Rules about names that are gone (GPU9xx)."""
