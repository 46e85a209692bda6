"""What is asked in processes of their own: modules with `ask(write, **options)`.

They run in the interpreter that is examined, which may have no gpulint and may be as old as Python 3.8: nothing here
imports gpulint (but `cards`, which always runs in ours), and nothing but the standard library is taken for granted.
"""
