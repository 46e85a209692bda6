"""Rules about removed names (GPU9xx)."""
