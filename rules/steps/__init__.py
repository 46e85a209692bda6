"""Rules about synchronisation and tracing (GPU5xx)."""
