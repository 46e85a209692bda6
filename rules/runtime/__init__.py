"""Rules about the configuration of the runtime, before the first operation (GPU3xx)."""
