"""Terms of the analysis: symbols, conditions, values, contexts. Nothing here runs a program."""
