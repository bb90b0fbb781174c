"""The language model of one operation, from its name or as an object."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spanwise.models.caller import ModelCaller
    from spanwise.models.ledger import Ledger
    from spanwise.models.ports import LanguageModel, OutputCache
    from spanwise.options import ModelOptions


def make_caller(
    llm: str | LanguageModel,
    *,
    cache: OutputCache,
    models: ModelOptions,
    ledger: Ledger,
) -> ModelCaller:
    """Return what calls a language model for one operation.

    Args:
        llm: Vendor and model, such as "openai:gpt-5-mini", or an object.
        cache: Keeps what is answered.
        models: How models are called.
        ledger: Ledger that counts the calls and holds the cost limit.

    Raises:
        OptionError: If no installed package offers the model.
        ModelKeyError: If there is no key for it.
    """
    from spanwise.models.caller import ModelCaller
    from spanwise.models.registry import make_language_model

    return ModelCaller(
        model=make_language_model(llm, options=models) if isinstance(llm, str) else llm,
        cache=cache,
        answer_retries=models.answer_retries,
        ledger=ledger,
    )
