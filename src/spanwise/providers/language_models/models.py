"""Which class of pydantic-ai asks a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwise.errors import OptionError
from spanwise.providers.vendors.catalog import ModelSpec
from spanwise.providers.vendors.connections import Connection

if TYPE_CHECKING:
    from pydantic_ai.models import Model

__all__ = ["make_model"]


def make_model(spec: ModelSpec, connection: Connection) -> Model:
    """Return what asks a model; nothing is sent.

    Raises:
        OptionError: If the vendor has no such model.
    """
    from pydantic_ai.exceptions import UserError

    try:
        return _make(spec, connection)
    except UserError as error:
        raise OptionError(f"model is {spec.name!r}: {error}") from error


def _make(spec: ModelSpec, connection: Connection) -> Model:
    vendor, provider = spec.vendor.name, connection.provider
    if vendor in ("compatible", "ollama"):
        from pydantic_ai.models.ollama import OllamaModel
        from pydantic_ai.models.openai import OpenAIChatModel, OpenAIChatModelSettings
        from pydantic_ai.profiles.openai import OpenAIModelProfile

        # Not every server knows the newer name of the limit on the output.
        older = OpenAIModelProfile(openai_chat_supports_max_completion_tokens=False)
        if vendor == "compatible":
            return OpenAIChatModel(spec.model, provider=provider, profile=older)
        # Models that think would do so, whatever the profile says of them.
        settings = OpenAIChatModelSettings(openai_reasoning_effort="none")
        return OllamaModel(spec.model, provider=provider, profile=older, settings=settings)
    if vendor == "openai" and not connection.address:
        from pydantic_ai.models.openai import OpenAIResponsesModel, OpenAIResponsesModelSettings

        # What documents say is not to be kept at the provider.
        kept = OpenAIResponsesModelSettings(openai_store=False)
        return OpenAIResponsesModel(spec.model, provider=provider, settings=kept)
    from pydantic_ai.models import infer_model

    # The chat interface is what servers offer that stand in for OpenAI.
    kind_name = "openai-chat" if vendor == "openai" else vendor
    return infer_model(f"{kind_name}:{spec.model}", provider_factory=lambda _: provider)
