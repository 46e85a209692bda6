"""Running files as programs."""
