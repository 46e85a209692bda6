"""What rules and reports ask of a plan."""
