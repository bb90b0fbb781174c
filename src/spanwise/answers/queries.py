"""What is searched for a question: queries and a filter by a language model, or it alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from spanwise.core.text.terms import words
from spanwise.errors import DocumentNotFoundError, ModelError, ModelKeyError, QueryError
from spanwise.models.prompts.queries import TASK, QueryTask, request_queries
from spanwise.types import Usage, WrittenQueries

if TYPE_CHECKING:
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
    """Return what is searched for a question, as a language model writes it.

    A model that fails, or writes nothing that can be used, leaves the question alone, with a
    warning: it is searched as it was asked. Where there is no document, nothing is asked.

    Args:
        question: The question.
        caller: Calls the model.
        store: Where the documents are.
        options: How many queries, and whether filters are wanted.
        scope: The documents that are searched. Its filter is part of what is returned.
        history: Turns of the conversation before the question, in order.

    Raises:
        QueryError: If the question holds nothing to search for.
        FilterError: If the filter does not fit the fields of the documents.
        DocumentNotFoundError: If the scope names a document that does not exist.
        ModelKeyError: If there is no key for the model, or it is refused.
    """
    if not isinstance(question, str) or not words(question):
        raise QueryError(f"the question is {str(question)[:80]!r}; ask in at least one word")
    asked = QueryTask(
        question=question,
        options=options,
        records=searched_records(store, scope),
        history=history,
    )
    standalone, where = question, scope.where
    queries: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    try:
        written = request_queries(asked, caller=caller) if asked.records else None
    except ModelKeyError:
        raise  # every other call would fail too
    except ModelError as error:
        written = None
        warnings = (f"no queries were written, the question alone is searched: {error}",)
    if written is not None:
        standalone, queries, warnings = written.standalone, written.queries, written.warnings
        if written.where is not None:
            where = written.where if where is None else where & written.where
    return WrittenQueries(
        question=question,
        standalone=standalone,
        queries=queries,
        where="" if where is None else str(where),
        warnings=warnings,
        usage=caller.usage_by_task.get(TASK, Usage()),
    )


def searched_records(store: Store, scope: Scope) -> list[DocumentRecord]:
    """Return the records of the documents that are searched, by id.

    Raises:
        FilterError: If the filter does not fit the fields of the documents.
        DocumentNotFoundError: If the scope names a document that does not exist.
    """
    found = store.list_records(scope.where)
    if scope.documents is None:
        return found
    for document_id in scope.documents:
        if store.get_record(document_id) is None:
            raise DocumentNotFoundError(
                f"no document has the id {document_id!r}; `list` shows those there are"
            )
    wanted = frozenset(scope.documents)
    return [record for record in found if record.id in wanted]
