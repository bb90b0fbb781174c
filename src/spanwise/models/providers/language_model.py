"""Adapter to the language models of pydantic-ai: requests, replies, usage and refusals."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from spanwise.errors import ModelError, OptionError
from spanwise.models.ports import ModelReply, ModelRequest
from spanwise.models.providers.catalog import ModelSpec, parse_model_spec
from spanwise.models.providers.connections import Connection, connect
from spanwise.models.providers.failures import Failure, translate
from spanwise.models.providers.prices import input_tokens, price, text_tokens
from spanwise.models.providers.retry import RetryState, SentCall, call_with_retries
from spanwise.options import ModelOptions
from spanwise.threads import iterate_coroutine, run_coroutine
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
        marks_shared: Whether the end of the shared part is marked for the prompt cache.
    """
    from pydantic_ai import messages

    content: list[UserContent] = []
    if request.shared and marks_shared:
        content += [request.shared, messages.CachePoint(), request.prompt]
    else:
        content.append("\n\n".join(filter(None, (request.shared, request.prompt))))
    content += [messages.BinaryContent(image, media_type="image/png") for image in request.images]
    # Some servers with the chat interface only accept a single text, not a list.
    only = content[0] if len(content) == 1 and isinstance(content[0], str) else content
    return [
        messages.ModelRequest(
            parts=[messages.UserPromptPart(content=only)], instructions=request.instructions
        )
    ]


def to_parameters(request: ModelRequest, model: Model) -> ModelRequestParameters:
    """Return the parameters that request the form of an answer, by the best means of a model.

    In this order: a JSON schema, a tool that takes the answer, an instruction in the prompt.
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
    """Return the settings of a call: temperature 0, and no thinking.

    Tasks are short, and thinking tokens would count towards `max_output_tokens`.
    """
    from pydantic_ai.settings import ModelSettings

    settings = ModelSettings(
        max_tokens=request.max_output_tokens,
        timeout=timeout_seconds,
        max_retries=0,
        thinking=False,
        framing_announcement="never",  # else pydantic-ai explains tags that no prompt here uses
    )
    profile = model.profile
    reasons = profile.get("openai_supports_reasoning", False)
    if not reasons and not profile.get("anthropic_disallows_sampling_settings", False):
        settings["temperature"] = 0.0
    for name in ("timeout", "max_retries"):
        if name in model.unsupported_settings:  # pydantic-ai would warn
            settings.pop(name)
    return settings


def make_model(spec: ModelSpec, connection: Connection) -> Model:
    """Return the client of a model; nothing is sent.

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

        # Some servers do not know the newer name of the limit on the output.
        older = OpenAIModelProfile(openai_chat_supports_max_completion_tokens=False)
        if vendor == "compatible":
            return OpenAIChatModel(spec.model, provider=provider, profile=older)
        # Reasoning models would think, whatever their profile says.
        settings = OpenAIChatModelSettings(openai_reasoning_effort="none")
        return OllamaModel(spec.model, provider=provider, profile=older, settings=settings)
    if vendor == "openai" and not connection.address:
        from pydantic_ai.models.openai import OpenAIResponsesModel, OpenAIResponsesModelSettings

        # The provider must not store text of documents.
        unstored = OpenAIResponsesModelSettings(openai_store=False)
        return OpenAIResponsesModel(spec.model, provider=provider, settings=unstored)
    from pydantic_ai.models import infer_model

    # Servers that replace OpenAI offer the chat interface.
    kind_name = "openai-chat" if vendor == "openai" else vendor
    return infer_model(f"{kind_name}:{spec.model}", provider_factory=lambda _: provider)


_REFUSAL_CHARS = 300
_FENCED = re.compile(r"\s*```[a-z]*\n(.*?)\n?```\s*", re.DOTALL)


def estimated_usage(
    request: ModelRequest, *, spec: ModelSpec, address: str, in_batch: bool = False
) -> Usage:
    """Return the estimated usage of a call: counted input tokens, maximum output tokens.

    Args:
        request: The request.
        spec: The parsed name of the model.
        address: Base URL; empty for the vendor's default.
        in_batch: Whether the batch interface is used.
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


def reported_usage(
    request: ModelRequest,
    response: ModelResponse,
    *,
    spec: ModelSpec,
    address: str,
    in_batch: bool = False,
) -> Usage:
    """Return the usage of a call as its provider reports it, estimated where it reports none.

    Args:
        request: The request.
        response: The answer.
        spec: The parsed name of the model.
        address: Base URL; empty for the vendor's default.
        in_batch: Whether the batch interface was used.
    """
    reported = response.usage
    counted = reported.input_tokens or input_tokens(request, spec.vendor)
    written = reported.output_tokens or text_tokens(
        _answer_text(response, is_form=False), spec.vendor
    )
    return Usage(
        calls=1,
        input_tokens=counted,
        output_tokens=written,
        cached_input_tokens=reported.cache_read_tokens,
        cost=price(
            spec,
            address=address,
            input_tokens=counted,
            output_tokens=written,
            cache_tokens=(reported.cache_read_tokens, reported.cache_write_tokens),
            in_batch=in_batch,
        ),
    )


def to_reply(
    request: ModelRequest, response: ModelResponse, *, spec: ModelSpec, usage: Usage
) -> ModelReply:
    """Return the reply, with the reason if the model or a filter of its provider refuses."""
    refusal = ""
    if response.finish_reason == "content_filter":
        reason = (response.provider_details or {}).get("refusal") or "by its content filter"
        refusal = " ".join(str(reason).split())[:_REFUSAL_CHARS]
    return ModelReply(
        text=_answer_text(response, is_form=request.answer is not None),
        usage=usage,
        model=spec.name,
        is_cut=response.finish_reason == "length",
        refusal=refusal,
    )


def _answer_text(response: ModelResponse, *, is_form: bool) -> str:
    """Return the text of an answer, without the Markdown fence around a JSON answer."""
    from pydantic_ai.messages import TextPart, ToolCallPart

    calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
    if calls:
        return calls[0].args_as_json_str()
    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    fenced = _FENCED.fullmatch(text) if is_form else None
    return text if fenced is None else fenced[1]


def make_vendor_model(name: str, options: ModelOptions) -> VendorModel:
    """Return a language model by name; nothing is sent.

    Args:
        name: "vendor:model", or "vendor:model@address".
        options: Options of the calls.

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
    """Language model of a vendor."""

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
        """Return the maximum number of concurrent calls to the provider."""
        return self.options.concurrency or self.connection.limiter.default_concurrency

    def estimate(self, request: ModelRequest) -> Usage:
        """Return the estimated usage of a call: counted input tokens, maximum output tokens."""
        return estimated_usage(request, spec=self.spec, address=self.connection.address)

    def generate(self, request: ModelRequest) -> ModelReply:
        """Return the answer to a request, or a reply with a refusal.

        Raises:
            ModelError: If the provider fails after all retries, or the request has images and the
                client sends none.
        """
        if request.images and not self.spec.vendor.sees_pictures:
            raise ModelError(
                f"{self.name} is asked about pictures, which its client does not send; use a model "
                "of another vendor",
                provider=self.spec.vendor.name,
                model=self.spec.model,
            )
        return run_coroutine(self._generate(request, tokens=self._limited_tokens(request)))

    def stream(self, request: ModelRequest) -> Iterator[str | ModelReply]:
        """Yield the parts of the answer as they arrive, and last the complete reply.

        Raises:
            ModelError: As for `generate`; after the first part there are no retries.
        """
        tokens = self._limited_tokens(request)
        return iterate_coroutine(lambda emit: self._stream(request, emit, tokens=tokens))

    async def _generate(self, request: ModelRequest, *, tokens: int) -> ModelReply:
        from pydantic_ai.direct import model_request

        state = RetryState(limiter=self.connection.limiter, options=self.options)

        async def call(sent: SentCall) -> ModelReply:
            response = await model_request(
                self.model,
                to_messages(request, marks_shared=self.spec.vendor.marks_shared),
                model_settings=to_settings(
                    request, self.model, timeout_seconds=self.options.timeout_seconds
                ),
                model_request_parameters=to_parameters(request, self.model),
            )
            return self._reply(request, response, sent, retries=state.retries)

        return await call_with_retries(call, state=state, tokens=tokens, translate=self.translate)

    async def _stream(
        self, request: ModelRequest, emit: Callable[[str | ModelReply], None], *, tokens: int
    ) -> None:
        from pydantic_ai.direct import model_request_stream

        state = RetryState(limiter=self.connection.limiter, options=self.options)
        started = False

        async def call(sent: SentCall) -> ModelReply:
            nonlocal started
            async with model_request_stream(
                self.model,
                to_messages(request, marks_shared=self.spec.vendor.marks_shared),
                model_settings=to_settings(
                    request, self.model, timeout_seconds=self.options.timeout_seconds
                ),
                model_request_parameters=to_parameters(request, self.model),
            ) as response:
                async for event in response:
                    part = _event_text(event)
                    if part:
                        started = True
                        emit(part)
                return self._reply(request, response.get(), sent, retries=state.retries)

        emit(
            await call_with_retries(
                call,
                state=state,
                tokens=tokens,
                translate=lambda error: replace(self.translate(error), is_final=started),
            )
        )

    def _reply(
        self, request: ModelRequest, response: ModelResponse, sent: SentCall, *, retries: int
    ) -> ModelReply:
        usage = reported_usage(request, response, spec=self.spec, address=self.connection.address)
        sent.tokens = usage.input_tokens + usage.output_tokens
        return to_reply(request, response, spec=self.spec, usage=replace(usage, retries=retries))

    def _limited_tokens(self, request: ModelRequest) -> int:
        """Return the estimated tokens of a call if there is a limit on tokens; 0 otherwise."""
        if self.options.tokens_per_minute is None:
            return 0
        usage = self.estimate(request)
        return usage.input_tokens + usage.output_tokens

    def translate(self, error: Exception) -> Failure:
        """Return the failure of an exception of the client."""
        return translate(
            error,
            spec=self.spec,
            secret=self.connection.secret,
            timeout_seconds=self.options.timeout_seconds,
        )


def _event_text(event: ModelResponseStreamEvent) -> str:
    """Return the part of the answer, text or JSON, in an event of a stream."""
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
