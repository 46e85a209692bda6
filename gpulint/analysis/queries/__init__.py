"""Queries of rules and reports about a plan."""
