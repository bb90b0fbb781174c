"""Access to the components of an open knowledge base, for evaluation, the server and tests.

Not part of the public interface.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from spanwise.knowledge_base.answer_pipelines import make_answerer
from spanwise.knowledge_base.arguments import make_scope
from spanwise.knowledge_base.components import AnswerRequest
from spanwise.models.ledger import Ledger
from spanwise.options import AnswerOptions, QueryOptions
from spanwise.types import GivenParts

if TYPE_CHECKING:
    from pathlib import Path

    from spanwise.answers.answerer import Answerer
    from spanwise.core.ranking.relevance import RelevanceModel
    from spanwise.ingest.sources import CopiedFolder
    from spanwise.knowledge_base.facade import KnowledgeBase
    from spanwise.knowledge_base.settings import Settings
    from spanwise.models.ports import LanguageModel
    from spanwise.search.pipeline import Searcher
    from spanwise.stores.port import Store
    from spanwise.types import Document, IngestReport


def store_of(base: KnowledgeBase) -> Store:
    """Return the store, which is also the cache of model outputs."""
    return base._components.store


def folder_of(base: KnowledgeBase) -> Path | None:
    """Return the folder; None for a knowledge base in memory or in a store of the caller."""
    return base._components.disk_folder


def last_change_of(base: KnowledgeBase) -> str:
    """Return a text that differs after each change of the documents; empty if it is unknown."""
    from spanwise.stores.embedded import EmbeddedStore

    store = base._components.store
    return store.last_change() if isinstance(store, EmbeddedStore) else ""


def settings_of(base: KnowledgeBase) -> Settings:
    """Return the recorded settings."""
    return base._components.settings


def searcher_of(
    base: KnowledgeBase, model: RelevanceModel | None = None, *, ledger: Ledger | None = None
) -> Searcher:
    """Return the search pipeline without a tuning.

    Args:
        base: The knowledge base.
        model: Relevance model of the searches; None for the shipped model.
        ledger: Ledger that counts the embedding of questions and enforces the cost limit; None for
            a new one without a limit.
    """
    searcher = base._components.untuned_searcher
    return replace(searcher, model=model or searcher.model, ledger=ledger or Ledger())


def answerer_of(
    base: KnowledgeBase,
    *,
    llm: LanguageModel,
    documents: Sequence[str] | None = None,
    options: AnswerOptions,
    write_queries: bool = True,
    budget: Ledger | None = None,
) -> Answerer:
    """Return the pipeline that answers a question as `KnowledgeBase.ask` does; nothing is called.

    Args:
        base: The knowledge base.
        llm: Language model.
        documents: Ids of the documents to search; None for all.
        options: Options of the answer.
        write_queries: Whether the model first writes search queries.
        budget: Shared budget of several operations; None for none.

    Raises:
        ModelKeyError: If the API key of the model is missing.
    """
    request = AnswerRequest(
        llm=llm,
        scope=make_scope(documents, None),
        options=options,
        query_options=QueryOptions() if write_queries else None,
    )
    return make_answerer(base._components, request, budget=budget)


def use_budget(base: KnowledgeBase, budget: Ledger) -> None:
    """Count all calls of a newly opened knowledge base in a shared budget, and limit them by it.

    Must be called before any other use of the knowledge base.
    """
    base._components.budget = budget


def add_copies(base: KnowledgeBase, source: Path | CopiedFolder, **arguments: Any) -> IngestReport:
    """Add a folder, whose documents may have another source root than its path.

    Args:
        base: The knowledge base.
        source: The folder.
        **arguments: Arguments of `KnowledgeBase.add`.
    """
    return base.add(cast("Path", source), **arguments)


def add_parsed(
    base: KnowledgeBase, document: Document, *, given: GivenParts | None = None
) -> IngestReport:
    """Add a parsed document, such as one of another knowledge base.

    Args:
        base: The knowledge base.
        document: The parsed document.
        given: Parts of the document that are not derived again.

    Raises:
        DocumentError: If its chunks cannot be embedded; its cause is the error of the embedder.
        OptionError: If the parts do not fit the document.
        CostLimitError: If embedding may cost more than is left.
    """
    from spanwise.ingest import IngestJob

    given_by_id = {} if given is None else {document.id: given}
    return base._components.ingestor.add_document(document, job=IngestJob(given=given_by_id))
