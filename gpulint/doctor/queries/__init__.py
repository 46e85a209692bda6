"""Queries that run in child processes: modules with `ask(write, **options)`.

They run in the examined interpreter, which may lack gpulint and be as old as Python 3.8: nothing here imports gpulint
(except `cards`, which always runs in ours) or requires more than the standard library.
"""
