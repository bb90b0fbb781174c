"""A language model of any vendor: one adapter for all that pydantic-ai can ask."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from spanwise.errors import ModelError
from spanwise.options import ModelOptions
from spanwise.ports import ModelReply, ModelRequest
from spanwise.providers.language_models.messages import (
    to_messages,
    to_parameters,
    to_settings,
)
from spanwise.providers.language_models.models import make_model
from spanwise.providers.language_models.replies import (
    estimated_usage,
    to_reply,
    told_usage,
)
from spanwise.providers.vendors import loop
from spanwise.providers.vendors.attempts import Attempts, call_with_retries
from spanwise.providers.vendors.catalog import ModelSpec, parse_model_spec
from spanwise.providers.vendors.connections import Connection, connect
from spanwise.providers.vendors.failures import Failure, translate
from spanwise.providers.vendors.traffic import Sent
from spanwise.types import Usage

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse, ModelResponseStreamEvent
    from pydantic_ai.models import Model

__all__ = ["VendorModel", "make_vendor_model"]


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
