"""The language model of one ingest, made and checked before anything is read."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from spanwise.errors import OptionError
from spanwise.knowledge_base.calling import make_caller

if TYPE_CHECKING:
    from spanwise.ingest.enrich import Enricher
    from spanwise.models.ledger import Ledger
    from spanwise.models.ports import LanguageModel, OutputCache
    from spanwise.options import ContextOptions, ModelOptions
    from spanwise.stores.port import Store
    from spanwise.types.listener import Listener


_AT_ONCE = 8  # documents, whose texts are in memory; calls at once are limited by the model
_AT_ONCE_IN_BATCHES = 32  # each waits for hours, with a thread for each of its calls


class Enriching:
    """How the language models of ingests are made for one knowledge base."""

    def __init__(
        self,
        store: Store,
        *,
        models: ModelOptions,
        listener: Listener | None,
        budget: Ledger | None = None,
    ) -> None:
        """Take what holds for every ingest.

        Args:
            store: Keeps what is answered.
            models: How models are called.
            listener: Hears each call.
            budget: Shared budget of several operations; None for none.
        """
        self._store = store
        self._models = models
        self._listener = listener
        self._budget = budget

    def enricher(
        self,
        llm: str | LanguageModel | None,
        context: ContextOptions | None,
        *,
        foresees: bool = False,
    ) -> Enricher | None:
        """Return what makes parts of documents; None where no model is named.

        Args:
            llm: Vendor and model, or an object.
            context: What it makes.
            foresees: Whether calls are only counted.

        Raises:
            OptionError: If a model is named and nothing is asked of it, or the other way round, no
                installed package offers it, it has no batch interface and is to use it, or its
                price is not known and there is a limit.
            ModelKeyError: If there is no key for it.
        """
        asks = context is not None and (
            context.read_pages or context.sections or context.headers or context.chunk_contexts
        )
        if llm is None and asks:
            raise OptionError(
                'context asks for what a language model makes; name one: llm="vendor:model"'
            )
        if llm is None:
            return None
        if context is None or not asks:
            raise OptionError(
                "llm is given, and context asks it for nothing; give ContextOptions with "
                "read_pages, sections, headers or chunk_contexts, or no llm"
            )
        from spanwise.ingest.enrich import Enricher
        from spanwise.ingest.stoppable import StoppableModel
        from spanwise.models.dry_run import dry_run_caller
        from spanwise.models.ledger import Ledger

        stopped, models = threading.Event(), self._models
        ledger = Ledger(
            max_cost=None if foresees else models.max_cost,
            listener=self._listener,
            parent=None if foresees else self._budget,
        )
        caller = make_caller(llm, cache=self._store, models=models, ledger=ledger)
        model = called_model(caller.model, models=models, kept=self._store, ledger=ledger)
        caller.model = StoppableModel(model=model, stopped=stopped)
        if foresees:
            caller = dry_run_caller(caller.model, cache=self._store, listener=self._listener)
        most = _AT_ONCE_IN_BATCHES if models.batch else _AT_ONCE
        return Enricher(
            caller=caller,
            options=context,
            stopped=stopped,
            documents_at_once=min(model.concurrency, most),
        )


def called_model(
    model: LanguageModel, *, models: ModelOptions, kept: OutputCache, ledger: Ledger
) -> LanguageModel:
    """Return a model as an ingest calls it, checked before anything is made or read.

    Args:
        model: The model.
        models: How it is called.
        kept: Where batches that were sent are noted.
        ledger: Ledger that holds the cost limit.

    Raises:
        OptionError: If it has no batch interface and is to use it, or its price is not known and
            there is a limit.
    """
    from spanwise.models.ports import ModelRequest

    if models.batch:
        from spanwise.models.providers.batches import make_batch_model

        model = make_batch_model(model, cache=kept)
    request = ModelRequest(task="price", instructions="", prompt="")
    ledger.check_price(model.name, lambda: model.estimate(request))
    return model
