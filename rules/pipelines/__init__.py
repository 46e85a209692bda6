"""Rules about input pipelines (GPU4xx)."""
