"""Files of a project: finding, parsing and caching its modules."""
