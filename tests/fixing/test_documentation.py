"""docs/fixes.md lists exactly the rules that offer a fix."""

from __future__ import annotations

import re
from pathlib import Path

from tests.fixing.test_rules import FIXING

PAGE = Path(__file__).resolve().parents[2] / "docs" / "fixes.md"


def test_the_table_has_the_rules_that_fix() -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| GPU")]
    listed = {code for row in rows for code in re.findall(r"GPU\d{3}", row.split("|")[1])}
    assert listed == {rule.code for rule in FIXING}
