"""Options of ingest jobs: arguments of `KnowledgeBase.add`, kept as JSON data with the job."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from spanwise.errors import OptionError
from spanwise.ingest.folder_walk import PathPatterns
from spanwise.ingest.locations import unsigned
from spanwise.ingest.sources import check_address, is_url
from spanwise.knowledge_base.arguments import checked_given, checked_metadata
from spanwise.options import ContextOptions, CrawlOptions
from spanwise.server.problems import Problem
from spanwise.server.requests import JobBody, read_options
from spanwise.types import GivenParts

if TYPE_CHECKING:
    from spanwise.models.ports import LanguageModel


def job_options(body: JobBody, *, llm: str | LanguageModel | None) -> dict[str, Any]:
    """Return the options of a job as JSON data, after the checks that need no document.

    Args:
        body: Arguments of the request.
        llm: Language model that jobs may use; None if there is none.

    Raises:
        OptionError: If an option has the wrong type or is out of range.
        Problem: If a language model is needed and jobs may not use one.
        FetchError: If the address of a sitemap contains credentials.
    """
    given = body.model_dump(exclude={"url", "replace"})
    options = {name: value for name, value in given.items() if value not in (None, [])}
    arguments = add_arguments(options, llm=llm)
    checked_metadata(arguments.get("metadata"))
    checked_given(arguments.get("given"))
    PathPatterns.of(arguments.get("include", ()), arguments.get("exclude", ()))
    context: ContextOptions | None = arguments.get("context")
    if context is not None and not context.requests_parts:
        raise OptionError(
            "context selects no parts; give sections, headers, chunk_contexts, read_pages or "
            "describe_figures"
        )
    if context is not None and llm is None:
        raise Problem(
            403,
            "generation_not_allowed",
            "this server does not allow requests to use its model for parts of documents; "
            "leave out `context`, or start the server with --llm MODEL --allow-generation",
        )
    crawl: CrawlOptions | None = arguments.get("crawl")
    for address in () if crawl is None else crawl.sitemaps:
        _check_sitemap(address)
    try:
        json.dumps(options, allow_nan=False)
    except ValueError as error:
        raise OptionError("a number of the options is infinite or NaN; give a number") from error
    return options


def add_arguments(options: Mapping[str, Any], *, llm: str | LanguageModel | None) -> dict[str, Any]:
    """Return the keyword arguments of `KnowledgeBase.add` for the options of a job.

    Raises:
        OptionError: If a field of options is unknown, has the wrong type or is out of range.
    """
    arguments = {
        name: options[name] for name in ("metadata", "include", "exclude") if name in options
    }
    if "context" in options:
        arguments["context"] = read_options(ContextOptions, options["context"], name="context")
        arguments["llm"] = llm
    if "crawl" in options:
        arguments["crawl"] = read_options(CrawlOptions, options["crawl"], name="crawl")
    if "given" in options:
        arguments["given"] = {
            document_id: read_options(GivenParts, parts, name=f"given[{document_id[:80]!r}]")
            for document_id, parts in options["given"].items()
        }
    return arguments


def _check_sitemap(address: str) -> None:
    """Check that an address of a sitemap can be fetched and kept with the job.

    Raises:
        OptionError: If it is not an HTTP URL, or has a signature.
        FetchError: If it contains credentials.
    """
    if not is_url(address):
        raise OptionError("a sitemap of crawl.sitemaps must begin with http:// or https://")
    check_address(address)
    if unsigned(address) != address:
        raise OptionError("a sitemap of crawl.sitemaps has a signature; give it as `url`")
