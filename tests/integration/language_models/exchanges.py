"""What vendors answer, written from their published references, each named where it stands.

The values are ours; the fields, their places and the errors are those of the references.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.servers.scripted import Reply

__all__ = ["EXCHANGES", "KEY", "Exchange"]

KEY = "sk-test-0123456789abcdef"
TEXT = "Sales rose by 4 %."
FORM = {"title": "Harbour dues", "pages": 12}


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """How one vendor is asked, and what it answers."""

    name: str
    """Vendor and model."""
    reference: str
    path: str
    """Of the request, or its beginning."""
    key_header: tuple[str, str]
    """Name and value, or the beginning of it."""
    provider: Callable[[str], Any]
    """From the address of the server."""
    text: Mapping[str, object]
    """100 tokens in, 40 of them from the cache where the vendor has one, 7 out."""
    form: Mapping[str, object]
    cut: Mapping[str, object]
    """Ended by the limit on the output."""
    no_key: tuple[int, Mapping[str, object]]
    busy: tuple[int, Mapping[str, object]]
    cached_tokens: int = 40
    retry_header: str = "retry-after"


def reply(body: Mapping[str, object], *, status: int = 200, headers: Any = None) -> Reply:
    return Reply(body=json.dumps(body).encode(), status=status, headers=dict(headers or {}))


def _openai(url: str) -> Any:
    from pydantic_ai.providers.openai import OpenAIProvider

    return OpenAIProvider(base_url=f"{url}/v1", api_key=KEY)


def _response(text: str, **changes: object) -> dict[str, object]:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1_700_000_000,
        "status": "completed",
        "model": "gpt-5-mini",
        "output": [
            {
                "type": "message",
                "id": "msg_1",
                "status": "completed",
                "role": "assistant",
                "content": [{"type": "output_text", "text": text, "annotations": []}],
            }
        ],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": 100,
            "input_tokens_details": {"cached_tokens": 40},
            "output_tokens": 7,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 107,
        },
        **changes,
    }


OPENAI = Exchange(
    name="openai:gpt-5-mini",
    reference="https://platform.openai.com/docs/api-reference/responses/create",
    path="/v1/responses",
    key_header=("authorization", f"Bearer {KEY}"),
    provider=_openai,
    text=_response(TEXT),
    form=_response(json.dumps(FORM)),
    cut=_response(
        '{"title": "Harb', status="incomplete", incomplete_details={"reason": "max_output_tokens"}
    ),
    # https://platform.openai.com/docs/guides/error-codes
    no_key=(
        401,
        {
            "error": {
                "message": f"Incorrect API key provided: {KEY}.",
                "type": "invalid_request_error",
                "param": None,
                "code": "invalid_api_key",
            }
        },
    ),
    busy=(
        429,
        {
            "error": {
                "message": "Rate limit reached for gpt-5-mini in organization org-1",
                "type": "requests",
                "param": None,
                "code": "rate_limit_exceeded",
            }
        },
    ),
)


def _anthropic(url: str) -> Any:
    from pydantic_ai.providers.anthropic import AnthropicProvider

    return AnthropicProvider(base_url=url, api_key=KEY)


def _message(*content: Mapping[str, object], stop: str = "end_turn") -> dict[str, object]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-6",
        "content": list(content),
        "stop_reason": stop,
        "stop_sequence": None,
        # What is read from the cache is not among input_tokens.
        "usage": {
            "input_tokens": 60,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 40,
            "output_tokens": 7,
        },
    }


ANTHROPIC = Exchange(
    name="anthropic:claude-sonnet-4-6",
    reference="https://docs.claude.com/en/api/messages",
    path="/v1/messages",
    key_header=("authorization", f"Bearer {KEY}"),
    provider=_anthropic,
    text=_message({"type": "text", "text": TEXT}),
    form=_message({"type": "text", "text": json.dumps(FORM)}),
    cut=_message({"type": "text", "text": '{"title": "Harb'}, stop="max_tokens"),
    # https://docs.claude.com/en/api/errors
    no_key=(
        401,
        {
            "type": "error",
            "error": {"type": "authentication_error", "message": f"invalid x-api-key {KEY}"},
        },
    ),
    busy=(
        529,
        {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
    ),
)


def _google(url: str) -> Any:
    from pydantic_ai.providers.google import GoogleProvider

    return GoogleProvider(base_url=url, api_key=KEY)


def _candidate(text: str, *, finish: str = "STOP") -> dict[str, object]:
    return {
        "candidates": [
            {
                "content": {"parts": [{"text": text}], "role": "model"},
                "finishReason": finish,
                "index": 0,
            }
        ],
        "usageMetadata": {
            "promptTokenCount": 100,
            "cachedContentTokenCount": 40,
            "candidatesTokenCount": 7,
            "totalTokenCount": 107,
        },
        "modelVersion": "gemini-2.5-flash",
        "responseId": "response-1",
    }


GOOGLE = Exchange(
    name="google:gemini-2.5-flash",
    reference="https://ai.google.dev/api/generate-content",
    path="/v1beta/models/gemini-2.5-flash:generateContent",
    key_header=("x-goog-api-key", KEY),
    provider=_google,
    text=_candidate(TEXT),
    form=_candidate(json.dumps(FORM)),
    cut=_candidate('{"title": "Harb', finish="MAX_TOKENS"),
    # https://ai.google.dev/gemini-api/docs/troubleshooting: a wrong key is a 400
    no_key=(
        400,
        {
            "error": {
                "code": 400,
                "message": f"API key not valid ({KEY}). Please pass a valid API key.",
                "status": "INVALID_ARGUMENT",
                "details": [
                    {
                        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                        "reason": "API_KEY_INVALID",
                        "domain": "googleapis.com",
                    }
                ],
            }
        },
    ),
    busy=(
        503,
        {
            "error": {
                "code": 503,
                "message": "The model is overloaded. Please try again later.",
                "status": "UNAVAILABLE",
            }
        },
    ),
)


def _cohere(url: str) -> Any:
    import httpx
    from cohere import AsyncClientV2
    from pydantic_ai.providers.cohere import CohereProvider

    client = AsyncClientV2(api_key=KEY, base_url=url, httpx_client=httpx.AsyncClient())
    return CohereProvider(cohere_client=client)


def _cohere_reply(message: Mapping[str, object], *, finish: str = "COMPLETE") -> dict[str, object]:
    return {
        "id": "c14c80c3-18eb-4519-9460-6c92edd8cfb4",
        "finish_reason": finish,
        "message": {"role": "assistant", **message},
        "usage": {
            "billed_units": {"input_tokens": 90, "output_tokens": 6},
            "tokens": {"input_tokens": 100, "output_tokens": 7},
        },
    }


COHERE = Exchange(
    name="cohere:command-a-03-2025",
    reference="https://docs.cohere.com/reference/chat",
    path="/v2/chat",
    key_header=("authorization", f"Bearer {KEY}"),
    provider=_cohere,
    text=_cohere_reply({"content": [{"type": "text", "text": TEXT}]}),
    form=_cohere_reply(
        {
            "tool_calls": [
                {
                    "id": "answer_1",
                    "type": "function",
                    "function": {"name": "answer", "arguments": json.dumps(FORM)},
                }
            ]
        },
        finish="TOOL_CALL",
    ),
    cut=_cohere_reply(
        {"content": [{"type": "text", "text": '{"title": "Harb'}]}, finish="MAX_TOKENS"
    ),
    # https://docs.cohere.com/reference/errors
    no_key=(401, {"id": "1", "message": f"invalid api token {KEY}"}),
    busy=(429, {"id": "1", "message": "You are past the rate limit of a trial key"}),
    cached_tokens=0,
)


def _mistral(url: str) -> Any:
    from pydantic_ai.providers.mistral import MistralProvider

    return MistralProvider(base_url=url, api_key=KEY)


def _mistral_reply(
    text: str, *, finish: str = "stop", calls: list[object] | None = None
) -> dict[str, object]:
    return {
        "id": "cmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "mistral-small-latest",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text, "tool_calls": calls},
                "finish_reason": finish,
            }
        ],
        "usage": {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107},
    }


MISTRAL = Exchange(
    name="mistral:mistral-small-latest",
    reference="https://docs.mistral.ai/api/endpoint/chat",
    path="/v1/chat/completions",
    key_header=("authorization", f"Bearer {KEY}"),
    provider=_mistral,
    text=_mistral_reply(TEXT),
    form=_mistral_reply(
        "",
        finish="tool_calls",
        calls=[{"id": "a1b2c3d4e", "function": {"name": "answer", "arguments": json.dumps(FORM)}}],
    ),
    cut=_mistral_reply('{"title": "Harb', finish="length"),
    no_key=(401, {"detail": f"Unauthorized {KEY}"}),
    busy=(
        429,
        {
            "object": "error",
            "message": "Requests rate limit exceeded",
            "type": "rate_limited",
            "param": None,
            "code": "1300",
        },
    ),
    cached_tokens=0,
)


def _ollama(url: str) -> Any:
    from pydantic_ai.providers.ollama import OllamaProvider

    return OllamaProvider(base_url=f"{url}/v1", api_key=KEY)


def _ollama_reply(text: str, *, finish: str = "stop") -> dict[str, object]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "qwen3",
        "system_fingerprint": "fp_ollama",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text},
                "finish_reason": finish,
            }
        ],
        "usage": {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107},
    }


OLLAMA = Exchange(
    name="ollama:qwen3",
    reference="https://docs.ollama.com/api/openai-compatibility",
    path="/v1/chat/completions",
    key_header=("authorization", f"Bearer {KEY}"),
    provider=_ollama,
    text=_ollama_reply(TEXT),
    form=_ollama_reply(json.dumps(FORM)),
    cut=_ollama_reply('{"title": "Harb', finish="length"),
    no_key=(401, {"error": {"message": f"unauthorized {KEY}", "type": "api_error"}}),
    # https://docs.ollama.com/faq: the queue of the server is full
    busy=(503, {"error": {"message": "server busy, please try again", "type": "api_error"}}),
    cached_tokens=0,
)


def _bedrock(url: str) -> Any:
    from spanwise.models.providers.catalog import parse_model_spec
    from spanwise.models.providers.connections import make_bedrock_provider

    spec = parse_model_spec("bedrock:us.amazon.nova-lite-v1:0")
    # With the credentials of the environment: an API key is sent over HTTPS alone.
    return make_bedrock_provider(spec, address=url, key="")


def _converse(*content: Mapping[str, object], stop: str = "end_turn") -> dict[str, object]:
    return {
        "output": {"message": {"role": "assistant", "content": list(content)}},
        "stopReason": stop,
        # What is read from the cache is not among inputTokens.
        "usage": {
            "inputTokens": 60,
            "cacheReadInputTokens": 40,
            "cacheWriteInputTokens": 0,
            "outputTokens": 7,
            "totalTokens": 107,
        },
        "metrics": {"latencyMs": 320},
    }


BEDROCK = Exchange(
    name="bedrock:us.amazon.nova-lite-v1:0",
    reference="https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html",
    path="/model/us.amazon.nova-lite-v1%3A0/converse",
    key_header=("authorization", f"AWS4-HMAC-SHA256 Credential={KEY}/"),
    provider=_bedrock,
    text=_converse({"text": TEXT}),
    form=_converse(
        {"toolUse": {"toolUseId": "tool_1", "name": "answer", "input": FORM}}, stop="tool_use"
    ),
    cut=_converse({"text": '{"title": "Harb'}, stop="max_tokens"),
    no_key=(
        403,
        {
            "__type": "UnrecognizedClientException",
            "message": f"The security token of {KEY} is invalid.",
        },
    ),
    busy=(
        429,
        {
            "__type": "ThrottlingException",
            "message": "Too many requests, please wait before trying again.",
        },
    ),
)

EXCHANGES = (OPENAI, ANTHROPIC, GOOGLE, COHERE, MISTRAL, OLLAMA, BEDROCK)
