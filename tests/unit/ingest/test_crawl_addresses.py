"""Normal forms of addresses, and the pages that addresses have in common."""

from __future__ import annotations

import pytest

from spanwise.ingest.crawl_addresses import (
    is_readable,
    may_be_page,
    normal_address,
    page_key,
    pattern_path,
    site_of,
)
from spanwise.ingest.fetch import read_robots
from spanwise.ingest.sources import is_sitemap

BASE = "https://example.com/docs/guide.html"


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("HTTPS://Example.COM:443/A/../b#part", "https://example.com/b"),
        ("//example.com", "https://example.com/"),
        ("?page=2&utm_source=mail&gclid=1", "https://example.com/docs/guide.html?page=2"),
        ("../x;jsessionid=1F?", "https://example.com/x"),
        ("%7euser/%c3%a9%2f", "https://example.com/docs/~user/%C3%A9%2F"),
        ("b?z=1&a=2", "https://example.com/docs/b?z=1&a=2"),
        ("mailto:a@example.com", None),
        ("javascript:alert(1)", None),
        ("file:///etc/passwd", None),
        ("https://user:password@example.com/", None),
        ("http://example.com:port/", None),
        ("/" + "x" * 3_000, None),
    ],
)
def test_normal_form(written: str, normal: str | None) -> None:
    """It is its own normal form."""
    assert normal_address(written, base=BASE) == normal
    if normal is not None:
        assert normal_address(normal) == normal


def test_variants_of_an_address_are_one_page() -> None:
    """The query is not."""
    assert page_key("http://www.example.com/a/") == page_key("https://example.com/a")
    assert page_key("https://example.com/a?b=1") != page_key("https://example.com/a")


def test_site_is_the_host_with_its_port() -> None:
    """Subdomains are other sites."""
    assert site_of("http://www.example.com?a=1") == site_of("https://example.com/b")
    assert site_of("https://example.com:8080/") != site_of("https://example.com/")
    assert site_of("https://docs.example.com/") != site_of("https://example.com/")
    assert site_of("https://example.com.evil.test/") != site_of("https://example.com/")


def test_path_for_patterns_has_no_outer_slashes() -> None:
    """Escapes are decoded."""
    assert pattern_path("https://example.com/a%20b/c/?q=1") == "a b/c"


def test_pictures_and_programs_are_no_pages() -> None:
    """By extension before the request, and by type after it."""
    assert may_be_page("https://example.com/a.html?b=c.png")
    assert may_be_page("https://example.com")
    assert not may_be_page("https://example.com/a.PNG?size=1")
    assert is_readable("text/html")
    assert is_readable(None)
    assert not is_readable("image/png")


def test_sitemaps_are_recognised_by_their_names() -> None:
    """Also compressed ones and parts of an index."""
    names = ("sitemap.xml", "sitemap_index.xml", "post-sitemap-2.xml.gz", "sitemap.xml?page=1")
    assert all(is_sitemap(f"https://example.com/{name}") for name in names)
    assert not is_sitemap("https://example.com/about-sitemaps.html")
    assert not is_sitemap("folder/sitemap.xml")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("User-agent: *\nCrawl-delay: 2.5", 2.5),
        ("User-agent: *\nCrawl-delay: 9\nUser-agent: spanwise\nCrawl-delay: 1", 1.0),
        ("User-agent: other\nCrawl-delay: 9", 0.0),
        ("User-agent: *\nCrawl-delay: nan", 0.0),
        ("User-agent: *\nCrawl-delay: -3", 0.0),
        ("User-agent: *\nCrawl-delay: soon", 0.0),
    ],
)
def test_crawl_delay_of_the_group_is_read(text: str, seconds: float) -> None:
    """Only a finite, positive number counts."""
    assert read_robots(text).delay_seconds == seconds
