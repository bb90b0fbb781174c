"""Registry of models by name ("wordllama", "vendor:model"), and the fallback language model.

A package registers a function `(name, ModelOptions) -> model` under the name of a vendor, as an
entry point of the group `spanwise.embedders`, `spanwise.language_models` or `spanwise.rerankers`.
The models of Spanwise are registered in the same way.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from spanwise.errors import ModelError, ModelKeyError, OptionError
from spanwise.models.model_checks import accepts_images, translated_errors
from spanwise.models.ports import LanguageModel, ModelReply, ModelRequest, WrappedModel
from spanwise.options import ModelOptions
from spanwise.types import Usage

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanwise.models.ledger import Ledger
    from spanwise.models.ports import Embedder, Reranker
    from spanwise.types.output_cache import OutputCache

_log = logging.getLogger("spanwise")


@dataclass(frozen=True, slots=True, kw_only=True)
class FallbackModel(WrappedModel):
    """Language model that calls a second model if the first one fails or refuses to answer.

    A rejected API key is an error and does not cause a fallback: all text would silently go to
    another vendor. The usage of both models is counted, because a refusal also costs money. Answers
    are cached under the name of the first model.
    """

    second: LanguageModel
    """Fallback."""

    @property
    def accepts_images(self) -> bool:
        """Return whether both models accept images."""
        return accepts_images(self.model) and accepts_images(self.second)

    def estimate(self, request: ModelRequest) -> Usage:
        """Return the estimates of both models together: a refusal of the first one costs too."""
        first, second = self.model.estimate(request), self.second.estimate(request)
        return replace(first, calls=max(1, first.calls)) + replace(
            second, calls=max(1, second.calls)
        )

    def generate(self, request: ModelRequest) -> ModelReply:
        """Return the answer of the first model, or else of the second one.

        Raises:
            ModelError: If both fail.
        """
        paid = Usage()
        try:
            with translated_errors(self.model.name):
                reply = self.model.generate(request)
        except ModelKeyError:
            raise
        except ModelError as error:
            self._warn(str(error))
        else:
            if not reply.refusal:
                return reply
            self._warn(f"it refuses to answer: {reply.refusal}")
            paid = reply.usage
        reply = self.second.generate(request)
        return replace(reply, usage=paid + reply.usage)

    def stream(self, request: ModelRequest) -> Iterator[str | ModelReply]:
        """Yield the parts of the answer as they arrive, and then the complete reply.

        Raises:
            ModelError: If both fail, or the first model fails after its first part.
        """
        started, paid = False, Usage()
        try:
            for part in self.model.stream(request):
                if not started and isinstance(part, ModelReply) and part.refusal:
                    self._warn(f"it refuses to answer: {part.refusal}")
                    paid = part.usage
                    break
                started = True
                yield part
            else:
                return
        except ModelError as error:
            if started or isinstance(error, ModelKeyError):
                raise
            self._warn(str(error))
        for part in self.second.stream(request):
            if isinstance(part, ModelReply):
                yield replace(part, usage=paid + part.usage)
            else:
                yield part

    def _warn(self, fault: str) -> None:
        _log.warning("%s failed, %s is called: %s", self.model.name, self.second.name, fault)


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
