"""Rules about several workers (GPU7xx)."""
