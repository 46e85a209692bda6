"""What `check`, `plan` and `rule` print."""
