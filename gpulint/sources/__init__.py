"""Files: reading, decoding and writing them, notebooks, comments, git."""
