"""Command-line options of crawls."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

import click
from click.core import ParameterSource

from spanwise.cli.arguments import with_options

if TYPE_CHECKING:
    from spanwise.options import CrawlOptions

crawl_options = with_options(
    click.option(
        "--crawl",
        is_flag=True,
        help="Also add the pages that the URLs link to. Pages that robots.txt forbids are left "
        "out; --include and --exclude are patterns of the path in the URL.",
    ),
    click.option(
        "--depth",
        metavar="N",
        type=click.IntRange(min=0),
        default=1,
        show_default=True,
        help="With --crawl: maximum number of links from a URL to a page.",
    ),
    click.option(
        "--same-site/--all-sites",
        default=True,
        show_default=True,
        help="With --crawl: whether only pages on the hosts of the URLs are added.",
    ),
    click.option(
        "--sitemap",
        multiple=True,
        metavar="URL",
        help="Add the pages of a sitemap or sitemap index, which may be compressed. Repeatable. "
        "Their links are followed only with --crawl.",
    ),
    click.option(
        "--max-pages",
        metavar="N",
        type=click.IntRange(min=1),
        default=1_000,
        show_default=True,
        help="With --crawl or a sitemap: maximum number of pages to request.",
    ),
    click.option(
        "--max-seconds",
        metavar="SECONDS",
        type=click.FloatRange(min=0, min_open=True),
        default=3600,
        show_default=True,
        help="With --crawl or a sitemap: time after which no further page is requested.",
    ),
    click.option(
        "--delay",
        metavar="SECONDS",
        type=click.FloatRange(min=0),
        default=1.0,
        show_default=True,
        help="With --crawl or a sitemap: minimum time between two requests to a host. A longer "
        "Crawl-delay in robots.txt takes precedence.",
    ),
    click.option(
        "--remove-gone",
        is_flag=True,
        help="With --crawl or a sitemap: remove the documents of pages that no longer exist. "
        "Without this option, they are listed.",
    ),
)
"""Options of crawls."""


class CrawlArguments(TypedDict):
    """Sources, and values of the options of crawls."""

    sources: tuple[str, ...]
    crawl: bool
    depth: int
    same_site: bool
    sitemap: tuple[str, ...]
    max_pages: int
    max_seconds: float
    delay: float
    remove_gone: bool


def read_crawl(arguments: CrawlArguments) -> CrawlOptions | None:
    """Return the options of a crawl; None if none was requested.

    Raises:
        UsageError: If an option of crawls is given without a crawl.
    """
    from spanwise.ingest.sources import is_sitemap
    from spanwise.options import CrawlOptions

    if not (arguments["crawl"] or arguments["sitemap"]):
        context = click.get_current_context()
        has_sitemap = any(map(is_sitemap, arguments["sources"]))
        for name in ("depth", "same_site", "max_pages", "max_seconds", "delay", "remove_gone"):
            is_given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
            if is_given and (name in ("depth", "same_site") or not has_sitemap):
                option = f"--{name.replace('_', '-')}"
                raise click.UsageError(f"{option} is of no use without --crawl")
        if not has_sitemap:
            return None
    return CrawlOptions(
        depth=arguments["depth"] if arguments["crawl"] else 0,
        same_site=arguments["same_site"],
        sitemaps=arguments["sitemap"],
        max_pages=arguments["max_pages"],
        max_seconds=arguments["max_seconds"],
        delay_seconds=arguments["delay"],
        remove_gone=arguments["remove_gone"],
    )
