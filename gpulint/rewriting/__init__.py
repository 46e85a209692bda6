"""Edits of the text of one file, as rules write them."""
