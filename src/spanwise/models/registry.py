"""Registry of models by name ("wordllama", "vendor:model").

A package registers a function `(name, ModelOptions) -> model` under the name of a vendor, as an
entry point of the group `spanwise.embedders`, `spanwise.language_models` or `spanwise.rerankers`.
The models of Spanwise are registered in the same way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from spanwise.errors import ModelKeyError, OptionError
from spanwise.options import ModelOptions

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanwise.models.ledger import Ledger
    from spanwise.models.ports import Embedder, LanguageModel, Reranker
    from spanwise.types.output_cache import OutputCache

_DEFAULT = "wordllama"


def default_embedder_name() -> str | None:
    """Return the name of the default embedder, which needs no key; None if it is not installed."""
    from spanwise.models.providers.wordllama import find_wordllama

    return _DEFAULT if find_wordllama() is not None else None


def make_embedder(name: str, *, options: ModelOptions | None = None) -> Embedder:
    """Return an embedder by name; nothing is sent.

    Args:
        name: "vendor:model", or "vendor" for its default model.
        options: Options of the calls; None for the default.

    Raises:
        OptionError: If no installed package registers the vendor, its client is not installed, or
            the name is not usable.
        ModelKeyError: If its API key is missing.
    """
    if name.partition(":")[0] == _DEFAULT:  # known without reading what is installed
        from spanwise.models.providers.catalog import check_login
        from spanwise.models.providers.wordllama import WordLlama

        check_login(name)
        return WordLlama.of_name(name, options or ModelOptions())
    make = _find(name, group="spanwise.embedders", kind="embedder")
    return cast("Embedder", make(name, options or ModelOptions()))


def make_language_model(
    name: str, *, options: ModelOptions, needs_key: bool = True
) -> LanguageModel:
    """Return a language model by name, such as "openai:gpt-5-mini"; nothing is sent.

    Args:
        name: "vendor:model". A self-hosted server with OpenAI's chat interface is
            "compatible:MODEL@http://host:8000/v1".
        options: Options of the calls, and the name of the fallback.
        needs_key: Whether a missing API key is an error. Without one, a model of a known vendor
            can estimate its calls.

    Raises:
        OptionError: If no installed package registers the vendor, its client is not installed, or
            the name is not usable.
        ModelKeyError: If its API key is missing.
    """
    model = _make_model(name, options, needs_key=needs_key)
    if not options.fallback:
        return model
    from spanwise.models.fallback import FallbackModel

    return FallbackModel(
        model=model, second=_make_model(options.fallback, options, needs_key=needs_key)
    )


def _make_model(name: str, options: ModelOptions, *, needs_key: bool) -> LanguageModel:
    make = _find(name, group="spanwise.language_models", kind="language model")
    try:
        return cast("LanguageModel", make(name, options))
    except ModelKeyError:
        from spanwise.models.providers.language_model import make_vendor_model

        if needs_key or make is not make_vendor_model:
            raise
        return make_vendor_model(name, options, needs_key=False)


def make_checked_model(
    llm: str | LanguageModel,
    *,
    options: ModelOptions,
    cache: OutputCache,
    ledger: Ledger,
    needs_key: bool = True,
) -> LanguageModel:
    """Return a language model for a long run, checked before any call.

    Args:
        llm: Vendor and model, such as "openai:gpt-5-mini", or an object.
        options: Options of the calls.
        cache: Cache that records the batches that were sent.
        ledger: Ledger that holds the cost limit.
        needs_key: See `make_language_model`.

    Raises:
        OptionError: If no installed package offers the model, `options.batch` is set and the model
            has no batch interface, or a cost limit applies and its price is unknown.
        ModelKeyError: If its API key is missing.
    """
    from spanwise.models.ports import ModelRequest

    model = (
        make_language_model(llm, options=options, needs_key=needs_key)
        if isinstance(llm, str)
        else llm
    )
    if options.batch:
        from spanwise.models.providers.batches import make_batch_model

        model = make_batch_model(model, cache=cache)
    request = ModelRequest(task="price", instructions="", prompt="")
    ledger.check_price(model.name, lambda: model.estimate(request))
    return model


def make_reranker(name: str, *, options: ModelOptions) -> Reranker:
    """Return a reranker by name, such as "cohere:rerank-v3.5"; nothing is sent.

    Args:
        name: "vendor:model", or "llm:vendor:model" for a language model that rates the texts.
        options: Options of the calls.

    Raises:
        OptionError: If no installed package registers the vendor, or the name is not usable.
        ModelKeyError: If its API key is missing.
    """
    make = _find(name, group="spanwise.rerankers", kind="reranker")
    return cast("Reranker", make(name, options))


def _find(name: str, *, group: str, kind: str) -> Callable[..., object]:
    """Return the function that is registered for the vendor of a name.

    Raises:
        OptionError: If there is none, or the name contains a secret.
    """
    from importlib.metadata import distributions, entry_points

    from spanwise.models.providers.catalog import check_login

    check_login(name)
    vendor = name.partition(":")[0]
    # The search of all installed packages takes a tenth of a second.
    own = next(iter(distributions(name="spanwise")), None)
    registered = own.entry_points.select(group=group, name=vendor) if own else ()
    registered = registered or entry_points(group=group, name=vendor)
    if not registered:
        from spanwise.models.providers.catalog import VENDORS, suggested_name

        known = sorted(entry.name for entry in entry_points(group=group))
        # Spanwise registers models itself: none at all is a broken installation.
        hint = (
            f"known: {', '.join(known)}" if known else "none is registered: install spanwise again"
        )
        meant = suggested_name(name, vendors={key: VENDORS[key] for key in VENDORS if key in known})
        if meant:
            hint = f"did you mean {meant!r}? {hint}"
        raise OptionError(f"{kind} is {name!r}; no installed package offers it ({hint})")
    return cast("Callable[..., object]", next(iter(registered)).load())
