"""From a name to an object: "wordllama" or "vendor:model" to a model, loaded when asked for.

Installed packages register functions from such a name and `ModelOptions` to a model, under the name
of a vendor, in the groups of entry points `spanwise.embedders`, `spanwise.language_models` and
`spanwise.rerankers`; those that come with Spanwise use the same door.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from spanwise.errors import OptionError
from spanwise.options import ModelOptions

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanwise.ports import Embedder, LanguageModel, OutputCache, Reranker

__all__ = [
    "default_embedder_name",
    "make_batch_model",
    "make_embedder",
    "make_language_model",
    "make_reranker",
]

_DEFAULT = "wordllama"


def default_embedder_name() -> str | None:
    """Return the embedder that needs no key and no download, or None where it is not installed."""
    from spanwise.providers.wordllama import find_wordllama

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
    from spanwise.providers.language_models.fallback import FallbackModel

    return FallbackModel(first=first, second=others[0])


def make_batch_model(model: LanguageModel, *, kept: OutputCache) -> LanguageModel:
    """Return what asks a language model by the batch interface of its vendor.

    Args:
        model: The language model.
        kept: Where the batches that were sent are noted, so that a repeated run waits for them.

    Raises:
        OptionError: If its vendor has no batch interface, or it has a fallback.
    """
    from spanwise.providers.language_models.batches import in_batches

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
        from spanwise.tasks.reranking import ModelReranker

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
