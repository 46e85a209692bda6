"""Rules about device names and scopes (GPU1xx)."""
