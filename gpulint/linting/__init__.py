"""Checking files: rules, their selection, running them, and from their reports to findings."""
