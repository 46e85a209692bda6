"""Runs a program as `python script.py …` or `python -m module …` would, or a notebook's kernel, and watches it.

`python -u __main__.py OPTIONS [-m] TARGET ARGUMENTS…`, with OPTIONS as JSON, or `python -u __main__.py OPTIONS --kernel
NOTEBOOK CONNECTION_FILE`.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    del sys.path[0]  # this directory: its modules must not shadow the program's
    from gpulint.probe.agent.running import main

    main(sys.argv[1:])
