"""Python's semantics. No library is named here."""
