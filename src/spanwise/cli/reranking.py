"""The reranker of a search: its options, and what they mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

import click

if TYPE_CHECKING:
    from spanwise.options import RerankOptions

__all__ = ["RerankArguments", "RerankKeywords", "rerank_keywords", "reranking_options"]

_Command = TypeVar("_Command", bound=Callable[..., Any])


class RerankArguments(TypedDict):
    """What a command line says of the reranker."""

    rerank: str
    rerank_chunks: int | None


class RerankKeywords(TypedDict):
    """What `KnowledgeBase.search` takes of it."""

    rerank: str | None
    rerank_options: RerankOptions | None


def reranking_options(command: _Command) -> _Command:
    """Add `--rerank`, and how much it reads."""
    options: tuple[Callable[[Any], Any], ...] = (
        click.option(
            "--rerank",
            metavar="MODEL",
            default="",
            help='Reranker that reads the best candidates, such as "cohere:rerank-v3.5", '
            '"server:MODEL@http://host:8080/v1", or "llm:" and a language model.',
        ),
        click.option(
            "--rerank-chunks",
            metavar="NUMBER",
            type=click.IntRange(min=1, max=1000),
            help="How many candidates of each query it reads, at most. Without it 100.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def rerank_keywords(arguments: RerankArguments) -> RerankKeywords:
    """Return which reranker reads how much.

    Raises:
        UsageError: If it is said how much, and no reranker is named.
    """
    chunks = arguments["rerank_chunks"]
    if not arguments["rerank"]:
        if chunks is not None:
            raise click.UsageError("--rerank-chunks is of no use without --rerank")
        return RerankKeywords(rerank=None, rerank_options=None)
    from spanwise.options import RerankOptions

    options = None if chunks is None else RerankOptions(chunks=chunks)
    return RerankKeywords(rerank=arguments["rerank"], rerank_options=options)
