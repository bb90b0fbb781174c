"""Connections to providers, one per address and API key, and the base class of their clients."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from spanwise.errors import ModelKeyError, OptionError
from spanwise.models.providers.addresses import find_access
from spanwise.models.providers.catalog import ModelSpec, Vendor
from spanwise.models.providers.failures import Failure, translate
from spanwise.models.providers.retry import RateLimiter, RetryState
from spanwise.options import ModelOptions
from spanwise.threads import close_at_exit

if TYPE_CHECKING:
    from pydantic_ai.providers import Provider

    from spanwise.config import Secret


def make_bedrock_provider(spec: ModelSpec, *, address: str, key: str) -> Provider[Any]:
    """Return the pydantic-ai provider of Bedrock, with retries disabled in its client.

    Args:
        spec: Parsed name of the model.
        address: Base URL; empty for the default of the AWS region.
        key: API key of Bedrock; empty to use AWS credentials (environment, profile or role).

    Raises:
        ModelKeyError: If there is neither a key nor credentials.
        OptionError: If no AWS region is set.
    """
    import boto3
    from botocore.config import Config
    from botocore.exceptions import NoRegionError
    from botocore.session import Session
    from botocore.tokens import FrozenAuthToken
    from pydantic_ai.providers.bedrock import BedrockProvider

    class KeySession(Session):  # type: ignore[misc] # botocore has no types
        """Session that uses one API key and no other credentials."""

        def get_auth_token(self, **_: object) -> FrozenAuthToken:
            return FrozenAuthToken(key)

        def get_credentials(self) -> None:
            return None

    session = boto3.Session(botocore_session=KeySession() if key else None)
    if not key and session.get_credentials() is None:
        raise spec.error(
            f"there are no credentials for {spec.name!r}: set {spec.vendor.keys[0]}, or "
            "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE",
            kind=ModelKeyError,
        )
    config = Config(
        retries={"total_max_attempts": 1},
        max_pool_connections=64,
        signature_version="bearer" if key else None,
    )
    try:
        client = session.client("bedrock-runtime", config=config, endpoint_url=address or None)
    except NoRegionError as error:
        raise OptionError(
            f"model is {spec.name!r}; no region is set: set AWS_DEFAULT_REGION, such as us-east-1"
        ) from error
    return BedrockProvider(bedrock_client=client)


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """Client of a provider, with its API key and rate limiter."""

    provider: Provider[Any]
    address: str
    """Base URL; empty for the vendor's default."""
    secret: Secret | None
    """API key; None if there is none."""
    limiter: RateLimiter = field(default_factory=RateLimiter)
    """Rate limiter of all calls through this connection."""

    async def close(self) -> None:
        """Close the client of the provider; must be called on the event loop."""
        async with self.provider:  # leaving the block closes the client
            pass


@dataclass(slots=True, kw_only=True, eq=False)
class VendorClient:
    """Base class of the language models and embedders of a vendor."""

    spec: ModelSpec
    options: ModelOptions
    connection: Connection

    @property
    def name(self) -> str:
        """Return "vendor:model", or "vendor:model@address"."""
        return self.spec.name

    @property
    def concurrency(self) -> int:
        """Return the maximum number of concurrent calls to the provider."""
        return self.options.concurrency or self.connection.limiter.default_concurrency

    def new_retry_state(self) -> RetryState:
        """Return the retry state of a new call."""
        return RetryState(limiter=self.connection.limiter, options=self.options)

    def translate(self, error: Exception) -> Failure:
        """Return the failure for an exception of the vendor's client or of pydantic-ai."""
        return translate(
            error,
            spec=self.spec,
            secret=self.connection.secret,
            timeout_seconds=self.options.timeout_seconds,
            address=self.connection.address,
        )


_connections: dict[tuple[int, str, str, str], Connection] = {}
"""Connections by process, vendor, address and key. A forked process opens its own connections."""
_lock = threading.Lock()
_NO_KEY = "no-key"


def connect(spec: ModelSpec, *, needs_key: bool = True) -> Connection:
    """Return the connection of a model; nothing is sent.

    Args:
        spec: Parsed name of the model.
        needs_key: See `find_access`. Clients without a key get a placeholder.

    Raises:
        ModelKeyError: If the vendor needs a key, and there is none.
        OptionError: If the client of the vendor is not installed, or there is no address.
    """
    vendor = spec.vendor
    address, secret = find_access(spec, kind="model", needs_key=needs_key)
    key = "" if secret is None else secret.reveal()
    if secret is None and vendor.needs_key:
        key = _NO_KEY
    identity = (os.getpid(), vendor.name, address, key)
    with _lock:
        connection = _connections.get(identity)
        if connection is None:
            connection = Connection(
                provider=_make_provider(spec, address=address, key=key),
                address=address,
                secret=secret,
                limiter=RateLimiter(server=address or vendor.name, is_self_hosted=vendor.is_own),
            )
            _connections[identity] = connection
            close_at_exit(connection.close)
    return connection


def _make_provider(spec: ModelSpec, *, address: str, key: str) -> Provider[Any]:
    vendor = spec.vendor
    try:
        if vendor.name == "bedrock":
            return make_bedrock_provider(spec, address=address, key=key)
        if vendor.name == "compatible":
            from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

            return OpenAICompatibleProvider(vendor.name, base_url=address, api_key=key or None)
        if vendor.name == "cohere":
            return _make_cohere_provider(address=address, key=key)
        if vendor.name == "voyage":
            return _make_voyage_provider(address=address, key=key)
        from pydantic_ai.providers import infer_provider_class

        provider: Callable[..., Provider[Any]] = infer_provider_class(vendor.name)
        place = {"base_url": address} if address else {}
        return provider(api_key=key or None, **place)
    except ImportError as error:
        raise OptionError(_not_installed(vendor, error)) from error


def _make_cohere_provider(*, address: str, key: str) -> Provider[Any]:
    """Return the pydantic-ai provider of Cohere, with retries disabled in its client."""
    import httpx
    from cohere import AsyncClientV2
    from pydantic_ai.providers.cohere import CohereProvider

    http = httpx.AsyncClient()
    close_at_exit(http.aclose)
    client = AsyncClientV2(api_key=key, base_url=address or None, max_retries=0, httpx_client=http)
    return CohereProvider(cohere_client=client)


def _make_voyage_provider(*, address: str, key: str) -> Provider[Any]:
    from pydantic_ai.providers.voyageai import VoyageAIProvider
    from voyageai.client_async import AsyncClient

    return VoyageAIProvider(voyageai_client=AsyncClient(api_key=key, base_url=address or None))


def _not_installed(vendor: Vendor, error: ImportError) -> str:
    package = f" ({error.name})" if error.name else ""  # some errors of pydantic-ai have no name
    return (
        f"models of {vendor.name} need a package that is not installed{package}: "
        f"pip install 'spanwise[{vendor.extra}]'"
    )
