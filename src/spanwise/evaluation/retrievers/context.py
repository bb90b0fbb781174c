"""What the retrievers of one evaluation share: documents with and without headers, and models."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

from spanwise.core.documents.headers import chunk_header
from spanwise.errors import OptionError
from spanwise.evaluation.budget import Purse, outputs_of
from spanwise.evaluation.metrics import counter
from spanwise.evaluation.retrievers.without_headers import copy_without_headers
from spanwise.models.providers.tokenizer import make_tokenizer
from spanwise.models.rerankers.rerank_caller import RerankCaller
from spanwise.options import ModelOptions, RerankOptions
from spanwise.search.chunk_weights import shipped_model
from spanwise.search.rerank import Reranking
from spanwise.search.tuned_options import Tuning, read_tuning

if TYPE_CHECKING:
    from types import TracebackType

    from spanwise.evaluation.metrics import Count
    from spanwise.evaluation.retrievers.methods import Method
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.models.ports import Reranker, Tokenizer
    from spanwise.search.pipeline import Searcher


class Headers:
    """What stands before the texts of a knowledge base where headers take part in search."""

    def __init__(self, base: KnowledgeBase) -> None:
        self._base = base
        self._titles = {record.id: record.title for record in base.list()}
        self._sections: dict[str, tuple[list[int], list[str]]] = {}

    def of(self, document_id: str, start: int) -> str:
        """Return the title of a document and the section path of a place in it, a line each."""
        if document_id not in self._sections:
            title, sections = self._titles[document_id], self._base.sections(document_id)
            self._sections[document_id] = (
                [section.start for section in sections],
                [chunk_header(title, section_path=section.path) for section in sections],
            )
        starts, headers = self._sections[document_id]
        return headers[bisect_right(starts, start) - 1]


class EvaluationContext:
    """What the retrievers of one evaluation share. Closes what it made, not what it was given."""

    def __init__(
        self,
        base: KnowledgeBase,
        *,
        tokenizer: str | None = None,
        reranker: str | Reranker | None = None,
        tuning: str | Path | Tuning | None = None,
        models: ModelOptions | None = None,
        work: Path | None = None,
    ) -> None:
        """Take what is measured with.

        Args:
            base: The documents.
            tokenizer: Whose tokens are counted; that of the knowledge base when None.
            reranker: For methods with "+rerank".
            tuning: For methods with "+tuned".
            models: How a reranker that is named is called; one by a language model may cost
                `max_cost` in all.
            work: Folder that keeps what has to be made; None to make it in memory.

        Raises:
            OptionError: If there is no such tokenizer or reranker, or the tuning cannot be read
                or was made with another embedder.
            ModelKeyError: If there is no key for the reranker.
        """
        self.base = base
        self.searcher: Searcher = base.searcher(shipped_model())
        self.tokenizer: Tokenizer = make_tokenizer(tokenizer or self.searcher.tokenizer)
        self.count: Count = counter(self.tokenizer)
        if isinstance(reranker, str):
            reranker = Purse(models or ModelOptions(), kept=outputs_of(base)).reranker(reranker)
        self.reranker = reranker
        self.tuning = _fitting(tuning, base)
        self._work = work

    def searcher_of(self, method: Method) -> Searcher:
        """Return what searches for a method of Spanwise's own.

        Raises:
            OptionError: If it wants a tuning, and none is given.
        """
        base = self.base if method.headers else self._without_headers
        searcher = replace(base.searcher(shipped_model()), falls_back=False)
        tuning = self.tuning_of(method)
        return searcher if tuning is None else searcher.tuned(tuning)

    def tuning_of(self, method: Method) -> Tuning | None:
        """Return the tuning of a method, None for one without.

        Raises:
            OptionError: If it wants one, and none is given.
        """
        if method.tuned and self.tuning is None:
            raise OptionError(
                f"method is {method.name!r}, and no tuning file is given; `spanwise tune` writes "
                "one"
            )
        return self.tuning if method.tuned else None

    def reranking(self, method: Method) -> Reranking | None:
        """Return the reranker of a method, None for one without.

        Raises:
            OptionError: If it wants one, and none is given.
        """
        if not method.rerank:
            return None
        if self.reranker is None:
            raise OptionError(
                f"method is {method.name!r}, and no reranker is given; name one, such as "
                '"cohere:rerank-v3.5"'
            )
        caller = RerankCaller(reranker=self.reranker, cache=self.searcher.store)
        return Reranking(caller=caller, options=RerankOptions(), falls_back=False)

    def close(self) -> None:
        """Release what was made."""
        if "_without_headers" in self.__dict__:
            self._without_headers.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @cached_property
    def _without_headers(self) -> KnowledgeBase:
        return copy_without_headers(self.base, self._work)


def _fitting(tuning: str | Path | Tuning | None, base: KnowledgeBase) -> Tuning | None:
    """Return a tuning that was made for such a knowledge base.

    Raises:
        EmbedderMismatchError: If it was made with another embedder.
        OptionError: If it cannot be read, or wants other chunks.
    """
    if tuning is None:
        return None
    place = "the tuning" if isinstance(tuning, Tuning) else str(tuning)
    read = tuning if isinstance(tuning, Tuning) else read_tuning(tuning)
    base.check_tuning(read, place=place)
    return read
