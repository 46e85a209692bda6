"""Programs that run as several workers: each is probed separately, then all are joined."""
