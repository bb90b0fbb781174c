"""The documentation site: complete, without requests to other hosts, and usable from disk."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.browser import chromium

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site strictly: a broken link, or a page without a place in the menu, fails."""
    folder = tmp_path_factory.mktemp("site")
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        check=True,
        timeout=120,
    )
    return folder


def test_the_site_loads_nothing_from_other_hosts(site: Path) -> None:
    """Scripts, styles, fonts and images are files of the site. Diagrams would load a script."""
    pages = {path: path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    assert len(pages) > 30
    for path, text in pages.items():
        elements = re.findall(r"<(?:script|img|iframe|source|link|object)\b[^>]*>", text)
        loaded = [element for element in elements if 'rel="canonical"' not in element]
        assert not [element for element in loaded if "//" in element], path
        assert 'class="mermaid"' not in text, path
    for path in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import )[\"']?(https?:)?//", path.read_text("utf-8")), path


def test_the_site_has_no_sources(site: Path) -> None:
    assert [path for path in site.rglob("*") if path.suffix in (".py", ".toml", ".pyc")] == []


@pytest.mark.browser
def test_a_reader_finds_a_page_by_search_from_disk(site: Path) -> None:
    """The pages open from disk, and the search leads to a page; nothing else is requested."""
    requested: list[str] = []
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 390, "height": 800}, color_scheme="dark")
        page.on("request", lambda request: requested.append(request.url))
        page.goto((site / "guides" / "contracts.html").as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert page.evaluate("document.body.dataset.mdColorScheme") == "slate"
        page.set_viewport_size({"width": 1280, "height": 800})
        page.fill("input[name=query]", "segment charge budget")
        result = page.locator(".md-search-result__item a", has_text="Concepts").first
        result.click()
        page.wait_for_url("**/concepts.html*")
        assert page.locator("article img").count() >= 6
        broken = "[...document.images].filter(image => !image.naturalWidth).length"
        assert page.evaluate(broken) == 0
    assert {url.partition(":")[0] for url in requested} <= {"file", "data", "about"}
