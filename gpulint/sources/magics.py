"""The Python code of a notebook's cell: magics, shell lines and help requests are masked, all else keeps its place.

As in IPython (`IPython.core.inputtransformer2`): a magic is at the start of a logical line, or after the `=` of an
assignment; a cell magic is in the first line and applies to the whole cell.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Sequence
from typing import NamedTuple

BODY_IS_CODE = frozenset(
    {"capture", "debug", "heat", "ipytest", "lprun", "memit", "memray_flamegraph", "mprun", "prun", "px"}
    | {"pyinstrument", "scalene", "snakeviz", "tb", "time", "timeit", "wandb"}
)
"""Cell magics that run the rest of the cell as Python in the notebook."""

LINE_IS_CODE = frozenset({"memit", "prun", "time", "timeit"})
"""Line magics that run the rest of the line as Python in the notebook."""

WRITES_FILE = frozenset({"file", "writefile"})

OTHER_LANGUAGE = frozenset(
    {"bash", "bq", "fs", "html", "javascript", "js", "latex", "markdown", "md", "perl", "r", "R", "ruby", "scala"}
    | {"script", "sh", "sql", "svg"}
)
"""Cell magics that some systems (Databricks, Datalab) write with one percent sign."""

UNKNOWN = "get_ipython()"
"""An expression with an unknown value."""


class Code(NamedTuple):
    """The Python code of a cell: one line for each line of the cell after the first `skipped`.

    `file` is the file that the cell writes instead of running, "" for a cell that runs; `appends` says whether it
    appends. `in_block` says that all lines are indented and need a header in front of them.
    """

    lines: tuple[str, ...]
    skipped: int = 0
    file: str = ""
    appends: bool = False
    in_block: bool = False


def code_of(text: str) -> Code | None:
    """The Python code of a cell, None for one in another language."""
    lines = re.split(r"\r\n?|\n", text)
    if _is_command(lines):
        return Code(("",) * len(lines))
    done: list[str] = []
    while (magic := _cell_magic(lines, len(done))) is not None:
        row, name, rest = magic
        done += [*lines[len(done) : row], ""]
        if name in WRITES_FILE:
            *options, file = rest.split() or [""]
            written = tuple(lines[row + 1 :])
            return Code(written, row + 1, file.strip("'\""), appends=bool({"-a", "--append"} & {*options}))
        if name not in BODY_IS_CODE:
            return None
    body = _without_prompts(lines[len(done) :])
    masked = _masked(body)
    return Code((*done, *masked), in_block=_is_indented(masked))


def compiled_rows(text: str) -> list[int]:
    """For each row of a cell as IPython compiles it, the row of the cell, from 1.

    IPython drops leading blank rows, and joins a magic that spans rows.
    """
    lines = re.split(r"\r\n?|\n", text)
    code = code_of(text)
    masked: Sequence[str] = lines if code is None or code.file else code.lines
    first = next((row for row, line in enumerate(lines) if line.strip()), 0)
    goes_on = [
        row > first and lines[row].strip() != "" and not masked[row] and lines[row - 1].endswith("\\")
        for row in range(len(lines))
    ]
    return [row + 1 for row in range(first, len(lines)) if not goes_on[row]]


_CELL_MAGIC = re.compile(r"[ \t]*%%?(?=(?P<name>\w[\w.]*))(?P=name)(?!\?)(?P<rest>.*)")
_NOTHING = re.compile(r"[ \t]*(?:#.*)?")


def _cell_magic(lines: Sequence[str], start: int) -> tuple[int, str, str] | None:
    """Row (from 0), name and arguments of a cell magic, preceded only by blank lines and comments."""
    for row in range(start, len(lines)):
        if (magic := _CELL_MAGIC.fullmatch(lines[row])) is not None:
            is_lone = "%%" not in lines[row] and magic["name"] not in WRITES_FILE
            if is_lone and (magic["name"] not in OTHER_LANGUAGE or _is_python("\n".join(_masked(lines[row + 1 :])))):
                return None
            return row, magic["name"], magic["rest"]
        if not _NOTHING.fullmatch(lines[row]):
            break
    return None


_COMMAND = re.compile(
    r"[ \t]*(?:pip3?|conda|mamba|uv|cat|cd|cp|env|less|ls|ll|man|matplotlib|mkdir|more|mv|load_ext|reload_ext|rm|rmdir"
    r"|run|tensorboard|tensorflow_version|time|timeit)[ \t]+[^ \t=].*"
)


def _is_command(lines: Sequence[str]) -> bool:
    """Whether a cell is a magic without a percent sign, which IPython accepts in a one-line cell."""
    said = [line for line in lines if line.strip()]
    return len(said) == 1 and _COMMAND.fullmatch(said[0]) is not None and not _is_python(said[0].strip())


_PROMPT = re.compile(r"(?:>>>|\.\.\.)(?: |$)")

_FIRST_PROMPT = re.compile(r">>>(?: |$)")
"""Not `...`, which is Python."""


def _without_prompts(lines: list[str]) -> list[str]:
    """Lines with prompts of an interpreter session replaced by blanks."""
    first = next((line for line in lines if line.strip()), "")
    if not _FIRST_PROMPT.match(first):
        return lines
    return [f"    {line[prompt.end() :]}" if (prompt := _PROMPT.match(line)) else line for line in lines]


def _is_indented(lines: Sequence[str]) -> bool:
    """As IPython, remove the indentation of the first line from all lines."""
    code = [line for line in lines if not _NOTHING.fullmatch(line)]
    first = next((line for line in lines if line.strip()), "")
    return bool(code) and code[0][:1] in (" ", "\t") and first[:1] in (" ", "\t")


# ------------------------------------------------------------------------- lines

_ESCAPE = re.compile(r"(?P<indent>[ \t]*)(?P<escape>[%!?,;/])(?P<rest>.*)", re.DOTALL)
_ASSIGNED = re.compile(
    r"(?P<before>[ \t]*[*\w][\w.,* \t]*(?:\[[^\]=!%#]*\][ \t]*)*=[ \t]*)(?P<escape>[%!])(?P<rest>.*)", re.DOTALL
)
_LINE_MAGIC = re.compile(
    r"(?P<name>\w[\w.]*)[ \t]*(?P<options>(?:-[A-Za-z](?:[ \t]*\d+)?[ \t]+)*)(?P<rest>.*)", re.DOTALL
)


def _masked(lines: Sequence[str]) -> list[str]:
    masked: list[str] = []
    state = _State()
    begin = 0
    """First row of the logical line."""
    while len(masked) < len(lines):
        row = len(masked)
        line = lines[row]
        if state.is_open:
            masked.append(line)
        else:
            begin = row
            escaped = _escaped(line)
            masked.append(escaped if escaped is not None else line)
            if escaped is not None:
                while lines[len(masked) - 1].endswith("\\") and len(masked) < len(lines):
                    masked.append("")
                continue
        state = _after(state, line)
        if state.asks and not state.is_open:
            masked[begin:] = [_nothing(lines[begin]), *[""] * (row - begin)]
    return masked


def _nothing(line: str) -> str:
    return f"{line[: len(line) - len(line.lstrip())]}pass"


def _escaped(line: str) -> str | None:
    """The replacement of a line that is not Python to IPython, None for Python."""
    if (assigned := _ASSIGNED.fullmatch(line)) is not None:
        code = _timed(assigned["before"], assigned["rest"], "_ =") if assigned["escape"] == "%" else None
        return code if code is not None else f"{assigned['before']}{UNKNOWN}"
    if (found := _ESCAPE.fullmatch(line)) is None:
        return None
    if found["escape"] == "%":
        code = _timed(found["indent"], found["rest"], "if 1:") or _environment(found["indent"], found["rest"])
        if code is not None:
            return code
    return f"{found['indent']}pass"


def _timed(before: str, command: str, header: str) -> str | None:
    """A line magic that runs Python, replaced by blanks or, before a statement, by a header on the same row."""
    magic = _LINE_MAGIC.fullmatch(command)
    if magic is None or magic["name"] not in LINE_IS_CODE or not _is_python(f"{header} {magic['rest']}"):
        return None
    width = 1 + magic.start("rest")
    instead = f"{header[:-1]:<{width - 1}}:" if header.endswith(":") else " " * width
    return f"{before}{instead}{magic['rest']}"


def _environment(indent: str, command: str) -> str | None:
    """`%env NAME=value` or `%env NAME value`, which set an environment variable."""
    magic = _LINE_MAGIC.fullmatch(command)
    if magic is None or magic["name"] not in ("env", "set_env"):
        return None
    name, given, value = magic["rest"].partition("=" if "=" in magic["rest"] else " ")
    if not given or not re.fullmatch(r"\w+", name.strip()):
        return None
    known = UNKNOWN if {"$", "{"} & {*value} else repr(value.strip())
    return f"{indent}import os as _os; _os.environ[{name.strip()!r}] = {known}"


def _is_python(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return bool(ast.parse(text).body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


# ------------------------------------------------------------------------ logical lines


class _State(NamedTuple):
    """State of the tokenizer after a line: open brackets, an open string, a continued line."""

    depth: int = 0
    quote: str = ""
    goes_on: bool = False
    asks: bool = False
    """Whether its last character is a question mark."""

    @property
    def is_open(self) -> bool:
        return self.depth > 0 or self.quote != "" or self.goes_on


_TOKEN = re.compile(r"""#.*|'''|\"\"\"|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|['"]|[()\[\]{}]|\\$""", re.DOTALL)
_CLOSES = {quote: re.compile(rf"(?:[^\\]|\\.)*?(?:{quote})", re.DOTALL) for quote in ("'''", '"""', "'", '"')}


def _after(state: _State, line: str) -> _State:
    """The state after a line."""
    depth, quote, at = state.depth, state.quote, 0
    asks = False
    while True:
        if quote:
            closed = _CLOSES[quote].match(line, at)
            if closed is None:
                return _State(depth, quote if len(quote) == 3 or line.endswith("\\") else "")
            at, quote = closed.end(), ""
        token = _TOKEN.search(line, at)
        between = line[at : token.start() if token is not None else len(line)].rstrip()
        asks = between.endswith("?") or (asks and not between)
        if token is None or token[0].startswith("#"):
            return _State(depth, asks=asks)
        at = token.end()
        if token[0] == "\\":
            return _State(depth, goes_on=True)
        if token[0] in _CLOSES:
            quote = token[0]
        elif token[0] in "([{":
            depth += 1
        elif token[0] in ")]}":
            depth = max(0, depth - 1)
        asks = False
