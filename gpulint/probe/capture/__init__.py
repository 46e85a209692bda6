"""The capture of a run: a file of records, written by the agent and by its parent, and its contents in memory."""
