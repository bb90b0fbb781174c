"""The threat model in SECURITY.md: every row names tests that exist, and every such test a row."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
COLUMNS = ["attacker", "asset", "attack", "defence", "tests"]
PATH = re.compile(r"`([\w/]+\.py)`")


def threats() -> list[list[str]]:
    """Return the rows of the table of threats, without its head."""
    page = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    section = page.partition("\n## Threats\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    head, rule, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert head == COLUMNS
    assert set(rule) == {"---"}
    return rows


def test_every_threat_names_its_tests() -> None:
    rows = threats()
    assert len(rows) > 40
    for row in rows:
        assert len(row) == len(COLUMNS), row
        assert all(row), row
        assert PATH.findall(row[-1]), row


def test_every_named_test_exists() -> None:
    """Also those outside of the table."""
    page = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    missing = [name for name in PATH.findall(page) if not (TESTS / name).is_file()]
    assert missing == []


def test_every_security_test_belongs_to_a_threat() -> None:
    named = {name for row in threats() for name in PATH.findall(row[-1])}
    written = {f"security/{path.name}" for path in (TESTS / "security").glob("test_*.py")}
    assert sorted(written - named) == []
