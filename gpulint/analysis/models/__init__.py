"""What libraries do with values."""
