"""Models of one run: made, checked and paid from one purse, whatever each of them is asked.

Calls of a model that may not be there: a run ends early, and does not wait for each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Literal, TypeVar

from spanwise.errors import ModelAnswerError, ModelError
from spanwise.models.caller import ModelCaller
from spanwise.models.dry_run import WrappedModel
from spanwise.models.embed_caller import EmbedCaller, is_contextual
from spanwise.models.ledger import Ledger
from spanwise.models.ports import (
    ContextualEmbedder,
    Embedder,
    EmbedReply,
    LanguageModel,
    ModelReply,
    ModelRequest,
    OutputCache,
    Reranker,
)
from spanwise.models.threads import map_bounded

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.options import ModelOptions
    from spanwise.types import Usage

_SPENT: ContextVar[Ledger | None] = ContextVar("spent", default=None)


@contextmanager
def spending() -> Iterator[Ledger]:
    """Give what counts the calls of metered models in the block, for what fails is paid too."""
    ledger = Ledger()
    token = _SPENT.set(ledger)
    try:
        yield ledger
    finally:
        _SPENT.reset(token)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeteredModel(WrappedModel):
    """A model whose calls are paid from a purse that it shares with others."""

    ledger: Ledger

    def generate(self, request: ModelRequest) -> ModelReply:
        """Return the answer of the model.

        Raises:
            CostLimitError: If it may cost more than is left for all.
            ModelError: If the model fails.
        """
        with self.ledger.reserve(self.name, partial(self.estimate, request)) as at_most:
            reply = self.model.generate(request)
            self.ledger.count(request.task, reply.usage, at_most=at_most)
        spent = _SPENT.get()
        if spent is not None:
            spent.count(request.task, reply.usage)
        return reply

    def stream(self, request: ModelRequest) -> Iterator[str | ModelReply]:
        """Yield the answer whole, then the reply: nobody reads an evaluation while it is written.

        Raises:
            CostLimitError: If it may cost more than is left for all.
            ModelError: If the model fails.
        """
        reply = self.generate(request)
        yield reply.text
        yield reply


@dataclass(frozen=True, slots=True, kw_only=True)
class MeteredEmbedder:
    """A contextual embedder whose calls are paid from a purse that it shares with others."""

    embedder: ContextualEmbedder
    ledger: Ledger

    @property
    def name(self) -> str:
        """Return the name of the embedder."""
        return self.embedder.name

    @property
    def version(self) -> str:
        """Return the version of the embedder."""
        return self.embedder.version

    @property
    def dimension(self) -> int:
        """Return the length of a vector."""
        return self.embedder.dimension

    @property
    def is_local(self) -> bool:
        """Return whether it runs in this process."""
        return self.embedder.is_local

    @property
    def batch_texts(self) -> int:
        """Return the most texts of one call."""
        return self.embedder.batch_texts

    @property
    def concurrency(self) -> int:
        """Return how many calls at once it takes."""
        return self.embedder.concurrency

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return vectors of texts that are searched, as many calls as these take.

        Raises:
            CostLimitError: If a call may cost more than is left for all.
            ModelError: If the embedder fails.
        """
        return EmbedCaller(embedder=self, kind="document").embed(texts)

    def estimate(self, texts: Sequence[str]) -> Usage:
        """Return about what a call takes, at most."""
        return self.embedder.estimate(texts)

    def embed_texts(
        self, texts: Sequence[str], *, kind: Literal["document", "query"]
    ) -> EmbedReply:
        """Return one vector a text.

        Raises:
            CostLimitError: If it may cost more than is left for all.
            ModelError: If the embedder fails.
        """
        with self.ledger.reserve(self.name, partial(self.estimate, texts)) as at_most:
            reply = self.embedder.embed_texts(texts, kind=kind)
            self.ledger.count("embed", reply.usage, at_most=at_most)
        return reply


class Purse:
    """What the models of one run may cost together, and where their answers are kept."""

    def __init__(self, models: ModelOptions, *, kept: OutputCache) -> None:
        """Take how models are called, `max_cost` for all of them, and what keeps their answers."""
        self._models = models
        self._kept = kept
        self._ledger = Ledger(max_cost=models.max_cost)

    def model(self, llm: str | LanguageModel) -> MeteredModel:
        """Return a model that is paid from this purse.

        Args:
            llm: Vendor and model, such as "openai:gpt-5-mini", or an object.

        Raises:
            OptionError: If no installed package offers it, it has no batch interface and is to use
                it, or its price is not known and there is a limit.
            ModelKeyError: If there is no key for it.
        """
        from spanwise.knowledge_base.enriching import called_model
        from spanwise.models.registry import make_language_model

        made = make_language_model(llm, options=self._models) if isinstance(llm, str) else llm
        called = called_model(made, models=self._models, kept=self._kept, foresees=False)
        return MeteredModel(model=called, ledger=self._ledger)

    def embedder(self, embedder: Embedder | None) -> Embedder | None:
        """Return an embedder that is paid from this purse; a static one costs nothing, and stays.

        Raises:
            OptionError: If its price is not known and there is a limit.
        """
        from spanwise.knowledge_base.writing import with_price

        embedder = with_price(embedder, max_cost=self._models.max_cost)
        if embedder is None or not is_contextual(embedder):
            return embedder
        return MeteredEmbedder(embedder=embedder, ledger=self._ledger)

    def reranker(self, named: str) -> Reranker:
        """Return a reranker by its name; one by a language model ("llm:") is paid from this purse.

        Raises:
            OptionError: If there is none of that name, or its price is not known and there is a
                limit.
            ModelKeyError: If there is no key for it.
        """
        from spanwise.models.registry import make_reranker
        from spanwise.models.rerankers.model_reranker import ModelReranker

        vendor, _, model = named.partition(":")
        if vendor != "llm":
            return make_reranker(named, options=self._models)
        return ModelReranker(self.model(model), options=replace(self._models, max_cost=None))


class CallCounter:
    """Hears the calls of a `ModelCaller`, as a `Listener`, and says how many there were."""

    def __init__(self, hear: Callable[[int], None]) -> None:
        """Take who hears the number of calls after each, those answered from what is kept too."""
        self._hear = hear
        self._calls = 0

    def on_step(self, name: str, *, seconds: float, counts: Mapping[str, int]) -> None:
        """Count a call."""
        del name, seconds
        self._calls += counts["calls"] + counts["cached_calls"]
        self._hear(self._calls)


@contextmanager
def opened_with_purse(
    path: str | Path, *, models: ModelOptions
) -> Iterator[tuple[KnowledgeBase, Purse]]:
    """Open a knowledge base, and a purse that its embedder is paid from.

    Args:
        path: Of the knowledge base.
        models: How models are called, `max_cost` for all of them.

    Raises:
        OptionError: If the price of its embedder is not known and there is a limit.
        StoreError: If there is no such knowledge base.
    """
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.search.chunk_weights import shipped_model

    with KnowledgeBase(path, create=False, models=models) as known:
        purse = Purse(models, kept=outputs_of(known))
        own = known.searcher(shipped_model()).embedder
        paid = purse.embedder(own)
        if paid is own:
            yield known, purse
            return
        unlimited = replace(models, max_cost=None)
        with KnowledgeBase(path, create=False, embedder=paid, models=unlimited) as base:
            yield base, purse


def outputs_of(base: KnowledgeBase) -> OutputCache:
    """Return where a knowledge base keeps what models answered: a run that is repeated goes on."""
    return base._store


FAILURES_IN_A_ROW = 5
"""So many calls that fail one after the other end a run."""

_Read = TypeVar("_Read")


class Reached:
    """Ends a run whose model fails for several calls in a row. Safe for use by several threads.

    An answer that cannot be read, or a refusal, is no such failure: the model was there.
    """

    def __init__(self) -> None:
        """Begin with none that failed."""
        self._failures = 0
        self._lock = Lock()

    def check(self, said: object) -> None:
        """Take what came of a call, an error or anything else.

        Raises:
            ModelError: What came, if it is the last of several failures.
        """
        with self._lock:
            if not isinstance(said, ModelError) or isinstance(said, ModelAnswerError):
                self._failures = 0
                return
            self._failures += 1
            if self._failures == FAILURES_IN_A_ROW:
                raise said


def call_while_reached(
    caller: ModelCaller, requests: Sequence[ModelRequest], *, read: Callable[[int, str], _Read]
) -> list[_Read | ModelError]:
    """Return what is read from the answers to requests, an error in place of one that failed.

    Args:
        caller: Calls the model.
        requests: The requests.
        read: As `ModelCaller.call_all` takes it.

    Raises:
        CostLimitError: If a call may cost more than is left.
        ModelError: If several calls in a row fail for another reason than their answers, or the
            key is refused.
    """
    reached = Reached()

    def one(position: int) -> _Read | ModelError:
        (said,) = caller.call_all([requests[position]], read=lambda _, text: read(position, text))
        reached.check(said)
        return said

    return map_bounded(one, range(len(requests)), limit=caller.model.concurrency)
