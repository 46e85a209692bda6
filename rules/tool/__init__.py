"""Rules about files, imports and suppression comments (GPU0xx)."""
