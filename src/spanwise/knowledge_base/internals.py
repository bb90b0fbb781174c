"""Internal parts of an open knowledge base, for evaluation, benchmarks and tests. No public API."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

from spanwise.models.ledger import Ledger

if TYPE_CHECKING:
    from spanwise.answers.answerer import Answerer
    from spanwise.core.ranking.relevance import RelevanceModel
    from spanwise.knowledge_base.answering import AskArguments
    from spanwise.knowledge_base.facade import KnowledgeBase
    from spanwise.knowledge_base.settings import Settings
    from spanwise.search.pipeline import Searcher
    from spanwise.stores.port import Store
    from spanwise.types import Document, GivenParts, IngestReport


def store_of(base: KnowledgeBase) -> Store:
    """Return the store. It is also the cache of model outputs."""
    return base._store


def settings_of(base: KnowledgeBase) -> Settings:
    """Return the recorded settings."""
    return base._settings


def searcher_of(
    base: KnowledgeBase, model: RelevanceModel, *, ledger: Ledger | None = None
) -> Searcher:
    """Return the search pipeline with another relevance model, without a tuning.

    Args:
        base: The knowledge base.
        model: Relevance model of the searches.
        ledger: Ledger that counts the vectors of questions and holds the cost limit; None for a
            new one without a limit.
    """
    return replace(base._untuned, model=model, ledger=ledger or Ledger())


def answerer_of(
    base: KnowledgeBase, *, budget: Ledger | None = None, **arguments: Unpack[AskArguments]
) -> Answerer:
    """Return the pipeline that answers a question as `KnowledgeBase.ask` does. Nothing is called.

    Args:
        base: The knowledge base.
        budget: Shared budget of several operations; None for none.
        **arguments: Arguments of `KnowledgeBase.ask`.

    Raises:
        OptionError: If no model is named, or an option does not fit another.
        ModelKeyError: If there is no key for the model.
    """
    return base._answerer(budget=budget, **arguments)


def use_budget(base: KnowledgeBase, budget: Ledger) -> None:
    """Count all calls of a newly opened knowledge base in a shared budget, and limit them by it.

    Must be called before any other use of the knowledge base.
    """
    base._budget = budget


def add_parsed(base: KnowledgeBase, document: Document, *, given: GivenParts) -> IngestReport:
    """Add a parsed document, such as one of another knowledge base.

    Args:
        base: The knowledge base.
        document: The parsed document.
        given: Parts of the document that are not derived again.

    Raises:
        DocumentError: If its chunks cannot be embedded; its cause is the error of the embedder.
        OptionError: If the parts do not fit to the document.
        CostLimitError: If embedding may cost more than is left.
    """
    from spanwise.ingest import IngestJob

    return base._ingestor.add_document(document, job=IngestJob(given={document.id: given}))
