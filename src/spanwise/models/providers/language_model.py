"""A request in the terms of pydantic-ai.

Which class of pydantic-ai asks a model.

An answer of a provider in our terms: its text, what it took, and whether it is a refusal.

A language model of any vendor: one adapter for all that pydantic-ai can ask.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from spanwise.errors import ModelError, OptionError
from spanwise.models import event_loop as loop
from spanwise.models.ports import ModelReply, ModelRequest
from spanwise.models.providers.catalog import ModelSpec, parse_model_spec
from spanwise.models.providers.connections import Connection, connect
from spanwise.models.providers.failures import Failure, translate
from spanwise.models.providers.prices import input_tokens, price, text_tokens
from spanwise.models.providers.retry import Attempts, Sent, call_with_retries
from spanwise.options import ModelOptions
from spanwise.types import Usage

if TYPE_CHECKING:
    from pydantic_ai.messages import (
        ModelMessage,
        ModelResponse,
        ModelResponseStreamEvent,
        UserContent,
    )
    from pydantic_ai.models import Model, ModelRequestParameters
    from pydantic_ai.settings import ModelSettings

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


_REFUSAL_CHARS = 300
_FENCED = re.compile(r"\s*```[a-z]*\n(.*?)\n?```\s*", re.DOTALL)


def estimated_usage(
    request: ModelRequest, *, spec: ModelSpec, address: str, in_batch: bool = False
) -> Usage:
    """Return about what a call takes: input as counted here, output at most.

    Args:
        request: The request.
        spec: Which model is asked.
        address: Where; empty for the vendor's own.
        in_batch: Whether by the batch interface.
    """
    counted = input_tokens(request, spec.vendor)
    return Usage(
        calls=1,
        input_tokens=counted,
        output_tokens=request.max_output_tokens,
        cost=price(
            spec,
            address=address,
            input_tokens=counted,
            output_tokens=request.max_output_tokens,
            in_batch=in_batch,
        ),
    )


def told_usage(
    request: ModelRequest,
    response: ModelResponse,
    *,
    spec: ModelSpec,
    address: str,
    in_batch: bool = False,
) -> Usage:
    """Return what a call took, as its provider says; what it does not say is counted here.

    Args:
        request: The request.
        response: The answer.
        spec: Which model was asked.
        address: Where; empty for the vendor's own.
        in_batch: Whether by the batch interface.
    """
    told = response.usage
    counted = told.input_tokens or input_tokens(request, spec.vendor)
    written = told.output_tokens or text_tokens(_answer_text(response, is_form=False), spec.vendor)
    return Usage(
        calls=1,
        input_tokens=counted,
        output_tokens=written,
        cached_input_tokens=told.cache_read_tokens,
        cost=price(
            spec,
            address=address,
            input_tokens=counted,
            output_tokens=written,
            cache_tokens=(told.cache_read_tokens, told.cache_write_tokens),
            in_batch=in_batch,
        ),
    )


def to_reply(
    request: ModelRequest, response: ModelResponse, *, spec: ModelSpec, usage: Usage
) -> ModelReply:
    """Return the reply; where the model, or a filter of its provider, refuses, it says so."""
    refusal = ""
    if response.finish_reason == "content_filter":
        said = (response.provider_details or {}).get("refusal") or "by its content filter"
        refusal = " ".join(str(said).split())[:_REFUSAL_CHARS]
    return ModelReply(
        text=_answer_text(response, is_form=request.answer is not None),
        usage=usage,
        model=spec.name,
        is_cut=response.finish_reason == "length",
        refusal=refusal,
    )


def _answer_text(response: ModelResponse, *, is_form: bool) -> str:
    """Return the text of an answer, or the JSON where a form was asked for.

    Args:
        response: The answer.
        is_form: Whether a form was asked for.
    """
    from pydantic_ai.messages import TextPart, ToolCallPart

    calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
    if calls:
        return calls[0].args_as_json_str()
    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    fenced = _FENCED.fullmatch(text) if is_form else None
    return text if fenced is None else fenced[1]


def make_vendor_model(name: str, options: ModelOptions) -> VendorModel:
    """Return a language model; nothing is sent.

    Args:
        name: "vendor:model", or "vendor:model@address".
        options: How it is called.

    Raises:
        OptionError: If the name is not usable, or the client of the vendor is not installed.
        ModelKeyError: If there is no key.
    """
    spec = parse_model_spec(name)
    connection = connect(spec)
    return VendorModel(
        spec=spec,
        options=options,
        connection=connection,
        model=make_model(spec, connection),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class VendorModel:
    """Asks one model of one vendor."""

    spec: ModelSpec
    options: ModelOptions
    connection: Connection
    model: Model

    @property
    def name(self) -> str:
        """Return vendor and model."""
        return self.spec.name

    @property
    def concurrency(self) -> int:
        """Return how many calls at once go to the provider."""
        return self.options.concurrency or self.connection.traffic.usual

    def estimate(self, request: ModelRequest) -> Usage:
        """Return about what a call takes: input as counted here, output at most."""
        return estimated_usage(request, spec=self.spec, address=self.connection.address)

    def generate(self, request: ModelRequest) -> ModelReply:
        """Return the answer to a request, or a reply that says that it is refused.

        Raises:
            ModelError: If the provider fails after all further calls, or its client sends no
                pictures, and there are some.
        """
        if request.images and not self.spec.vendor.sees_pictures:
            raise ModelError(
                f"{self.name} is asked about pictures, which its client does not send; use a model "
                "of another vendor",
                provider=self.spec.vendor.name,
                model=self.spec.model,
            )
        return loop.run(self._generate(request, tokens=self._limited_tokens(request)))

    def stream(self, request: ModelRequest) -> Iterator[str | ModelReply]:
        """Yield the pieces of the answer as they come, and last the whole reply.

        Raises:
            ModelError: As `generate`; after the first piece, there is no further call.
        """
        tokens = self._limited_tokens(request)
        return loop.iterate(lambda emit: self._stream(request, emit, tokens=tokens))

    async def _generate(self, request: ModelRequest, *, tokens: int) -> ModelReply:
        from pydantic_ai.direct import model_request

        attempts = Attempts(traffic=self.connection.traffic, options=self.options)

        async def call(sent: Sent) -> ModelReply:
            response = await model_request(
                self.model,
                to_messages(request, marks_shared=self.spec.vendor.marks_shared),
                model_settings=to_settings(
                    request, self.model, timeout_seconds=self.options.timeout_seconds
                ),
                model_request_parameters=to_parameters(request, self.model),
            )
            return self._reply(request, response, sent, retries=attempts.retries)

        return await call_with_retries(
            call, attempts=attempts, tokens=tokens, translate=self.translate
        )

    async def _stream(
        self, request: ModelRequest, emit: Callable[[str | ModelReply], None], *, tokens: int
    ) -> None:
        from pydantic_ai.direct import model_request_stream

        attempts = Attempts(traffic=self.connection.traffic, options=self.options)
        begun = False

        async def call(sent: Sent) -> ModelReply:
            nonlocal begun
            async with model_request_stream(
                self.model,
                to_messages(request, marks_shared=self.spec.vendor.marks_shared),
                model_settings=to_settings(
                    request, self.model, timeout_seconds=self.options.timeout_seconds
                ),
                model_request_parameters=to_parameters(request, self.model),
            ) as response:
                async for event in response:
                    piece = _piece(event)
                    if piece:
                        begun = True
                        emit(piece)
                return self._reply(request, response.get(), sent, retries=attempts.retries)

        emit(
            await call_with_retries(
                call,
                attempts=attempts,
                tokens=tokens,
                translate=lambda error: replace(self.translate(error), is_final=begun),
            )
        )

    def _reply(
        self, request: ModelRequest, response: ModelResponse, sent: Sent, *, retries: int
    ) -> ModelReply:
        usage = told_usage(request, response, spec=self.spec, address=self.connection.address)
        sent.tokens = usage.input_tokens + usage.output_tokens
        return to_reply(request, response, spec=self.spec, usage=replace(usage, retries=retries))

    def _limited_tokens(self, request: ModelRequest) -> int:
        """Return about what a call takes, where that is limited; 0 where it is not."""
        if self.options.tokens_per_minute is None:
            return 0
        usage = self.estimate(request)
        return usage.input_tokens + usage.output_tokens

    def translate(self, error: Exception) -> Failure:
        """Return what an exception of the client means."""
        return translate(
            error,
            spec=self.spec,
            secret=self.connection.secret,
            timeout_seconds=self.options.timeout_seconds,
        )


def _piece(event: ModelResponseStreamEvent) -> str:
    """Return the text of the answer, or the JSON of its form, that an event of a stream brings."""
    from pydantic_ai import messages

    if isinstance(event, messages.PartStartEvent):
        part = event.part
        if isinstance(part, messages.TextPart):
            return part.content
        if isinstance(part, messages.ToolCallPart) and isinstance(part.args, str):
            return part.args
    if isinstance(event, messages.PartDeltaEvent):
        delta = event.delta
        if isinstance(delta, messages.TextPartDelta):
            return delta.content_delta
        if isinstance(delta, messages.ToolCallPartDelta) and isinstance(delta.args_delta, str):
            return delta.args_delta
    return ""
