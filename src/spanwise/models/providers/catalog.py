"""Catalog of vendors, and names of models: "vendor:model".

The name of a model on a self-hosted server ends with its address: "compatible:qwen3@http://host:8000/v1"
is any server with OpenAI's chat interface (llama.cpp, vLLM, LM Studio, a gateway ...).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from spanwise.errors import OptionError


@dataclass(frozen=True, slots=True, kw_only=True)
class Vendor:
    """A vendor of models, with the facts that its clients need."""

    name: str
    keys: tuple[str, ...]
    """Environment variables that may hold the API key; the first one that is set is used."""
    extra: str = "openai"
    """Extra of spanwise that installs the client."""
    needs_key: bool = True
    """Whether every call needs an API key."""
    address_variable: str = ""
    """Environment variable of the base URL."""
    address: str = ""
    """Default base URL; empty for the default of the client."""
    marks_shared: bool = False
    """Whether its client marks the shared part of a prompt for the provider's prompt cache."""
    is_own: bool = False
    """Whether it is a self-hosted server. The name of a model may then end with an address, and the
    schema of an answer constrains the sampling; with other vendors it counts as input tokens."""
    sees_pictures: bool = True
    """Whether its client sends images."""
    tokens_ratio: float = 1.3
    """Number of its tokens per token of o200k_base. It is exact for OpenAI. The default follows
    published comparisons (15 to 30 % more tokens for Claude, on English text and code); it was not
    measured for Spanwise."""


_OPEN_MODELS_RATIO = 1.11
"""Token ratio of open models, measured on llama.cpp with a vocabulary of 49,152: 1 to 1.25 on 40
texts, lowest for licences, highest for source code and lists of versions; 1.11 is within 15 % of
all."""

_ALL = (
    Vendor(
        name="openai",
        keys=("OPENAI_API_KEY",),
        address_variable="OPENAI_BASE_URL",
        marks_shared=True,
        tokens_ratio=1.0,
    ),
    Vendor(
        name="anthropic",
        keys=("ANTHROPIC_API_KEY",),
        extra="anthropic",
        address_variable="ANTHROPIC_BASE_URL",
        marks_shared=True,
    ),
    Vendor(
        name="google",
        keys=("GOOGLE_API_KEY", "GEMINI_API_KEY"),
        extra="google",
        address_variable="GOOGLE_GEMINI_BASE_URL",
        # Its documentation: about four characters per token, as o200k_base has in English.
        tokens_ratio=1.15,
    ),
    Vendor(
        name="cohere",
        keys=("CO_API_KEY",),
        extra="cohere",
        address_variable="CO_API_URL",
        sees_pictures=False,
    ),
    Vendor(
        name="mistral",
        keys=("MISTRAL_API_KEY",),
        extra="mistral",
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
    Vendor(name="deepseek", keys=("DEEPSEEK_API_KEY",)),
    Vendor(name="fireworks", keys=("FIREWORKS_API_KEY",)),
    Vendor(name="moonshotai", keys=("MOONSHOTAI_API_KEY",)),
    Vendor(name="nebius", keys=("NEBIUS_API_KEY",)),
    Vendor(name="openrouter", keys=("OPENROUTER_API_KEY",), marks_shared=True),
    Vendor(name="ovhcloud", keys=("OVHCLOUD_API_KEY",)),
    Vendor(name="sambanova", keys=("SAMBANOVA_API_KEY",)),
    Vendor(name="together", keys=("TOGETHER_API_KEY",)),
    Vendor(name="vercel", keys=("VERCEL_AI_GATEWAY_API_KEY",)),
    Vendor(name="zai", keys=("ZAI_API_KEY",)),
)
VENDORS = {vendor.name: vendor for vendor in _ALL}
"""Vendors by name. From "alibaba" on they offer OpenAI's chat interface at their own address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """Parsed name of a model."""

    vendor: Vendor
    model: str
    """Name of the model at its vendor."""
    address: str = ""
    """Base URL in the name; empty for the configured one or the vendor's default."""

    @property
    def name(self) -> str:
        """Return vendor and model, with the address if the name has one."""
        return f"{self.vendor.name}:{self.model}" + f"@{self.address}" * bool(self.address)


def parse_model_spec(name: str, *, vendors: Mapping[str, Vendor] = VENDORS) -> ModelSpec:
    """Return the parsed name of a model.

    Args:
        name: "vendor:model", or "vendor:model@address".
        vendors: Known vendors, by name.

    Raises:
        OptionError: If it has no known vendor, no model, or an address that is not usable.
    """
    vendor_name, _, rest = name.partition(":")
    vendor = vendors.get(vendor_name)
    if vendor is None:
        known = ", ".join(vendors)
        raise OptionError(f"model is {name!r}; it begins with a vendor, one of {known}")
    model, address = split_address(rest)
    if not model.strip():
        raise OptionError(f'model is {name!r}; it is "vendor:model", such as "openai:gpt-5-mini"')
    if address:
        address = _checked_address(address, name=name)
        if not vendor.is_own:  # its key would go to whoever wrote the address, as into a file
            own = " and ".join(sorted(one.name for one in vendors.values() if one.is_own))
            raise OptionError(f"model is {name!r}; an address is named for models of {own} alone")
    return ModelSpec(vendor=vendor, model=model, address=address)


def split_address(name: str) -> tuple[str, str]:
    """Return what stands before and after the "@" of an address; the address is empty without one.

    Every check of an address and every call use this one split, so that both mean the same server.
    """
    model, mark, rest = name.rpartition("@http")
    return (model, f"http{rest}") if mark else (name, "")


def _checked_address(address: str, *, name: str) -> str:
    """Return an address without a trailing slash."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise OptionError(f"model is {name!r}; {address!r} is no address, as http://host:8000/v1")
    if parts.username or parts.password or parts.query:
        # The address appears in error messages and in cache keys.
        raise OptionError(
            f"the address of model {parts.hostname!r} holds a user, a password or a query; "
            "leave it out, and set the key in the environment"
        )
    return address.rstrip("/")
