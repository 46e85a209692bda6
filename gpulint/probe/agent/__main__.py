"""Runs a program as `python script.py …` or `python -m module …` would, or the kernel of a notebook, watched.

`python -u __main__.py OPTIONS [-m] TARGET ARGUMENTS…`, with the options as JSON, or
`python -u __main__.py OPTIONS --kernel NOTEBOOK CONNECTION_FILE`.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    del sys.path[0]  # this directory, in which the program must find nothing
    from gpulint.probe.agent.running import main

    main(sys.argv[1:])
