"""Sets the stage of `tests.claims.stage` and runs a program on it: what `gpulint probe` is given in its place.

    staged.py GPUS DEVICES PROGRAM [ARGUMENTS…]

The stage's own functions are compiled under a name in angle brackets, so that the probe takes them for none of the
program's lines.
"""

from __future__ import annotations

import builtins
import sys
from pathlib import Path
from types import ModuleType


def main() -> None:
    gpus, devices, program = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    file = Path(__file__).with_name("stage.py")
    stage = ModuleType("stage")
    exec(compile(file.read_text(encoding="utf-8"), "<stage>", "exec"), stage.__dict__)
    if gpus or devices:
        stage.set_up(gpus, devices)
    sys.argv[:] = [program.name, *sys.argv[4:]]
    sys.path[0] = str(program.parent)
    module = ModuleType("__main__")
    module.__dict__.update(__file__=str(program), __builtins__=builtins)
    sys.modules["__main__"] = module
    exec(compile(program.read_text(encoding="utf-8"), str(program), "exec"), module.__dict__)


if __name__ == "__main__":
    main()
