"""Runs one query: `python __main__.py QUESTION ANSWERS OPTIONS`.

QUESTION is a module of this directory, OPTIONS are its keyword arguments as JSON. ANSWERS is a file to which rows
`[name, value]` of JSON are appended one by one, so that they survive a crash.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import sys
import traceback
from typing import Any


def main(question: str, path: str, options: dict[str, Any]) -> None:
    faulthandler.enable()
    here = os.path.dirname(os.path.abspath(__file__))
    others = [entry for entry in sys.path if os.path.abspath(entry) != here]
    sys.path[:] = [here, *others]
    module = importlib.import_module(question)
    sys.path[:] = others  # never the working directory, which can hold anybody's `tensorflow.py`
    with open(path, "a", encoding="utf-8") as file:

        def write(name: str, value: Any) -> None:
            file.write(json.dumps([name, value], default=str) + "\n")
            file.flush()

        try:
            module.ask(write, **options)
        except Exception as error:
            write("failed", "".join(traceback.format_exception_only(type(error), error)).strip())
            write("traceback", traceback.format_exc())
        write("done", True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]))
