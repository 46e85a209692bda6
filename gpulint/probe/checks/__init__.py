"""The checks: each module has a function `check(run)` that yields expectations."""
