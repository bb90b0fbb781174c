"""Pages that web pages and sitemaps link to are added from a real server."""

from __future__ import annotations

import asyncio
import gzip
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.servers.web_site import Answer, Site, page, redirect, serving

from spanwise import AsyncKnowledgeBase, CrawlOptions, FetchOptions, KnowledgeBase
from spanwise.errors import OptionError
from spanwise.types import IngestProgress, IngestReport

LOCAL = FetchOptions(allow_private=True, timeout_seconds=10)
XML = {"Content-Type": "application/xml"}


@pytest.fixture(name="site")
def run_site() -> Iterator[Site]:
    with serving(
        {
            "/": page("Start.", "/a", "/b/?utm_source=x#top", "/a#part", "mailto:x@y.z", "/i.png"),
            "/a": page("Page A.", "/", "/c", "https://other.example/page"),
            "/b/": page("Page B.", "../a/", "/c"),
            "/c": page("Page C.", "/d"),
            "/d": page("Page D."),
        }
    ) as site:
        yield site


@pytest.fixture(name="base")
def open_base(tmp_path: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase(tmp_path / "a.kb", embedder=None, fetch=LOCAL) as base:
        yield base


def options(depth: int = 2, **limits: Any) -> CrawlOptions:
    return CrawlOptions(depth=depth, delay_seconds=0, **limits)


def crawl(base: KnowledgeBase, site: Site, start: str = "/", **limits: Any) -> IngestReport:
    return base.add(f"{site.url}{start}", crawl=options(**limits))


def paths(ids: tuple[str, ...], site: Site) -> list[str]:
    return [name.removeprefix(site.url) for name in ids]


def test_links_are_followed_breadth_first_up_to_the_depth(base: KnowledgeBase, site: Site) -> None:
    """Each page once, without fragments and tracking parameters, and no page of another site."""
    report = crawl(base, site)
    assert paths(report.added, site) == ["/", "/a", "/b/", "/c"]
    assert report.failed == ()
    assert site.asked == ["/", "/a", "/b/", "/c"]
    assert [record.id for record in base.list()] == sorted(report.added)


def test_only_changed_pages_are_replaced_by_the_next_run(base: KnowledgeBase, site: Site) -> None:
    """A server with ETags sends only those, other pages are compared by their content."""
    site.pages["/a"].headers = {**site.pages["/a"].headers, "ETag": '"1"'}
    crawl(base, site)
    site.pages["/b/"] = page("Page B, second edition.", "/c", "/new")
    site.pages["/new"] = page("New page.")
    report = crawl(base, site)
    assert paths(report.replaced, site) == ["/b/"]
    assert paths(report.added, site) == ["/new"]
    assert paths(report.unchanged, site) == ["/", "/a", "/c"]
    assert site.unmodified == ["/a"]
    assert base.get(f"{site.url}/b/").text.startswith("Page B, second edition.")


def test_page_that_is_gone_is_reported_and_removed_on_request(
    base: KnowledgeBase, site: Site
) -> None:
    """Also if no page links to it any more."""
    crawl(base, site)
    site.pages["/b/"] = page("Page B.", "/c")
    site.pages["/"] = page("Start again.", "/b/")
    del site.pages["/a"]
    report = crawl(base, site)
    assert report.removed == ()
    assert any(f"{site.url}/a" in text and "404" in text for text in report.warnings)
    assert base.record(f"{site.url}/a")
    report = crawl(base, site, remove_gone=True)
    assert paths(report.removed, site) == ["/a"]


def test_server_that_fails_removes_nothing(base: KnowledgeBase, site: Site) -> None:
    """Neither an error of the server nor a missing start page means that pages are gone."""
    crawl(base, site)
    site.pages["/a"] = Answer(b"", 503)
    report = crawl(base, site, remove_gone=True)
    assert report.removed == ()
    assert [failure.code for failure in report.failed] == ["network"]
    site.pages.clear()
    report = crawl(base, site, remove_gone=True)
    assert report.removed == ()
    assert len(base.list()) == 4


def test_interrupted_crawl_does_not_request_stored_pages_again(
    base: KnowledgeBase, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next run continues with the pages that were not stored."""
    monkeypatch.setattr("spanwise.ingest.crawl._BATCH_PAGES", 1)

    def stop(progress: IngestProgress) -> None:
        if progress.document_id.endswith("/b/"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        base.add(site.url, crawl=options(), on_document=stop)
    site.asked.clear()
    report = crawl(base, site, start="")
    assert site.asked[-1] == "/c"
    assert "/a" not in site.asked
    assert paths(report.added, site) == ["/c"]
    site.asked.clear()
    crawl(base, site, start="")
    assert site.asked == ["/", "/a", "/b/", "/c"]


def test_time_limit_ends_a_crawl_that_the_next_run_continues(
    base: KnowledgeBase, site: Site
) -> None:
    """The pages before are stored, and a warning names the limit."""
    crawler = CrawlOptions(depth=2, delay_seconds=0.2, max_seconds=0.3)
    report = base.add(site.url, crawl=crawler)
    assert 0 < len(report.added) < 4
    assert any("max_seconds" in text for text in report.warnings)
    site.asked.clear()
    report = crawl(base, site, start="")
    assert len(site.asked) < 4
    assert len(base.list()) == 4


def test_a_run_that_stops_at_the_pages_of_the_last_run_is_continued(
    base: KnowledgeBase, site: Site
) -> None:
    """Nothing is removed before, and the next run requests only the remaining pages."""
    crawl(base, site)
    site.pages["/"] = page("Start again.")
    for path in ("/a", "/b/", "/c"):
        site.pages[path] = page(f"Page {path}. {'Words. ' * 1000}")
    del site.pages["/a"]
    report = crawl(base, site, remove_gone=True, max_bytes=5_000)
    assert report.removed == ()
    assert any("run the same command again" in text for text in report.warnings)
    site.asked.clear()
    report = crawl(base, site, remove_gone=True)
    assert paths(report.removed, site) == ["/a"]
    assert "/" not in site.asked


def test_pages_that_are_left_out_end_a_row_of_failures(base: KnowledgeBase) -> None:
    """The server works if it answers most pages."""
    hidden = '<meta name="robots" content="noindex">'
    names = [f"/{kind}{number}" for number in range(12) for kind in ("failing", "hidden")]
    pages = {name: Answer(b"", 500) for name in names if name.startswith("/failing")}
    pages |= {name: page(name, head=hidden) for name in names if name.startswith("/hidden")}
    with serving({**pages, "/": page("Start.", *names, "/last"), "/last": page("Last.")}) as site:
        assert paths(crawl(base, site).added, site) == ["/", "/last"]


def test_pages_that_are_not_requested_do_not_end_a_row_of_failures(base: KnowledgeBase) -> None:
    names = [f"/{kind}{number}" for number in range(12) for kind in ("failing", "private/")]
    pages = {name: Answer(b"", 500) for name in names if name.startswith("/failing")}
    robots = Answer(b"User-agent: *\nDisallow: /private/\n")
    with serving({**pages, "/": page("Start.", *names), "/robots.txt": robots}) as site:
        report = crawl(base, site)
        assert len(report.failed) == 10
        assert any("failures in a row" in text for text in report.warnings)


def test_files_of_pages_that_are_left_out_are_removed_at_once(
    base: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crawl of many such pages needs no room on the disk for them."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    canonical = '<link rel="canonical" href="/page">'
    pages = {
        "/": page("Start.", "/hidden", "/same", "/page", "/print"),
        "/hidden": page("Hidden.", head='<meta name="robots" content="noindex">'),
        "/same": page("Start.", "/hidden", "/same", "/page", "/print"),
        "/page": page("The page."),
        "/print": page("The print.", head=canonical),
    }
    seen: list[bytes] = []

    def read_files(_: IngestProgress) -> None:
        if not seen:
            seen.extend(path.read_bytes() for path in tmp_path.rglob("*") if is_page(path))

    def is_page(path: Path) -> bool:
        return path.is_file() and b"<html>" in path.read_bytes()

    with serving(pages) as site:
        report = base.add(site.url, crawl=options(), on_document=read_files)
    assert paths(report.added, site) == ["/", "/page"]
    assert sorted(seen) == sorted(pages[path].body for path in ("/", "/page"))


def test_number_of_pages_is_limited(base: KnowledgeBase, site: Site) -> None:
    """A warning names the limit."""
    report = crawl(base, site, max_pages=2)
    assert paths(report.added, site) == ["/", "/a"]
    assert any("max_pages=2" in text for text in report.warnings)


def test_patterns_select_paths(base: KnowledgeBase, site: Site) -> None:
    """Other links are not requested; the start page always is."""
    report = base.add(site.url, crawl=options(depth=5), include=["a", "c", "d"], exclude=["d"])
    assert paths(report.added, site) == ["/", "/a", "/c"]


def test_canonical_page_replaces_its_variants(base: KnowledgeBase) -> None:
    """Two pages that name each other lose only one of them."""

    def canonical(path: str) -> str:
        return f'<link rel="canonical" href="{path}">'

    pages = {
        "/": page("Start.", "/print?x=1", "/one"),
        "/print?x=1": page("Print of the page.", head=canonical("/page")),
        "/page": page("The page."),
        "/one": page("One.", "/two", head=canonical("/two")),
        "/two": page("Two.", head=canonical("/one")),
    }
    with serving(pages) as site:
        report = crawl(base, site)
        assert sorted(paths(report.added, site)) == ["/", "/page", "/two"]


def test_redirected_page_has_the_id_of_its_target(base: KnowledgeBase) -> None:
    """Several redirects to a page give one document."""
    pages = {
        "/": page("Start.", "/old", "/older", "/new"),
        "/old": redirect("/new"),
        "/older": redirect("/old"),
        "/new": page("New page."),
    }
    with serving(pages) as site:
        report = crawl(base, site)
        assert paths(report.added, site) == ["/", "/new"]
        assert report.failed == ()


def test_pages_that_programs_must_not_use_are_left_out(base: KnowledgeBase) -> None:
    """By robots.txt, by rel=nofollow and by a meta element, unless rules are ignored."""
    pages = {
        "/robots.txt": Answer(b"User-agent: *\nDisallow: /private\n"),
        "/": Answer(
            b'<p>Start.</p><a href="/private/x">a</a><a rel="nofollow" href="/ad">b</a>'
            b'<a href="/quiet">c</a><a href="/last">d</a>',
            headers={"Content-Type": "text/html"},
        ),
        "/quiet": page("Quiet.", head='<meta name="robots" content="noindex">'),
        "/last": page("Last.", "/more", head='<meta name="robots" content="nofollow">'),
        "/more": page("More."),
    }
    with serving(pages) as site:
        report = crawl(base, site)
        assert paths(report.added, site) == ["/", "/last"]
        assert site.asked == ["/", "/quiet", "/last"]
        assert sum("left out" in text for text in report.warnings) == 2
        assert report.failed == ()


def test_delay_of_the_server_and_of_the_options_is_kept(base: KnowledgeBase, site: Site) -> None:
    """The longer one applies."""
    site.pages["/robots.txt"] = Answer(b"User-agent: *\nCrawl-delay: 0.2\n")
    started = time.monotonic()
    crawl(base, site, max_pages=3)
    assert time.monotonic() - started >= 0.4


def test_only_readable_types_are_added(base: KnowledgeBase) -> None:
    """Others are counted in one warning for each type."""
    pages = {
        "/": page("Start.", "/text", "/data", "/picture"),
        "/text": Answer(b"Plain words.", headers={"Content-Type": "text/plain"}),
        "/data": Answer(b"{}", headers={"Content-Type": "application/json"}),
        "/picture": Answer(b"\x89PNG", headers={"Content-Type": "image/png"}),
    }
    with serving(pages) as site:
        report = crawl(base, site)
        assert paths(report.added, site) == ["/", "/text"]
        assert report.failed == ()
        assert sum("of the type" in text for text in report.warnings) == 2


@pytest.mark.parametrize("packed", [False, True])
def test_sitemap_adds_its_pages(base: KnowledgeBase, site: Site, packed: bool) -> None:
    """Without their links; an index names other sitemaps, and each may be compressed."""
    entries = "".join(f"<url><loc> {site.url}{path} </loc></url>" for path in ("/a", "/d"))
    sitemap = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>'
    body = gzip.compress(sitemap.encode()) if packed else sitemap.encode()
    site.pages["/pages.xml"] = Answer(body, headers=XML)
    index = f"<sitemapindex><sitemap><loc>{site.url}/pages.xml</loc></sitemap></sitemapindex>"
    site.pages["/sitemap.xml"] = Answer(index.encode(), headers=XML)
    fast = options(depth=0)
    report = base.add(f"{site.url}/sitemap.xml", crawl=fast)
    assert paths(report.added, site) == ["/a", "/d"]
    report = base.add(crawl=options(depth=0, sitemaps=(f"{site.url}/pages.xml",)))
    assert paths(report.unchanged, site) == ["/a", "/d"]


def test_sitemap_is_read_without_options(base: KnowledgeBase, site: Site) -> None:
    """Its name is enough."""
    body = f"<urlset><url><loc>{site.url}/a</loc></url></urlset>".encode()
    site.pages["/sitemap.xml"] = Answer(body, headers=XML)
    assert paths(base.add(f"{site.url}/sitemap.xml").added, site) == ["/a"]


def test_other_sites_are_read_on_request(base: KnowledgeBase, site: Site) -> None:
    """The host decides, with its port."""
    with serving({"/": page("Other start.", f"{site.url}/a")}) as other:
        report = base.add(other.url, crawl=options(depth=1))
        assert report.added == (f"{other.url}/",)
        report = base.add(other.url, crawl=options(depth=1, same_site=False))
        assert report.added == (f"{site.url}/a",)


def test_crawl_and_files_are_added_in_one_call(
    base: KnowledgeBase, site: Site, tmp_path: Path
) -> None:
    """The report is joined."""
    (tmp_path / "note.md").write_text("# Note\n\nWords.")
    report = base.add(tmp_path / "note.md", site.url, crawl=options(depth=0))
    assert report.added == ("note.md", f"{site.url}/")


def test_dry_run_stores_nothing(base: KnowledgeBase, site: Site) -> None:
    """Pages are requested, and the report says what would be added."""
    report = base.add(site.url, crawl=options(), dry_run=True)
    assert len(report.added) == 4
    assert base.list() == []
    assert len(base.add(site.url, crawl=options()).added) == 4


def test_crawl_needs_a_url(base: KnowledgeBase, tmp_path: Path) -> None:
    """A folder cannot be crawled."""
    with pytest.raises(OptionError):
        base.add(tmp_path, crawl=options())


def test_progress_counts_the_whole_crawl(
    base: KnowledgeBase, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not only the current batch."""
    monkeypatch.setattr("spanwise.ingest.crawl._BATCH_PAGES", 2)
    seen: list[IngestProgress] = []
    base.add(site.url, crawl=options(), on_document=seen.append)
    assert [progress.documents_done for progress in seen] == [1, 2, 3, 4]
    assert all(progress.documents_total >= progress.documents_done for progress in seen)


def test_a_delay_beyond_the_time_limit_ends_the_crawl(base: KnowledgeBase, site: Site) -> None:
    """The crawl neither waits for it nor ignores it."""
    site.pages["/robots.txt"] = Answer(b"User-agent: *\nCrawl-delay: 1000\n")
    started = time.monotonic()
    report = crawl(base, site, max_seconds=30)
    assert time.monotonic() - started < 20
    assert paths(report.added, site) == ["/"]
    assert any("max_seconds" in warning for warning in report.warnings)


def test_a_redirect_waits_for_the_delay_too(base: KnowledgeBase) -> None:
    """Each redirect is a request to the server."""
    pages = {"/": redirect("/b"), "/b": redirect("/c"), "/c": page("The end.")}
    with serving(pages) as site:
        report = base.add(f"{site.url}/", crawl=CrawlOptions(depth=0, delay_seconds=0.3))
        assert all(after - before >= 0.29 for before, after in pairwise(site.seconds))
        assert site.asked == ["/", "/b", "/c"]
        assert paths(report.added, site) == ["/c"]


def test_endless_redirects_are_reported(base: KnowledgeBase) -> None:
    with serving({"/": redirect("/")}) as site:
        report = crawl(base, site)
        assert [failure.code for failure in report.failed] == ["network"]
        assert len(site.asked) <= LOCAL.max_redirects + 1


def test_the_warning_says_why_a_page_is_left_out(base: KnowledgeBase) -> None:
    """A page that robots.txt forbids is not one on a private network."""
    pages = {
        "/robots.txt": Answer(b"User-agent: *\nDisallow: /private\n"),
        "/": page("Start.", "/private/x", "/moved"),
        "/moved": redirect("/private/y"),
    }
    with serving(pages) as site:
        (warning,) = (text for text in crawl(base, site).warnings if "left out" in text)
        assert "robots.txt" in warning
        assert "1 more" in warning
        assert "private network" not in warning


def test_the_warning_names_a_private_network(
    tmp_path: Path, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name of a server may lead into a private network later."""
    connections: list[str] = []

    def is_public(address: str) -> bool:
        connections.append(address)
        return len(connections) <= 2  # for robots.txt and the start page

    monkeypatch.setattr("spanwise.ingest.fetch.is_public", is_public)
    with KnowledgeBase(tmp_path / "b.kb", embedder=None, fetch=FetchOptions()) as base:
        report = crawl(base, site, depth=1)
    assert paths(report.added, site) == ["/"]
    (warning,) = (text for text in report.warnings if "left out" in text)
    assert "private network" in warning
    assert "robots.txt" not in warning


def test_a_redirect_to_an_excluded_page_is_left_out(base: KnowledgeBase, site: Site) -> None:
    site.pages["/a"] = redirect("/private/x")
    site.pages["/private/x"] = page("Private.")
    report = base.add(f"{site.url}/", crawl=options(), exclude=["private/"])
    assert "/private/x" not in paths(report.added, site)


def test_a_cancelled_crawl_ends(site: Site, tmp_path: Path) -> None:
    """Also while it waits for the delay of a server."""

    async def run() -> None:
        blocking = KnowledgeBase(tmp_path / "a.kb", embedder=None, fetch=LOCAL)
        async with AsyncKnowledgeBase(blocking) as base:
            task = asyncio.create_task(
                base.add(f"{site.url}/", crawl=CrawlOptions(depth=2, delay_seconds=600))
            )
            while "/" not in site.asked:
                await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            ended = time.monotonic() + 10
            while any(thread.name == "spanwise-async" for thread in threading.enumerate()):
                assert time.monotonic() < ended
                await asyncio.sleep(0.05)

    asyncio.run(run())
