"""The rules that gpulint ships, one module each, by family."""
