"""A web site cannot lead a crawl to private addresses, to other sites, or into endless work."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.servers.web_site import Answer, page, redirect, serving

from spanwise import CrawlOptions, FetchOptions, KnowledgeBase
from spanwise.config import network_addresses as addresses

LOCAL = FetchOptions(allow_private=True, timeout_seconds=10, max_bytes=200_000)
XML = {"Content-Type": "application/xml"}


@pytest.fixture(name="base")
def open_base(tmp_path: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase(tmp_path / "a.kb", embedder=None, fetch=LOCAL) as base:
        yield base


def options(**values: object) -> CrawlOptions:
    return CrawlOptions(**{"depth": 3, "delay_seconds": 0, **values})  # type: ignore[arg-type]


def test_links_and_redirects_to_private_addresses_are_not_requested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even where other sites may be read; the public start page is added."""
    with serving({"/secret": page("Secret."), "/": page("Inside.")}) as inside:
        port = inside.url.rpartition(":")[2]
        start = page("Start.", f"{inside.url}/secret", f"http://public.test:{port}/hop", "/hop")
        inside.pages["/start"] = start
        inside.pages["/hop"] = redirect(f"{inside.url}/secret")
        monkeypatch.setattr(addresses, "is_public", addresses.is_public)
        monkeypatch.setattr("spanwise.ingest.fetch.resolve", lambda *_, **__: ["127.0.0.1"])
        asked_as_public: list[str] = []

        def is_public(address: str) -> bool:
            asked_as_public.append(address)
            return len(asked_as_public) <= 2  # robots.txt and the start page

        monkeypatch.setattr("spanwise.ingest.fetch.is_public", is_public)
        with KnowledgeBase(tmp_path / "p.kb", embedder=None, fetch=FetchOptions()) as base:
            report = base.add(f"http://public.test:{port}/start", crawl=options(same_site=False))
            assert [name.rpartition("/")[2] for name in report.added] == ["start"]
        assert "/secret" not in inside.asked
        assert any("private network" in text for text in report.warnings)


def test_redirect_to_another_site_ends_there(base: KnowledgeBase) -> None:
    """The other site gets no request, not even for its robots.txt."""
    with serving({"/": page("Elsewhere.")}) as other:
        pages = {
            "/": page("Start.", "/out", "/next"),
            "/out": redirect(other.url),
            "/next": page("Next.", head=f'<base href="{other.url}/">'),
        }
        with serving(pages) as site:
            report = base.add(site.url, crawl=options())
            assert report.added == (f"{site.url}/", f"{site.url}/next")
            assert report.failed == ()
        assert other.asked == []


def test_endless_generated_addresses_end(base: KnowledgeBase) -> None:
    """A page with the content of another one is not followed; the others are limited."""
    loop = page("Calendar.", *(f"?day={day}" for day in range(1, 40)))
    pages = {"/": loop, **{f"/?day={day}": loop for day in range(1, 40)}}
    with serving(pages) as site:
        report = base.add(site.url, crawl=options(depth=1_000))
        assert report.added == (f"{site.url}/",)
        assert len(site.asked) == 40
    with serving({f"/{n}": page(f"Page {n}.", f"/{n + 1}") for n in range(50)}) as site:
        report = base.add(f"{site.url}/0", crawl=options(depth=1_000, max_pages=5))
        assert len(site.asked) == 5


def test_redirect_loop_is_one_failure(base: KnowledgeBase) -> None:
    """Other pages are added."""
    pages = {"/": page("Start.", "/x"), "/x": redirect("/y"), "/y": redirect("/x")}
    with serving(pages) as site:
        report = base.add(site.url, crawl=options())
        assert len(report.added) == 1
        assert [failure.code for failure in report.failed] == ["network"]


def test_huge_pages_and_bombs_fail_alone(base: KnowledgeBase) -> None:
    """Neither ends the crawl."""
    html = {"Content-Type": "text/html"}
    pages = {
        "/": page("Start.", "/huge", "/bomb", "/deep", "/last"),
        "/huge": Answer(b"<p>" + b"x" * 300_000, headers=html),
        "/bomb": Answer(
            gzip.compress(b"x" * 50_000_000), headers={**html, "Content-Encoding": "gzip"}
        ),
        "/deep": Answer(b"<div>" * 20_000 + b'<a href="/found">Deep.</a>', headers=html),
        "/last": page("Last."),
        "/found": page("Found."),
    }
    with serving(pages) as site:
        report = base.add(site.url, crawl=options())
        assert [failure.code for failure in report.failed] == ["too_large", "too_large"]
        assert f"{site.url}/last" in report.added


def test_size_of_all_pages_is_limited(base: KnowledgeBase) -> None:
    """The crawl ends with a warning."""
    pages = {f"/{n}": page("x" * 1_000 + f"{n}", f"/{n + 1}") for n in range(20)}
    with serving(pages) as site:
        report = base.add(f"{site.url}/0", crawl=options(depth=100, max_bytes=3_000))
        assert len(report.added) <= 3
        assert any("max_bytes" in text for text in report.warnings)


@pytest.mark.parametrize(
    "body",
    [
        b'<!DOCTYPE a [<!ENTITY b "ccc">]><urlset><url><loc>&b;</loc></url></urlset>',
        b"<html><body>no sitemap</body></html>",
        b"<urlset><url><loc>/a</loc>",
        gzip.compress(b"<urlset>" + b" " * 60_000_000),
    ],
    ids=["entities", "html", "cut", "bomb"],
)
def test_hostile_sitemap_is_a_failure(base: KnowledgeBase, body: bytes) -> None:
    """Nothing is requested because of it."""
    with serving({"/sitemap.xml": Answer(body, headers=XML)}) as site:
        report = base.add(f"{site.url}/sitemap.xml")
        assert [failure.code for failure in report.failed] in (["corrupt"], ["too_large"])
        assert site.asked == ["/sitemap.xml"]


def test_sitemap_cannot_name_files_or_other_sites(base: KnowledgeBase) -> None:
    """Only pages of its own host are requested, and an index of itself ends."""
    with serving({"/": page("Elsewhere.")}) as other, serving({"/a": page("A.")}) as site:
        locations = ("file:///etc/passwd", f"{other.url}/", "http://u:p@x.test/", f"{site.url}/a")
        entries = "".join(f"<url><loc>{location}</loc></url>" for location in locations)
        site.pages["/s.xml"] = Answer(f"<urlset>{entries}</urlset>".encode(), headers=XML)
        index = f"<sitemapindex><sitemap><loc>{site.url}/sitemap.xml</loc></sitemap>"
        index += f"<sitemap><loc>{other.url}/s.xml</loc></sitemap>"
        index += f"<sitemap><loc>{site.url}/s.xml</loc></sitemap></sitemapindex>"
        site.pages["/sitemap.xml"] = Answer(index.encode(), headers=XML)
        report = base.add(f"{site.url}/sitemap.xml")
        assert report.added == (f"{site.url}/a",)
        assert report.failed == ()
        assert other.asked == []


def test_forged_log_cannot_name_other_addresses(base: KnowledgeBase, tmp_path: Path) -> None:
    """Addresses in the log of the last run are checked like links."""
    with serving({"/": page("Elsewhere.")}) as other, serving({"/": page("Start.")}) as site:
        base.add(site.url, crawl=options())
        (log,) = (tmp_path / "a.kb" / "crawls").glob("*.jsonl")
        text = log.read_text(encoding="utf-8")
        forged = text.replace(f'"asked": "{site.url}/"', f'"asked": "{other.url}/"')
        log.write_text(f"{text}{forged}[]\nnull\n{{}}\n{text[:30]}", encoding="utf-8")
        report = base.add(site.url, crawl=options())
        assert report.unchanged == (f"{site.url}/",)
        assert other.asked == []


def test_secrets_in_links_are_not_stored(base: KnowledgeBase, tmp_path: Path) -> None:
    """Neither in the id nor in the log."""
    pages = {"/": page("Start.", "/a?password=hunter2&x=1"), "/a?password=hunter2&x=1": page("A.")}
    with serving(pages) as site:
        report = base.add(site.url, crawl=options())
        assert report.added == (f"{site.url}/", f"{site.url}/a?x=1")
        base.close()
    stored = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"hunter2" not in stored
