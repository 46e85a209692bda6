"""Programs that run as several workers, each probed for itself, and all of them together."""
