"""Changes to the text of one file, as a rule writes them: spans and what to put there."""
