"""Rules about distribution strategies (GPU2xx)."""
