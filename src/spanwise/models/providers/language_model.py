"""Language models of vendors, called through pydantic-ai."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from spanwise.errors import ModelError, OptionError
from spanwise.models.ports import ModelReply, ModelRequest
from spanwise.models.providers.catalog import ModelSpec, parse_model_spec
from spanwise.models.providers.connections import Connection, VendorClient, connect
from spanwise.models.providers.prices import input_tokens, price, text_tokens
from spanwise.models.providers.retry import SentCall, call_with_retries
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
    """Return the pydantic-ai messages of a request.

    Args:
        request: The request.
        marks_shared: Whether to mark the end of the shared part for the provider's prompt cache.
    """
    from pydantic_ai import messages

    content: list[UserContent] = []
    if request.shared and marks_shared:
        content += [request.shared, messages.CachePoint(), request.prompt]
    else:
        content.append("\n\n".join(filter(None, (request.shared, request.prompt))))
    content += [
        messages.BinaryContent(image, media_type=_image_type(image)) for image in request.images
    ]
    # Some servers with OpenAI's chat interface accept a single text only, not a list.
    only = content[0] if len(content) == 1 and isinstance(content[0], str) else content
    return [
        messages.ModelRequest(
            parts=[messages.UserPromptPart(content=only)], instructions=request.instructions
        )
    ]


_IMAGE_TYPES = {b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif", b"RIFF": "image/webp"}


def _image_type(image: bytes) -> str:
    """Return the media type of an image by its first bytes; PNG for an unknown one."""
    return next(
        (kind for start, kind in _IMAGE_TYPES.items() if image.startswith(start)), "image/png"
    )


def to_parameters(request: ModelRequest, model: Model) -> ModelRequestParameters:
    """Return the parameters that request an answer in the form of a JSON schema.

    The first method that the model supports is used: structured output with the schema, a call of
    a tool with the answer as its arguments, or an instruction in the prompt.
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
    """Return the settings of a call: the temperature if the model accepts one, and no thinking.

    Thinking tokens would count towards `max_output_tokens`.
    """
    from pydantic_ai.settings import ModelSettings

    settings = ModelSettings(
        max_tokens=request.max_output_tokens,
        timeout=timeout_seconds,
        max_retries=0,
        thinking=False,
        framing_announcement="never",  # an explanation of tags that these prompts do not use
    )
    if accepts_temperature(model):
        settings["temperature"] = request.temperature
    for name in ("timeout", "max_retries"):
        if name in model.unsupported_settings:  # pydantic-ai would warn
            settings.pop(name)
    return settings


def accepts_temperature(model: Model) -> bool:
    """Return whether the sampling temperature of a model can be set."""
    profile = model.profile
    reasons = profile.get("openai_supports_reasoning", False)
    return not reasons and not profile.get("anthropic_disallows_sampling_settings", False)


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

        # Some servers only know the older name of the limit on output tokens.
        older = OpenAIModelProfile(openai_chat_supports_max_completion_tokens=False)
        if vendor == "compatible":
            return OpenAIChatModel(spec.model, provider=provider, profile=older)
        # Disables thinking even if the profile of a reasoning model says otherwise.
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


def _answer_text(response: ModelResponse, *, is_form: bool) -> str:
    """Return the text of an answer; a Markdown fence around a JSON answer is removed."""
    from pydantic_ai.messages import TextPart, ToolCallPart

    calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
    if calls:
        return calls[0].args_as_json_str()
    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    fenced = _FENCED.fullmatch(text) if is_form else None
    return text if fenced is None else fenced[1]


def make_vendor_model(name: str, options: ModelOptions, *, needs_key: bool = True) -> VendorModel:
    """Return a language model by name; nothing is sent.

    Args:
        name: "vendor:model", or "vendor:model@address".
        options: Options of the calls.
        needs_key: Whether a missing key is an error; it is not if calls are only estimated.

    Raises:
        OptionError: If the name is not usable, or the client of the vendor is not installed.
        ModelKeyError: If the API key is missing.
    """
    spec = parse_model_spec(name)
    connection = connect(spec, needs_key=needs_key)
    model = make_model(spec, connection)
    return VendorModel(spec=spec, options=options, connection=connection, model=model)


@dataclass(slots=True, kw_only=True, eq=False)
class VendorModel(VendorClient):
    """Language model of a vendor."""

    model: Model
    """Client of the model."""

    @property
    def accepts_images(self) -> bool:
        """Whether the client can send images, and the model is not known to accept text only."""
        return self.spec.vendor.sees_pictures and self.model.profile.get(
            "supports_image_input", True
        )

    def estimate(self, request: ModelRequest, *, in_batch: bool = False) -> Usage:
        """Return an estimate of the usage of a call, with the maximum number of output tokens.

        Args:
            request: The request.
            in_batch: Whether the batch interface is used.
        """
        counted = input_tokens(request, self.spec.vendor)
        return self._usage(counted, request.max_output_tokens, in_batch=in_batch)

    def reply(
        self,
        request: ModelRequest,
        response: ModelResponse,
        *,
        retries: int,
        in_batch: bool = False,
    ) -> ModelReply:
        """Return the reply of a response, with the reported usage or an estimate.

        Args:
            request: The request.
            response: Response of pydantic-ai.
            retries: Number of retries before the response.
            in_batch: Whether the batch interface was used.
        """
        vendor, reported = self.spec.vendor, response.usage
        usage = self._usage(
            reported.input_tokens or input_tokens(request, vendor),
            reported.output_tokens or text_tokens(_answer_text(response, is_form=False), vendor),
            cache_tokens=(reported.cache_read_tokens, reported.cache_write_tokens),
            in_batch=in_batch,
        )
        refusal = ""
        if response.finish_reason == "content_filter":
            reason = (response.provider_details or {}).get("refusal") or "by its content filter"
            refusal = " ".join(str(reason).split())[:_REFUSAL_CHARS]
        return ModelReply(
            text=_answer_text(response, is_form=request.answer is not None),
            usage=replace(usage, retries=retries),
            model=self.spec.name,
            is_cut=response.finish_reason == "length",
            refusal=refusal,
        )

    def _usage(
        self,
        input_tokens: int,
        output_tokens: int,
        *,
        cache_tokens: tuple[int, int] = (0, 0),
        in_batch: bool,
    ) -> Usage:
        """Return the usage of one call with its cost; `cache_tokens` are as for `price`."""
        cost = price(
            self.spec,
            address=self.connection.address,
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            cache_tokens=cache_tokens,
            in_batch=in_batch,
        )
        return Usage(
            calls=1,
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            cached_input_tokens=cache_tokens[0],
            cost=cost,
        )

    def generate(self, request: ModelRequest) -> ModelReply:
        """Return the answer to a request, or a reply with a refusal.

        Raises:
            ModelError: If the provider fails after all retries, or the request has images or a
                temperature that cannot be sent.
        """
        self._check_request(request)
        return run_coroutine(self._generate(request, tokens=self._limited_tokens(request)))

    def stream(self, request: ModelRequest) -> Iterator[str | ModelReply]:
        """Yield the parts of the answer as they arrive, and then the complete reply.

        Raises:
            ModelError: As for `generate`. There are no retries after the first part.
        """
        self._check_request(request)
        tokens = self._limited_tokens(request)
        return iterate_coroutine(lambda emit: self._stream(request, emit, tokens=tokens))

    def _check_request(self, request: ModelRequest) -> None:
        if request.images and not self.spec.vendor.sees_pictures:
            message = f"{self.name} is asked about pictures, which its client cannot send"
            raise self.spec.error(f"{message}; use a model of another vendor", kind=ModelError)
        if request.temperature and not accepts_temperature(self.model):
            message = f"temperature is {request.temperature}, and {self.name} accepts none"
            raise self.spec.error(f"{message}; leave temperature out", kind=ModelError)

    async def _generate(self, request: ModelRequest, *, tokens: int) -> ModelReply:
        from pydantic_ai.direct import model_request

        state = self.new_retry_state()

        async def call(sent: SentCall) -> ModelReply:
            response = await model_request(self.model, **self._arguments(request))
            return _counted(self.reply(request, response, retries=state.retries), sent)

        return await call_with_retries(call, state=state, tokens=tokens, translate=self.translate)

    async def _stream(
        self, request: ModelRequest, emit: Callable[[str | ModelReply], None], *, tokens: int
    ) -> None:
        from pydantic_ai.direct import model_request_stream

        state = self.new_retry_state()
        started = False

        async def call(sent: SentCall) -> ModelReply:
            nonlocal started
            arguments = self._arguments(request)
            async with model_request_stream(self.model, **arguments) as response:
                async for event in response:
                    part = _event_text(event)
                    if part:
                        started = True
                        emit(part)
                return _counted(self.reply(request, response.get(), retries=state.retries), sent)

        emit(
            await call_with_retries(
                call,
                state=state,
                tokens=tokens,
                translate=lambda error: replace(self.translate(error), is_final=started),
            )
        )

    def _arguments(self, request: ModelRequest) -> dict[str, Any]:
        """Return the arguments of a call of pydantic-ai."""
        timeout_seconds = self.options.timeout_seconds
        return {
            "messages": to_messages(request, marks_shared=self.spec.vendor.marks_shared),
            "model_settings": to_settings(request, self.model, timeout_seconds=timeout_seconds),
            "model_request_parameters": to_parameters(request, self.model),
        }

    def _limited_tokens(self, request: ModelRequest) -> int:
        """Return the estimated tokens of a call; 0 if there is no limit on tokens per minute."""
        if self.options.tokens_per_minute is None:
            return 0
        usage = self.estimate(request)
        return usage.input_tokens + usage.output_tokens


def _counted(reply: ModelReply, sent: SentCall) -> ModelReply:
    """Return a reply, after its tokens were recorded for the rate limiter."""
    sent.tokens = reply.usage.input_tokens + reply.usage.output_tokens
    return reply


def _event_text(event: ModelResponseStreamEvent) -> str:
    """Return the text or JSON of the answer in an event of a stream; empty for other events."""
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
