from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import spanwise

ROOT = Path(__file__).resolve().parents[2]
DOCS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("name", spanwise.__all__)
def test_each_public_name_exists(name: str) -> None:
    assert getattr(spanwise, name) is not None
    assert name in dir(spanwise)


def test_public_names_are_sorted_and_unique() -> None:
    assert list(spanwise.__all__) == sorted(set(spanwise.__all__))


def test_a_name_that_is_not_public_is_refused() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Passage'"):
        _ = spanwise.Passage


def test_a_star_import_gives_exactly_the_public_names() -> None:
    code = (
        "before = set(globals()); from spanwise import *; print(*sorted(set(globals()) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert sorted(set(done.stdout.split()) - {"before"}) == list(spanwise.__all__)


@pytest.mark.parametrize("name", spanwise.__all__)
def test_each_public_name_is_documented(name: str) -> None:
    texts = [path.read_text(encoding="utf-8") for path in DOCS]
    named = re.compile(rf"`{name}\b|^from spanwise import .*\b{name}\b", re.MULTILINE)
    assert any(named.search(text) for text in texts)


def test_the_version_stands_in_one_form_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == spanwise.__version__
    assert f"## {spanwise.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
