"""The files of a project: finding, parsing and remembering its modules."""
