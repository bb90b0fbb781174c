"""Bedrock: its own signed requests, and the ways of AWS to say who asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spanwise.errors import ModelKeyError, OptionError
from spanwise.providers.vendors.catalog import ModelSpec

if TYPE_CHECKING:
    from pydantic_ai.providers import Provider

__all__ = ["make_bedrock_provider"]


def make_bedrock_provider(spec: ModelSpec, *, address: str, key: str) -> Provider[Any]:
    """Return the provider, which makes no further calls by itself.

    Args:
        spec: Which model is meant.
        address: Empty for that of the region.
        key: An API key of Bedrock; empty for the usual credentials of AWS (environment, profile,
            role of the machine).

    Raises:
        ModelKeyError: If there are neither a key nor credentials.
        OptionError: If no region is set.
    """
    import boto3
    from botocore.config import Config
    from botocore.exceptions import NoRegionError
    from botocore.session import Session
    from botocore.tokens import FrozenAuthToken
    from pydantic_ai.providers.bedrock import BedrockProvider

    class KeySession(Session):  # type: ignore[misc] # botocore has no types
        """Takes the key that it is given, and looks for no other credentials."""

        def get_auth_token(self, **_: object) -> FrozenAuthToken:
            return FrozenAuthToken(key)

        def get_credentials(self) -> None:
            return None

    session = boto3.Session(botocore_session=KeySession() if key else None)
    if not key and session.get_credentials() is None:
        raise ModelKeyError(
            f"there are no credentials for {spec.name!r}: set {spec.vendor.keys[0]}, or "
            "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE",
            provider=spec.vendor.name,
            model=spec.model,
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
            f"model is {spec.name!r}; no region is set: set AWS_DEFAULT_REGION, as us-east-1"
        ) from error
    return BedrockProvider(bedrock_client=client)
