"""Improbable input: programs, notebooks, logs and captures built from pieces of the fixtures, by seed."""

from __future__ import annotations

import ast
import io
import json
import random
import re
import tempfile
import tokenize
import warnings
from functools import cache
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from gpulint.cli.main import main
from gpulint.linting import pack
from gpulint.linting.engine import Checker
from gpulint.linting.finding import Finding
from gpulint.linting.own_codes import SYNTAX_ERROR
from gpulint.linting.result import CheckResult
from gpulint.linting.selection import Catalogue
from gpulint.output.formats import NAMES as FORMATS
from gpulint.output.style import PLAIN
from gpulint.output.view import View, render
from gpulint.probe.placement_log.parser import PlacementLogParser
from gpulint.rewriting.text import edited
from gpulint.settings import LintSettings, Settings, SettingsFinder
from tests.checking import findings_of

FIXTURES = Path(__file__).parent.parent / "fixtures"

TENSORFLOW = (
    "tf", "strategy", "model", "dataset", "tf.device('/gpu:0')", "tf.zeros(4)", "strategy.scope()", "tf.function",
    "tf.distribute.MirroredStrategy()", "tf.keras.Sequential([])", "model.fit(dataset, batch_size=3)",
    "strategy.run", "tf.config.list_physical_devices('GPU')", "os.environ['CUDA_VISIBLE_DEVICES']", "tf.Variable(1.0)",
    "tf.data.Dataset.range(9)",
    "dataset.batch", "tf.GradientTape()", "tf.nn.relu", "tf.keras.Model", "model", "strategy.num_replicas_in_sync",
)  # fmt: skip
HEADER = (
    "import os\nimport tensorflow as tf\nstrategy = tf.distribute.MirroredStrategy()\nmodel = tf.keras.Sequential()\n"
    "dataset = tf.data.Dataset.range(8)\nwith tf.device('/gpu:0'):\n    model.fit(dataset)\n"
)
TOKENS = (
    b"\0", b"\xff", b"\r", b"\r\n", b"\f", b"\t", b"(", b")", b"[", b"]", b"{", b"}", b"'", b'"', b'"""', b"\\\n", b"#",
    b":", b";", b"@", b"lambda: ", b"yield ", b"await ", b"*", b"**", b":=", b"->", b"\xef\xbb\xbf", b"\xe2\x80\xae",
    b"# gpulint: disable[GPU101]\n", b"# noqa\n", b"with ", b"async ", b"def f():\n", b"class A(A):\n", b"try:\n",
    b"while True:\n", b"for i in range(10**9):\n", b"return ", b"global tf\n", b"del tf\n", b"tf", b"9" * 50, b"f'{",
    b"%%writefile a.py\n",
)  # fmt: skip


# ---------------------------------------------------------------------------------------- making it


def mutated(rng: random.Random, data: bytes) -> bytes:
    """Bytes of which some are removed, doubled, moved, or replaced by others or by tokens."""
    content = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        start = rng.randrange(len(content) + 1)
        end = min(len(content), start + rng.choice((0, 1, 1, 4, 40, 400)))
        piece = bytes(content[start:end])
        content[start:end] = rng.choice(
            (b"", piece * 2, rng.choice(TOKENS), bytes([rng.randrange(256)]), piece[::-1], rng.choice(TOKENS) + piece)
        )
    return bytes(content)


@cache
def _sources() -> tuple[str, ...]:
    paths = [path for path in sorted(FIXTURES.rglob("*.py")) if path.stat().st_size < 8_000]
    return tuple(path.read_text() for path in paths)


@cache
def _pools() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(expressions, statements) of the fixtures, as text."""
    expressions: list[str] = []
    statements: list[str] = []
    for source in _sources():
        for node in ast.walk(ast.parse(source)):
            if isinstance(
                node, (ast.Call, ast.Attribute, ast.BinOp, ast.Lambda, ast.ListComp, ast.Subscript, ast.Compare)
            ):
                expressions.append(ast.unparse(node))
            elif isinstance(node, ast.stmt):
                statements.append(ast.unparse(node))
    short = [text for text in dict.fromkeys(expressions) if len(text) < 200]
    return tuple(short), tuple(text for text in dict.fromkeys(statements) if len(text) < 2_000)


class _Splicer(ast.NodeTransformer):
    """Insert pieces of other programs into a program."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._left = rng.choice((1, 3, 10, 30))

    def visit(self, node: ast.AST) -> Any:
        rng = self._rng
        if isinstance(node, ast.JoinedStr):
            return node
        if isinstance(node, ast.expr) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            if self._left and rng.random() < 0.05:
                self._left -= 1
                pool = _pools()[0] if rng.random() < 0.7 else TENSORFLOW
                return ast.parse(rng.choice(pool), mode="eval").body
        if isinstance(node, (ast.FunctionDef, ast.If, ast.For, ast.With, ast.ClassDef, ast.Module, ast.While)):
            for _ in range(rng.choice((0, 0, 1, 2))):
                place = rng.randrange(len(node.body) + 1)
                node.body[place:place] = ast.parse(rng.choice(_pools()[1])).body
            if rng.random() < 0.1:
                rng.shuffle(node.body)
        return self.generic_visit(node)


def recombined(rng: random.Random) -> bytes:
    """A program of a fixture's shape with statements and expressions of others in it."""
    tree = _Splicer(rng).visit(ast.parse(rng.choice(_sources())))
    return (HEADER + ast.unparse(ast.fix_missing_locations(tree))).encode("utf-8", "surrogatepass")


def with_tensorflow(rng: random.Random, program: str) -> bytes:
    """A program in which expressions of TensorFlow replace some names."""
    pieces: list[str] = []
    row, column = 1, 0
    lines = program.splitlines(keepends=True)
    try:
        for token in tokenize.generate_tokens(io.StringIO(program).readline):
            if token.type == tokenize.NAME and rng.random() < 0.5 and token.string.isidentifier():
                pieces.append(_between(lines, (row, column), token.start) + rng.choice(TENSORFLOW))
                row, column = token.end
    except (tokenize.TokenError, SyntaxError):
        pass
    pieces.append(_between(lines, (row, column), (len(lines) + 1, 0)))
    return (HEADER + "".join(pieces)).encode("utf-8", "surrogatepass")


def _between(lines: list[str], start: tuple[int, int], end: tuple[int, int]) -> str:
    if start[0] == end[0]:
        return lines[start[0] - 1][start[1] : end[1]] if start[0] <= len(lines) else ""
    rows = lines[start[0] - 1 : end[0]]
    return rows[0][start[1] :] + "".join(rows[1 : end[0] - start[0]]) + "".join(rows[end[0] - start[0] :])[: end[1]]


def program(rng: random.Random) -> bytes:
    """A text that may be a valid program."""
    made = recombined(rng) if rng.random() < 0.6 else rng.choice(_sources()).encode()
    return mutated(rng, made) if rng.random() < 0.5 else made


def json_mutated(rng: random.Random, value: Any) -> Any:
    """A JSON value in which some parts were replaced, doubled or removed."""
    odd = (None, True, -1, 0, 1e308, 10**30, "", "x", "\ud800\n\x1b[31m", [], {}, [[]], {"a": []}, "ipynb", ["a", 1])
    if rng.random() < 0.02:
        return rng.choice(odd)
    if isinstance(value, dict):
        items = [(key, json_mutated(rng, each)) for key, each in value.items() if rng.random() > 0.01]
        return dict(items)
    if isinstance(value, list):
        each = [json_mutated(rng, one) for one in value if rng.random() > 0.01]
        return [*each, rng.choice(odd)] if rng.random() < 0.01 else each
    return value


def notebook(rng: random.Random) -> bytes:
    """A text that may be a valid notebook."""
    data = rng.choice(sorted(FIXTURES.rglob("*.ipynb"))).read_bytes()
    if rng.random() < 0.3:
        return mutated(rng, data)
    value = json.loads(data)
    for cell in value["cells"]:
        if cell["cell_type"] == "code" and rng.random() < 0.3:
            text = mutated(rng, "".join(cell["source"]).encode()).decode("utf-8", "replace")
            cell["source"] = text if rng.random() < 0.5 else text.splitlines(keepends=True)
    return json.dumps(json_mutated(rng, value)).encode()


def log(rng: random.Random) -> bytes:
    """Possible output of a program."""
    paths = sorted((FIXTURES / "placement_logs").iterdir())
    return b"".join(mutated(rng, rng.choice(paths).read_bytes()[:20_000]) for _ in range(2))


def capture(rng: random.Random) -> bytes:
    """A text that may be a valid capture."""
    data = rng.choice(sorted((FIXTURES / "captures").iterdir())).read_bytes()
    if rng.random() < 0.3:
        return mutated(rng, data)
    records = [json_mutated(rng, json.loads(line)) for line in data.splitlines()]
    if rng.random() < 0.3:
        rng.shuffle(records)
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


# --------------------------------------------------------------------------------------- judging it


@cache
def catalogue() -> Catalogue:
    return Catalogue(pack.load(installed=False))


def check(path: str, data: bytes) -> tuple[CheckResult, Checker]:
    """The result of all rules for a file."""
    settings = Settings(root="/nowhere", lint=LintSettings(select=("ALL",)))
    checker = Checker(SettingsFinder(settings), catalogue())
    return checker.check([path], {path: data}), checker


def judge_program(path: str, data: bytes) -> None:
    """Check a file, and raise AssertionError, or the error itself, if the result is wrong."""
    result, checker = check(path, data)
    findings = findings_of(result)
    source = checker.files.source(path)
    for finding in findings:
        span = finding.span
        assert (1, 1) <= (span.row, span.column) <= (span.end_row, span.end_column), finding
        assert span.path == path and "\n" not in finding.message
    if source is not None and source.cells is None and not any(one.code == SYNTAX_ERROR for one in findings):
        for finding in findings:
            _judge_fix(source.text, finding)
    form = FORMATS[len(data) % len(FORMATS)]
    view = View(PLAIN, checker.files.line, lambda: pack.load(installed=False), 1, checker.files.in_file)
    render(form, result, view).encode("utf-8")
    again, _ = check(path, data)
    assert findings_of(again) == findings


def _judge_fix(text: str, finding: Finding) -> None:
    """A fix of a valid program leaves it valid."""
    if finding.fix is not None and _is_python(text):
        assert _is_python(edited(text, finding.fix.edits)), f"{finding.code}: {finding.fix}"


def _is_python(text: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(re.sub("\r\n?", "\n", text))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True


def judge_log(rng: random.Random, data: bytes) -> None:
    """A log has the same records, however it is split."""

    def records(pieces: list[bytes]) -> list[Any]:
        parser = PlacementLogParser()
        parts = [*(parser.feed(piece) for piece in pieces), parser.close()]
        return [record for part in parts for record in part.records]

    cuts = sorted(rng.randrange(len(data) + 1) for _ in range(rng.randrange(20)))
    pieces = [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]
    assert records(pieces) == records([data])


def judge_capture(data: bytes) -> None:
    """A capture is refused with a one-line reason, or every report on it can be written."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory, "capture.jsonl")
        file.write_bytes(data)
        form = ("text", "json", "sarif", "junit")[len(data) % 4]
        html = ["--html", str(Path(directory, "page.html"))]
        result = CliRunner().invoke(
            main, ["probe", "--isolated", "--replay", str(file), "--output-format", form, *html[: len(data) % 2 * 2]]
        )
    assert isinstance(result.exception, (SystemExit, type(None))), result.exc_info
    assert result.exit_code in (0, 1, 2, 3, 4, 124) and (result.exit_code != 2 or result.stderr.count("\n") == 1)
