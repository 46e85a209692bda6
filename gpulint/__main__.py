"""`python -m gpulint`."""

import os
import sys

if __name__ == "__main__":
    # The working directory comes first on the path: modules of a project that is only to be read must not shadow the
    # standard library, or the packages that gpulint is built on. Until then only what is loaded already is imported.
    if sys.path[:1] == [os.getcwd()] and not getattr(sys.flags, "safe_path", False):
        if os.path.dirname(os.path.dirname(os.path.abspath(__file__))) != sys.path[0]:
            del sys.path[0]

    from gpulint.cli.main import main

    main()
