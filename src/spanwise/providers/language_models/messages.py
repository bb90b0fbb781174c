"""A request in the terms of pydantic-ai."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwise.ports import ModelRequest

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, UserContent
    from pydantic_ai.models import Model, ModelRequestParameters
    from pydantic_ai.settings import ModelSettings

__all__ = ["to_messages", "to_parameters", "to_settings"]

_ANSWER_TOOL = "answer"


def to_messages(request: ModelRequest, *, marks_shared: bool) -> list[ModelMessage]:
    """Return the messages of a request.

    Args:
        request: The request.
        marks_shared: Whether the provider keeps what stands before a mark.
    """
    from pydantic_ai import messages

    content: list[UserContent] = []
    if request.shared and marks_shared:
        content += [request.shared, messages.CachePoint(), request.prompt]
    else:
        content.append("\n\n".join(filter(None, (request.shared, request.prompt))))
    content += [messages.BinaryContent(image, media_type="image/png") for image in request.images]
    # Not every server with the chat interface takes a list where one text does.
    only = content[0] if len(content) == 1 and isinstance(content[0], str) else content
    return [
        messages.ModelRequest(
            parts=[messages.UserPromptPart(content=only)], instructions=request.instructions
        )
    ]


def to_parameters(request: ModelRequest, model: Model) -> ModelRequestParameters:
    """Return in which way a model is asked for the form of an answer: the best that it has.

    That is a JSON schema, else a tool that takes the answer, else words in the prompt.
    """
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.output import OutputObjectDefinition
    from pydantic_ai.tools import ToolDefinition

    schema = request.schema
    if request.answer is None or schema is None:
        return ModelRequestParameters()
    profile = model.profile
    if not profile.get("supports_json_schema_output") and profile.get("supports_tools", True):
        tool = ToolDefinition(
            name=_ANSWER_TOOL,
            description="Takes the answer.",
            parameters_json_schema=schema,
            kind="output",
        )
        return ModelRequestParameters(
            output_mode="tool", output_tools=[tool], allow_text_output=False
        )
    return ModelRequestParameters(
        output_mode="native" if profile.get("supports_json_schema_output") else "prompted",
        output_object=OutputObjectDefinition(json_schema=schema, name=request.answer.__name__),
        allow_text_output=False,
    )


def to_settings(request: ModelRequest, model: Model, *, timeout_seconds: float) -> ModelSettings:
    """Return the settings of a call: nothing by chance, and no thinking that costs more than it.

    Tasks are short, and thinking would count as output that `max_output_tokens` limits.
    """
    from pydantic_ai.settings import ModelSettings

    settings = ModelSettings(
        max_tokens=request.max_output_tokens,
        timeout=timeout_seconds,
        max_retries=0,
        thinking=False,
        framing_announcement="never",  # pydantic-ai would explain tags that no prompt here has
    )
    profile = model.profile
    reasons = profile.get("openai_supports_reasoning", False)
    if not reasons and not profile.get("anthropic_disallows_sampling_settings", False):
        settings["temperature"] = 0.0
    for name in ("timeout", "max_retries"):
        if name in model.unsupported_settings:  # it would warn
            settings.pop(name)
    return settings
