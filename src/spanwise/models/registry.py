"""A language model that is asked where another one fails.

From a name to an object: "wordllama" or "vendor:model" to a model, loaded when asked for.

Installed packages register functions from such a name and `ModelOptions` to a model, under the name
of a vendor, in the groups of entry points `spanwise.embedders`, `spanwise.language_models` and
`spanwise.rerankers`; those that come with Spanwise use the same door.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from spanwise.errors import ModelError, ModelKeyError, OptionError
from spanwise.models.ports import LanguageModel, ModelReply, ModelRequest
from spanwise.options import ModelOptions
from spanwise.types import Usage

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanwise.models.ports import Embedder, OutputCache, Reranker

_log = logging.getLogger("spanwise")


@dataclass(frozen=True, slots=True, kw_only=True)
class FallbackModel:
    """Asks a second model where the first one fails after all its further calls, or refuses.

    A key that is refused is no such failure: it would send everything to another vendor, unseen.
    A refusal of the first was paid: what both took is counted, and may be more than was estimated.
    What is kept is kept as an answer of the first one, so that a repeated run asks neither.
    """

    first: LanguageModel
    second: LanguageModel

    @property
    def name(self) -> str:
        """Return the name of the first model."""
        return self.first.name

    @property
    def concurrency(self) -> int:
        """Return how many calls at once the first model takes."""
        return self.first.concurrency

    def estimate(self, request: ModelRequest) -> Usage:
        """Return about what a call of the first model takes, at the higher price of both."""
        usage = self.first.estimate(request)
        other = self.second.estimate(request).cost
        known = usage.cost is not None and other is not None
        return replace(usage, cost=max(usage.cost or 0.0, other or 0.0) if known else None)

    def generate(self, request: ModelRequest) -> ModelReply:
        """Return the answer to a request; the reply says which model gave it.

        Raises:
            ModelError: If both fail.
        """
        paid = Usage()
        try:
            reply = self.first.generate(request)
        except ModelKeyError:
            raise
        except ModelError as error:
            self._note(str(error))
        else:
            if not reply.refusal:
                return reply
            self._note(f"it refuses to answer: {reply.refusal}")
            paid = reply.usage
        reply = self.second.generate(request)
        return replace(reply, usage=paid + reply.usage)

    def stream(self, request: ModelRequest) -> Iterator[str | ModelReply]:
        """Yield the pieces of the answer as they come, and last the whole reply.

        Raises:
            ModelError: If both fail, or the first one after its first piece.
        """
        begun, paid = False, Usage()
        try:
            for piece in self.first.stream(request):
                if not begun and isinstance(piece, ModelReply) and piece.refusal:
                    self._note(f"it refuses to answer: {piece.refusal}")
                    paid = piece.usage
                    break
                begun = True
                yield piece
            else:
                return
        except ModelError as error:
            if begun or isinstance(error, ModelKeyError):
                raise
            self._note(str(error))
        for piece in self.second.stream(request):
            if isinstance(piece, ModelReply):
                yield replace(piece, usage=paid + piece.usage)
            else:
                yield piece

    def _note(self, fault: str) -> None:
        _log.warning("%s failed, %s is asked: %s", self.first.name, self.second.name, fault)


_DEFAULT = "wordllama"


def default_embedder_name() -> str | None:
    """Return the embedder that needs no key and no download, or None where it is not installed."""
    from spanwise.models.providers.wordllama import find_wordllama

    return _DEFAULT if find_wordllama() is not None else None


def make_embedder(name: str, *, options: ModelOptions | None = None) -> Embedder:
    """Return the embedder of that name: "vendor" for its default, or "vendor:model".

    Args:
        name: Its name.
        options: How it is called; None for the default.

    Raises:
        OptionError: If no installed package registers the vendor, its client is not installed, or
            the model cannot be meant.
        ModelKeyError: If there is no key for it.
    """
    make = _find(name, group="spanwise.embedders", kind="embedder")
    return cast("Embedder", make(name, options or ModelOptions()))


def make_language_model(name: str, *, options: ModelOptions) -> LanguageModel:
    """Return the language model of that name, such as "openai:gpt-5-mini"; nothing is sent.

    Args:
        name: "vendor:model". A server of one's own, with OpenAI's chat interface, is
            "compatible:MODEL@http://host:8000/v1".
        options: How it is called; its fallback is made too.

    Raises:
        OptionError: If no installed package registers the vendor, its client is not installed, or
            the model cannot be meant.
        ModelKeyError: If there is no key for it.
    """
    first, *others = [
        cast(
            "LanguageModel",
            _find(one, group="spanwise.language_models", kind="language model")(one, options),
        )
        for one in ((name, options.fallback) if options.fallback else (name,))
    ]
    if not others:
        return first

    return FallbackModel(first=first, second=others[0])


def make_batch_model(model: LanguageModel, *, kept: OutputCache) -> LanguageModel:
    """Return what asks a language model by the batch interface of its vendor.

    Args:
        model: The language model.
        kept: Where the batches that were sent are noted, so that a repeated run waits for them.

    Raises:
        OptionError: If its vendor has no batch interface, or it has a fallback.
    """
    from spanwise.models.providers.batches import in_batches

    return in_batches(model, kept=kept)


def make_reranker(name: str, *, options: ModelOptions) -> Reranker:
    """Return the reranker of that name, such as "cohere:rerank-v3.5".

    Args:
        name: "vendor:model", or "llm:" and a language model, which then rates what it reads.
        options: How it is called.

    Raises:
        OptionError: If no installed package registers the vendor, or the model cannot be meant.
        ModelKeyError: If there is no key for it.
    """
    vendor, _, model = name.partition(":")
    if vendor == "llm":
        from spanwise.models.prompts.relevance_grades import ModelReranker

        return ModelReranker(make_language_model(model, options=options), options=options)
    make = _find(name, group="spanwise.rerankers", kind="reranker")
    return cast("Reranker", make(name, options))


def _find(name: str, *, group: str, kind: str) -> Callable[..., object]:
    """Return what is registered for the vendor of a name.

    Raises:
        OptionError: If there is none.
    """
    from importlib.metadata import entry_points

    found = entry_points(group=group, name=name.partition(":")[0])
    if not found:
        known = ", ".join(sorted(entry.name for entry in entry_points(group=group)))
        # Those of Spanwise itself are always registered: none at all is a broken installation.
        hint = f"known: {known}" if known else "none is registered: install spanwise again"
        raise OptionError(f"{kind} is {name!r}; no installed package offers it ({hint})")
    return cast("Callable[..., object]", next(iter(found)).load())
