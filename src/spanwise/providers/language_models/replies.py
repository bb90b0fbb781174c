"""An answer of a provider in our terms: its text, what it took, and whether it is a refusal."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from spanwise.ports import ModelReply, ModelRequest
from spanwise.providers.language_models.estimates import input_tokens, text_tokens
from spanwise.providers.vendors.catalog import ModelSpec
from spanwise.providers.vendors.prices import price
from spanwise.types import Usage

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse

__all__ = ["estimated_usage", "to_reply", "told_usage"]

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
