"""Search queries and a metadata filter for a question, written by a language model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from spanwise.core.ranking.question import check_question
from spanwise.core.text.terms import words
from spanwise.errors import ModelError, ModelKeyError, QueryError, unknown_document
from spanwise.filters import document_test, relaxed_filters, relaxed_warning
from spanwise.models.prompts.queries import TASK, QueryTask, request_queries
from spanwise.types import Usage, WrittenQueries

if TYPE_CHECKING:
    from spanwise.filters import Filter
    from spanwise.models.caller import ModelCaller
    from spanwise.options import QueryOptions
    from spanwise.search.scoring import Scope
    from spanwise.stores.port import Store
    from spanwise.types import DocumentRecord, Turn


def write_queries(
    question: str,
    *,
    caller: ModelCaller,
    store: Store,
    options: QueryOptions,
    scope: Scope,
    history: Sequence[Turn] = (),
) -> WrittenQueries:
    """Return the queries and filter that a language model writes for a question.

    If the model fails or its answer is unusable, the question is the only query, with a warning.
    If no document passes the filter of the model, it is relaxed until one does, with a warning.
    The model is not called if there are no documents in scope.

    Args:
        question: Question of the user.
        caller: Caller of the model.
        store: Store of the documents.
        options: Number of queries, guidance, and whether filters are allowed.
        scope: Documents to search. Its filter is part of the returned filter.
        history: Earlier turns of the conversation, oldest first.

    Raises:
        QueryError: If the question contains no words.
        FilterError: If the filter does not fit the metadata of the documents.
        DocumentNotFoundError: If the scope names a document that does not exist.
        ModelKeyError: If the API key of the model is missing or refused.
    """
    if not words(check_question(question)):
        raise QueryError(f"the question is {str(question)[:80]!r}; ask in at least one word")
    request = QueryTask(
        question=question,
        options=options,
        records=records_in_scope(store, scope),
        history=history,
    )
    standalone, model_filter = question, None
    more_queries: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    try:
        written = request_queries(request, caller=caller) if request.records else None
    except ModelKeyError:
        raise  # all other calls would fail too
    except ModelError as error:
        written = None
        warnings = (f"no queries were written, the question alone is searched: {error}",)
    if written is not None:
        standalone, more_queries, warnings = written.standalone, written.queries, written.warnings
        model_filter, relaxed = _passing(written.where, request.records)
        warnings = (*warnings, *relaxed)
    return WrittenQueries(
        question=question,
        standalone=standalone,
        more_queries=more_queries,
        where=_filter_text(_both(scope.where, model_filter)),
        model_filter=_filter_text(model_filter),
        warnings=warnings,
        usage=caller.usage_by_task.get(TASK, Usage()),
    )


def _passing(
    where: Filter | None, records: Sequence[DocumentRecord]
) -> tuple[Filter | None, tuple[str, ...]]:
    """Return a filter of a model, relaxed until a document passes it, and a warning about that."""

    def count(one: Filter) -> int:
        return sum(map(document_test(one), (record.metadata for record in records)))

    if where is None or count(where):
        return where, ()
    relaxed = next(
        one for one in relaxed_filters(where, count) if one.kept is None or count(one.kept)
    )
    return relaxed.kept, (relaxed_warning(where, relaxed.dropped, passes_none=True),)


def write_missing_queries(  # noqa: PLR0913 - options are keywords
    queries: WrittenQueries,
    *,
    missing: str,
    searched: Sequence[str],
    caller: ModelCaller,
    store: Store,
    options: QueryOptions,
    scope: Scope,
) -> WrittenQueries | None:
    """Return the queries that a language model writes for the missing part of an answer.

    Args:
        queries: Queries of the first search.
        missing: Part of the question that is not answered yet; empty for all of it.
        searched: Queries that were searched; they are not returned again.
        caller: Caller of the model.
        store: Store of the documents.
        options: Number of queries, guidance, and whether filters are allowed.
        scope: Documents to search.

    Returns:
        Queries, the first one in place of the question; None if the model writes no new query.

    Raises:
        ModelError: If the model fails, or gives no usable answer.
    """
    request = QueryTask(
        question=queries.standalone,
        options=options,
        records=records_in_scope(store, scope),
        missing=missing or queries.standalone,
        searched=searched,
    )
    written = request_queries(request, caller=caller)
    if not written.queries:
        return None
    return WrittenQueries(
        question=queries.question,
        standalone=written.queries[0],
        more_queries=written.queries[1:],
        where=_filter_text(_both(scope.where, written.where)),
        model_filter=_filter_text(written.where),
        warnings=written.warnings,
        usage=caller.usage_by_task.get(TASK, Usage()),
    )


def _both(first: Filter | None, second: Filter | None) -> Filter | None:
    if first is None:
        return second
    return first if second is None else first & second


def _filter_text(where: Filter | None) -> str:
    return "" if where is None else str(where)


def records_in_scope(store: Store, scope: Scope) -> list[DocumentRecord]:
    """Return the records of the documents in scope, ordered by id.

    Raises:
        FilterError: If the filter does not fit the metadata of the documents.
        DocumentNotFoundError: If the scope names a document that does not exist.
    """
    records = store.list_records(scope.where)
    if scope.documents is None:
        return records
    for document_id in scope.documents:
        if store.get_record(document_id) is None:
            raise unknown_document(document_id)
    ids = frozenset(scope.documents)
    return [record for record in records if record.id in ids]
