"""The checks: each module has one `check(run)` that gives expectations."""
