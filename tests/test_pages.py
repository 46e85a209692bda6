"""The site: generated pages are complete, links have targets, and the site generator builds it if it is installed."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path, PurePosixPath
from urllib.parse import urldefrag

import click
import jsonschema
import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from gpulint.cli.config import EXAMPLES, example
from gpulint.cli.main import COMMANDS, main
from gpulint.linting import pack
from gpulint.linting.finding import Severity
from gpulint.linting.rule import Rule
from gpulint.output import site
from gpulint.output.rule_page import fixes
from gpulint.probe.verdicts import VERDICTS
from gpulint.settings import OPTIONS, Settings, apply
from scripts.pages.__main__ import write
from scripts.pages.gathered import gathered

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
RULES = pack.load(installed=False)
FILES = gathered()
PAGES = {path: text for path, text in FILES.items() if path.endswith(".md")}
MARKDOWN = MarkdownIt("commonmark").enable("table")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_each_rule_has_a_page_where_its_findings_link_to(rule: type[Rule], monkeypatch: pytest.MonkeyPatch) -> None:
    assert site.url(rule.code, rule.name) is None
    monkeypatch.setattr(site, "SITE", "https://gpulint.example/")
    page = PAGES[(site.url(rule.code, rule.name) or "").removeprefix("https://gpulint.example/").rstrip("/") + ".md"]
    assert page.startswith(f"# {rule.name} ({rule.code})\n")
    assert f"Severity: {rule.severity.value}" in page
    sections = re.findall(r"^    (## .*)$", rule.__doc__ or "", re.MULTILINE)
    assert [line for line in page.splitlines() if line.startswith("## ")] == sections


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_the_index_has_each_rule_in_its_family(rule: type[Rule]) -> None:
    index = PAGES["rules/index.md"]
    (row,) = [line for line in index.splitlines() if line.startswith(f"| {rule.code} |")]
    _, code, name, _, severity, fix, probe, _ = (cell.strip() for cell in row.split("|"))
    assert name == f"[{rule.name}]({rule.name}.md)"
    assert Severity(severity.removesuffix(", off")) is rule.severity
    assert severity.endswith(", off") is not rule.on_by_default
    assert fix == (", ".join(fixes(rule)) or "–")
    assert (probe == "yes") is (code in VERDICTS)
    heading = [line for line in index[: index.index(row)].splitlines() if line.startswith("## ")][-1]
    assert heading.endswith(f"({rule.code[:4]}xx)")


def test_every_setting_is_reported_with_an_example_that_loads() -> None:
    sections = dict(re.findall(r"^### `([^`]+)`\n(.*?)(?=^##|\Z)", PAGES["settings.md"], re.DOTALL | re.MULTILINE))
    assert sections.keys() - {"extend"} == {option.full for option in OPTIONS}
    for option in OPTIONS:
        assert option.help in sections[option.full]
        assert example(option) in sections[option.full]
        loaded = apply(Settings(), tomllib.loads(example(option))["tool"]["gpulint"])
        changed = {one.full for one in OPTIONS if one.value(loaded) != one.value(Settings())}
        assert changed == ({option.full} if option.full in EXAMPLES else set())


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_option_of_a_command_is_reported(name: str) -> None:
    section = PAGES["command-line.md"].partition(f"\n## gpulint {name}\n")[2].partition("\n## ")[0]
    command = main.get_command(click.Context(main), name)
    assert command is not None and section
    if name == "explain":
        return
    for option in (one for one in command.params if isinstance(one, click.Option)):
        (row,) = [line for line in section.splitlines() if re.match(rf"\| `([^`|]+ )*?{option.opts[0]}[ ,`]", line)]
        assert all(spelling in row for spelling in (*option.opts, *option.secondary_opts))
        assert option.help and option.help.split("|")[0].replace("*", "\\*") in row


def test_the_settings_schema_is_on_the_site_under_its_own_name() -> None:
    schema = json.loads(FILES["gpulint.schema.json"])
    assert schema["$id"] == "gpulint.schema.json"
    jsonschema.Draft7Validator.check_schema(schema)


def test_the_navigation_has_every_page_that_is_written_by_hand() -> None:
    config = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]

    def leaves(part: object) -> list[str]:
        if isinstance(part, str):
            return [part]
        parts = part.values() if isinstance(part, dict) else part
        assert not isinstance(part, (int, float))
        return [leaf for one in parts for leaf in leaves(one)]  # type: ignore[attr-defined]

    listed = leaves(config["nav"])
    assert sorted(listed) == sorted(path for path in PAGES if path == "rules/index.md" or "/" not in path)
    assert config.get("site_url") == site.SITE


def _tokens(text: str) -> list[Token]:
    return [inner for token in MARKDOWN.parse(text) for inner in (token, *(token.children or ()))]


def _links(text: str) -> list[str]:
    return [str(token.attrs["href"]) for token in _tokens(text) if token.type == "link_open"]


def _anchors(text: str) -> set[str]:
    tokens = MARKDOWN.parse(text)
    headings = [after.content for one, after in pairwise(tokens) if one.type == "heading_open"]
    return {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower()) for heading in headings}


@pytest.mark.parametrize("path", PAGES)
def test_links_of_a_page_lead_to_pages_and_headings_that_are_there(path: str) -> None:
    for link in _links(PAGES[path]):
        target, anchor = urldefrag(link)
        if "://" in target:
            continue
        target = _joined(path, target) if target else path
        assert target in FILES, link
        assert not anchor or anchor in _anchors(PAGES[target]), link


def _joined(page: str, link: str) -> str:
    parts: list[str] = []
    for part in (PurePosixPath(page).parent / link).parts:
        if part != "..":
            parts.append(part)
        else:
            parts.pop()
    return "/".join(parts)


WRITTEN = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "editors" / "vscode" / "README.md"]


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_of_the_repositorys_own_pages_lead_to_its_files(page: Path) -> None:
    for link in _links(page.read_text(encoding="utf-8")):
        target, anchor = urldefrag(link)
        if "://" not in target:
            file = page.parent / target if target else page
            assert file.exists(), link
            assert not anchor or anchor in _anchors(file.read_text(encoding="utf-8")), link


def test_removed_pages_are_deleted_from_the_output(tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "gone.md").write_text("# Gone\n")
    write(tmp_path)
    assert {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()} == FILES.keys()


@pytest.mark.skipif(importlib.util.find_spec("zensical") is None, reason="no zensical: pip install 'gpulint[docs]'")
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    (tmp_path / "zensical.toml").write_bytes((ROOT / "zensical.toml").read_bytes())
    write(tmp_path / "build" / "pages")
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    root = tmp_path / "build" / "site"
    missing = [rule.code for rule in RULES if not (root / "rules" / rule.name / "index.html").is_file()]
    assert missing == []
    outside = re.findall(r'(?:src|href)="(https?:[^"]+)"', (root / "index.html").read_text(encoding="utf-8"))
    assert [one for one in outside if not one.startswith("https://zensical.org/")] == []
