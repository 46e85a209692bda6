"""What there is: symbols, conditions, values, contexts. Nothing here runs a program."""
