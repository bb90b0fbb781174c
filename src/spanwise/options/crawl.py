"""Options of crawls of web sites."""

from __future__ import annotations

from dataclasses import dataclass

from spanwise.options.checks import check, check_types
from spanwise.options.ingest import MAX_TIMEOUT_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlOptions:
    """Extent and limits of a crawl: the pages that a web page or a sitemap links to."""

    depth: int = 1
    """Maximum number of links from a start page to a page, at least 0. Pages of sitemaps are start
    pages."""
    same_site: bool = True
    """Whether only pages of the hosts of the start pages and sitemaps are read. "www." makes no
    difference to a host; its other subdomains are other hosts."""
    sitemaps: tuple[str, ...] = ()
    """URLs of sitemaps or sitemap indexes whose pages are start pages."""
    max_pages: int = 1_000
    """Maximum number of pages that are requested, at least 1."""
    max_bytes: int = 1_000_000_000
    """Maximum size of all responses in bytes, at least 1. `FetchOptions.max_bytes` applies to each
    of them."""
    max_seconds: float = 3_600.0
    """Time after which no further page is requested, in seconds, in (0, 1,000,000]."""
    delay_seconds: float = 1.0
    """Minimum time between two requests to a host, redirects included, in seconds, in
    [0, 1,000,000]. A longer Crawl-delay in robots.txt takes precedence, unless robots.txt is
    ignored."""
    remove_gone: bool = False
    """Whether documents of pages that no longer exist are removed. Otherwise they are reported."""

    def __post_init__(self) -> None:
        check_types(self)
        check(self.depth >= 0, "depth", self.depth, "at least 0")
        is_list = not isinstance(self.sitemaps, str) and all(
            isinstance(address, str) for address in self.sitemaps
        )
        check(is_list, "sitemaps", self.sitemaps, "a sequence of URLs")
        for name in ("max_pages", "max_bytes"):
            check(getattr(self, name) >= 1, name, getattr(self, name), "at least 1")
        most, delay = MAX_TIMEOUT_SECONDS, self.delay_seconds
        check(0 < self.max_seconds <= most, "max_seconds", self.max_seconds, "in (0, 1,000,000]")
        check(0 <= delay <= most, "delay_seconds", delay, "in [0, 1,000,000]")
