"""Queries and filters for a question, written by a language model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from spanwise.knowledge_base.asking import within
from spanwise.knowledge_base.calling import make_caller
from spanwise.models.ledger import Ledger
from spanwise.options import QueryOptions

if TYPE_CHECKING:
    from spanwise.filters import Filter
    from spanwise.models.ports import LanguageModel
    from spanwise.options import ModelOptions
    from spanwise.stores.port import Store
    from spanwise.types import Turn, WrittenQueries


class QueryWriting:
    """What a `KnowledgeBase` lets a language model write for a search."""

    _store: Store
    _models: ModelOptions
    _budget: Ledger | None

    def write_queries(
        self,
        question: str,
        *,
        llm: str | LanguageModel,
        options: QueryOptions | None = None,
        documents: Sequence[str] | None = None,
        where: Filter | str | None = None,
        history: Sequence[Turn] = (),
    ) -> WrittenQueries:
        """Return further queries for a question, and a filter that it says, by a language model.

        Nothing is searched yet: hand `standalone`, `queries` and `where` of what is returned to
        `search` or `excerpts`. A model that fails, or writes nothing that can be used, leaves the
        question alone, with a warning. The filter can only be about values of metadata that the
        question itself says.

        Args:
            question: What is asked, in any words.
            llm: Vendor and model, such as "openai:gpt-5-mini", or an object.
            options: How many queries at most, guidance, and whether filters are wanted.
            documents: Ids of the documents to search; all when None.
            where: Filter on metadata, as `search`; it is part of the one that is returned.
            history: Turns of a conversation before the question, in order; it is rewritten so that
                it reads without them.

        Raises:
            QueryError: If the question holds nothing to search for.
            OptionError: If no installed package offers the model.
            FilterError: If the filter does not fit the fields of the documents.
            DocumentNotFoundError: If `documents` names one that does not exist.
            ModelKeyError: If there is no key for the model, or it is refused.
        """
        from spanwise.answers.search_queries import write_queries
        from spanwise.search.scoring import Scope

        asked = within(queries=(), documents=documents, where=where)
        return write_queries(
            question,
            caller=make_caller(
                llm,
                cache=self._store,
                models=self._models,
                ledger=Ledger(max_cost=self._models.max_cost, parent=self._budget),
            ),
            store=self._store,
            options=options or QueryOptions(),
            scope=Scope(where=asked["where"], documents=asked["documents"]),
            history=history,
        )
