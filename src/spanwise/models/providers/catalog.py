"""Catalog of vendors, and parsing of model names such as "openai:gpt-5-mini".

The name of a model on a self-hosted server ends with the address of the server. For example, the
vendor of "compatible:qwen3@http://host:8000/v1" is any server with OpenAI's chat interface
(llama.cpp, vLLM, LM Studio, a gateway ...).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import NamedTuple, TypeVar

from spanwise.errors import ModelError, OptionError

MINILM = "minilm:all-MiniLM-L6-v2"
"""Name of this embedder in the settings of a knowledge base, wherever its weights are."""


class Vendor(NamedTuple):
    """Vendor of models, or kind of self-hosted server."""

    name: str
    keys: tuple[str, ...]
    """Environment variables of the API key; the first one that is set is used."""
    extra: str = "openai"
    """Name of the Spanwise extra that installs the client."""
    needs_key: bool = True
    """Whether every call needs an API key."""
    address_variable: str = ""
    """Environment variable of the base URL; empty if there is none."""
    address: str = ""
    """Default base URL; empty for the default of the client."""
    marks_shared: bool = False
    """Whether the client can mark the shared part of a prompt for the provider's prompt cache."""
    is_own: bool = False
    """Whether the vendor is a self-hosted server. The name of a model may then end with an address,
    and the schema of an answer costs no input tokens, because it only constrains the sampling."""
    model_prefixes: tuple[str, ...] = ()
    """Prefixes of the names of its models, to suggest the vendor if a name has none."""
    sees_pictures: bool = True
    """Whether the client can send images."""
    tokens_ratio: float = 1.3
    """Number of the vendor's tokens per token of o200k_base; exact for OpenAI. The default comes
    from published comparisons (15 to 30 % more tokens for Claude, on English text and code), not
    from a measurement with Spanwise."""


_OPEN_MODELS_RATIO = 1.11
"""Token ratio of open models, measured with llama.cpp and a vocabulary of 49,152 tokens on 40
texts. The ratio was 1 for licences and up to 1.25 for source code; 1.11 is within 15 % of each."""

_ALL = (
    Vendor(
        name="openai",
        keys=("OPENAI_API_KEY",),
        model_prefixes=("gpt-", "chatgpt-", "o1", "o3", "o4", "text-embedding-"),
        address_variable="OPENAI_BASE_URL",
        marks_shared=True,
        tokens_ratio=1.0,
    ),
    Vendor(
        name="anthropic",
        keys=("ANTHROPIC_API_KEY",),
        extra="anthropic",
        model_prefixes=("claude-",),
        address_variable="ANTHROPIC_BASE_URL",
        marks_shared=True,
    ),
    Vendor(
        name="google",
        keys=("GOOGLE_API_KEY", "GEMINI_API_KEY"),
        extra="google",
        model_prefixes=("gemini-",),
        address_variable="GOOGLE_GEMINI_BASE_URL",
        # Its documentation: about four characters per token, as o200k_base has in English.
        tokens_ratio=1.15,
    ),
    Vendor(
        name="cohere",
        keys=("CO_API_KEY",),
        extra="cohere",
        model_prefixes=("command-", "rerank-", "embed-"),
        address_variable="CO_API_URL",
        sees_pictures=False,
    ),
    Vendor(
        name="mistral",
        keys=("MISTRAL_API_KEY",),
        extra="mistral",
        model_prefixes=("mistral-", "ministral-", "magistral-", "codestral-", "pixtral-"),
        address_variable="MISTRAL_BASE_URL",
    ),
    Vendor(
        name="bedrock",
        keys=("AWS_BEARER_TOKEN_BEDROCK",),
        extra="bedrock",
        needs_key=False,  # the credentials of AWS are accepted too
        address_variable="AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
        marks_shared=True,
    ),
    Vendor(
        name="ollama",
        keys=("OLLAMA_API_KEY",),
        extra="ollama",
        model_prefixes=(
            "llama",
            "qwen",
            "gemma",
            "phi",
            "smollm",
            "mistral",
            "mixtral",
            "gpt-oss",
            "granite",
        ),
        needs_key=False,
        address_variable="OLLAMA_BASE_URL",
        address="http://localhost:11434/v1",
        is_own=True,
        tokens_ratio=_OPEN_MODELS_RATIO,
    ),
    Vendor(
        name="compatible",
        keys=("COMPATIBLE_API_KEY",),
        needs_key=False,
        address_variable="COMPATIBLE_BASE_URL",
        is_own=True,
        tokens_ratio=_OPEN_MODELS_RATIO,
    ),
    Vendor(name="alibaba", keys=("ALIBABA_API_KEY", "DASHSCOPE_API_KEY")),
    Vendor(name="deepseek", keys=("DEEPSEEK_API_KEY",), model_prefixes=("deepseek-",)),
    Vendor(name="fireworks", keys=("FIREWORKS_API_KEY",)),
    Vendor(name="moonshotai", keys=("MOONSHOTAI_API_KEY",), model_prefixes=("kimi-",)),
    Vendor(name="nebius", keys=("NEBIUS_API_KEY",)),
    Vendor(name="openrouter", keys=("OPENROUTER_API_KEY",), marks_shared=True),
    Vendor(name="ovhcloud", keys=("OVHCLOUD_API_KEY",)),
    Vendor(name="sambanova", keys=("SAMBANOVA_API_KEY",)),
    Vendor(name="together", keys=("TOGETHER_API_KEY",)),
    Vendor(name="vercel", keys=("VERCEL_AI_GATEWAY_API_KEY",)),
    Vendor(name="zai", keys=("ZAI_API_KEY",), model_prefixes=("glm-",)),
)
VENDORS = {vendor.name: vendor for vendor in _ALL}
"""Vendors by name. All vendors from "alibaba" on offer OpenAI's chat interface."""

_LOGIN = re.compile(r"://[^/]*@|://.*[?#]")
"""User or password, query or fragment of an address."""
_Error = TypeVar("_Error", bound=ModelError)


class ModelSpec(NamedTuple):
    """Parsed name of a model."""

    vendor: Vendor
    model: str
    """Name of the model at its vendor."""
    address: str = ""
    """Base URL in the name; empty if the name has none."""

    @property
    def name(self) -> str:
        """Return "vendor:model", or "vendor:model@address"."""
        return f"{self.vendor.name}:{self.model}" + f"@{self.address}" * bool(self.address)

    def error(
        self,
        message: str,
        *,
        kind: type[_Error],
        status: int | None = None,
        retryable: bool = False,
    ) -> _Error:
        """Return an error of the model; arguments as for `ModelError`."""
        provider = self.vendor.name
        return kind(
            message, provider=provider, model=self.model, status=status, retryable=retryable
        )


def parse_model_spec(name: str, *, vendors: Mapping[str, Vendor] = VENDORS) -> ModelSpec:
    """Return the parsed name of a model.

    Args:
        name: "vendor:model", or "vendor:model@address".
        vendors: Known vendors by name.

    Raises:
        OptionError: If the vendor is unknown, the model or the address is invalid, or the address
            contains a secret.
    """
    check_login(name)
    vendor_name, _, rest = name.partition(":")
    vendor = vendors.get(vendor_name)
    if vendor is None:
        known = ", ".join(vendors)
        meant = suggested_name(name, vendors=vendors)
        hint = f" (did you mean {meant!r}?)" if meant else ""
        raise OptionError(f"model is {name!r}; a name begins with a vendor, one of {known}{hint}")
    model, address = split_address(rest)
    if not model.strip():
        raise OptionError(f'model is {name!r}; it is "vendor:model", such as "openai:gpt-5-mini"')
    if address:
        address = _checked_address(address, name=name)
        if not vendor.is_own:  # the address may come from an untrusted file and would get the key
            own = " and ".join(sorted(known.name for known in vendors.values() if known.is_own))
            raise OptionError(f"model is {name!r}; only models of {own} may have an address")
    return ModelSpec(vendor=vendor, model=model, address=address)


def suggested_name(name: str, *, vendors: Mapping[str, Vendor] = VENDORS) -> str:
    """Return the name that was probably meant by one without a known vendor; empty if unknown.

    Args:
        name: Name of a model without vendor ("gpt-5-mini"), with a slash ("openai/gpt-5-mini"), or
            with a misspelt vendor ("opanai:gpt-5-mini").
        vendors: Known vendors by name.
    """
    before, mark, rest = name.partition(":")
    slashed, _, model = name.partition("/")
    if slashed.lower() in vendors and model:
        return f"{slashed.lower()}:{model}"
    known = [
        vendor
        for vendor in vendors.values()
        for prefix in vendor.model_prefixes
        if name.lower().startswith(prefix)
    ]
    if mark:  # a tag such as "qwen3:8b" belongs to a model of a self-hosted server
        known = [vendor for vendor in known if vendor.is_own] or known
    if known:
        return f"{known[0].name}:{name}"
    close = get_close_matches(before.lower(), vendors, n=1)
    return f"{close[0]}:{rest}" if close and rest else ""


def split_address(name: str) -> tuple[str, str]:
    """Return the model and the address in "model@http://..."; the address is empty if missing.

    Checks of addresses and calls must both use this function, so that both refer to the same
    server.
    """
    model, mark, rest = name.rpartition("@http")
    return (model, f"http{rest}") if mark else (name, "")


def check_login(name: str) -> None:
    """Check that the address in the name of a model has no secrets, before any message shows it.

    Raises:
        OptionError: If it contains a user, a password, a query or a fragment.
    """
    if _LOGIN.search(name):
        # The address appears in error messages and in cache keys.
        raise OptionError(
            f"the address of a model of {name.partition(':')[0]!r} holds a user, a password or a "
            "query; leave it out, and set the key in the environment"
        )


def _checked_address(address: str, *, name: str) -> str:
    """Return an address without a trailing slash.

    Raises:
        OptionError: If it is not an HTTP URL.
    """
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise OptionError(
            f"model is {name!r}; {address!r} is not an address such as http://host:8000/v1"
        )
    return address.rstrip("/")
