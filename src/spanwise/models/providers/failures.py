"""Translation of errors of providers and their clients to `ModelError`.

The API key is removed from all messages, and an exception that contains it is never a cause.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from spanwise.config import Secret
from spanwise.errors import ModelAnswerError, ModelError, ModelKeyError
from spanwise.models.providers.catalog import ModelSpec, Vendor

_WORDS_CHARS = 300
_BUSY = frozenset({408, 409, 425, 429})


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Failure of a call, with the facts that decide whether it is retried."""

    error: ModelError
    """Error to raise if the call is not retried."""
    retry_after_seconds: float | None = None
    """Wait before a retry that the provider requested, in seconds; None if not requested."""
    timed_out: bool = False
    """Whether the call timed out. A call is retried at most once after a timeout."""
    is_final: bool = False
    """Whether the call must not be retried, for example because part of a stream was delivered."""


def key_advice(vendor: Vendor) -> str:
    """Return a phrase that tells the user how to set the API key of a vendor."""
    name = vendor.keys[0]
    place = f"; it is sent to a public address only if {vendor.address_variable} is set to that"
    return (
        f"set {' or '.join(vendor.keys)} in the environment, or store it in the keyring with "
        f"`keyring set spanwise {name}` (pip install 'spanwise[keyring]')" + place * vendor.is_own
    )


def status_failure(
    status: int,
    words: str,
    *,
    spec: ModelSpec,
    retry_after_seconds: float | None = None,
    address: str = "",
) -> Failure:
    """Return the failure for an HTTP error status.

    Args:
        status: HTTP status other than success.
        words: Message of the provider.
        spec: Parsed name of the model.
        retry_after_seconds: Wait that the provider requested, in seconds; None if not requested.
        address: Address of the server; empty for the vendor's default.
    """
    place = _at(address)
    words = words or "no message"
    answer = f"{spec.vendor.name}{place} answered {status} for {spec.model!r}: {words}"
    kind: type[ModelError] = ModelError
    busy = status in _BUSY or status >= 500
    if status in (401, 403):
        kind = ModelKeyError
        advice = f"the key is missing, wrong or may not use this model: {key_advice(spec.vendor)}"
    elif status == 402:
        advice = "add credit to the account"
    elif status == 404:
        advice = "check the name of the model and the address"
    elif status == 429:
        advice = "try later, or call less often: lower concurrency, set requests_per_minute"
    elif busy:
        advice = "try later, or name a fallback model"
    else:
        advice = "the request itself is refused: try another model"
    error = spec.error(f"{answer}; {advice}", kind=kind, status=status, retryable=busy)
    return Failure(error=error, retry_after_seconds=retry_after_seconds)


def translate(
    error: Exception,
    *,
    spec: ModelSpec,
    secret: Secret | None,
    timeout_seconds: float,
    address: str = "",
) -> Failure:
    """Return the failure for an exception of a vendor's client or of pydantic-ai.

    Args:
        error: The exception.
        spec: Parsed name of the model.
        secret: API key, which is removed from the message; None without a key.
        timeout_seconds: Timeout of the call, for the message.
        address: Address of the server, for the message; empty for the vendor's default.
    """
    message = " ".join(_provider_message(error).split())
    words = (message if secret is None else secret.hide_in(message))[:_WORDS_CHARS]
    failure = _of_client(error, words, spec, address) or _of_connection(
        error, words, spec, timeout_seconds, address
    )
    if secret is None or not _contains_secret(error, secret):
        failure.error.__cause__ = error
    return failure


def _of_client(error: Exception, words: str, spec: ModelSpec, address: str) -> Failure | None:
    """Return the failure for an error that pydantic-ai classifies; None for other errors."""
    from pydantic_ai import exceptions as known

    name = f"{spec.vendor.name}:{spec.model}"
    if isinstance(error, known.ContentFilterError):
        message = f"{name} refuses to answer: {words}"
        return Failure(error=spec.error(message, kind=ModelAnswerError))
    if isinstance(error, known.ModelContextWindowExceededError):
        message = f"the request is too long for {name}: {words}"
        advice = "use smaller windows or budgets, or a model that takes more"
        return _plain(f"{message}; {advice}", spec, status=_status(error))
    if isinstance(error, known.ModelQuotaExceededError):
        message = f"the account at {spec.vendor.name} has no credit or quota left: {words}"
        return _plain(f"{message}; add some, or name a fallback model", spec, status=_status(error))
    if isinstance(error, known.ModelHTTPError):
        status = 429 if isinstance(error, known.ModelRateLimitError) else error.status_code
        if isinstance(error, known.ModelAuthenticationError):
            status = 401 if status != 403 else 403  # some answer 400 to an invalid key
        if error.suggested_model_id is not None:
            words = f"{words} (did you mean {error.suggested_model_id!r}?)"
        return status_failure(
            status,
            words,
            spec=spec,
            retry_after_seconds=error.retry_after,
            address=address,
        )
    if isinstance(error, known.UserError):
        return _plain(f"{name} does not support this request: {words}; try another model", spec)
    return None


def _of_connection(
    error: Exception, words: str, spec: ModelSpec, timeout_seconds: float, address: str
) -> Failure:
    """Return the failure for a call without a usable response of the provider."""
    from pydantic_ai import exceptions as known

    name = f"{spec.vendor.name}:{spec.model}{_at(address)}"
    if isinstance(error, UnicodeEncodeError):
        fault = "the text holds half a surrogate pair, which cannot be sent"
        return _plain(f"{name} cannot be called: {fault}; replace it", spec)
    late = TimeoutError | known.ModelTimeoutError | known.ModelRequestTimeout
    if isinstance(error, late):
        fault = f"{name} did not answer within {timeout_seconds:g} seconds"
        advice = "try later, allow more timeout_seconds, or lower concurrency"
        return replace(_plain(f"{fault}; {advice}", spec, retryable=True), timed_out=True)
    if isinstance(error, known.ModelAPIError | OSError):
        fault = f"{name} cannot be reached, or broke off: {words}"
        return _plain(f"{fault}; check the address and the network", spec, retryable=True)
    fault = f"{name} gave an answer that cannot be read: {type(error).__name__}: {words}"
    return _plain(f"{fault}; try later, or another model", spec, retryable=True)


def _at(address: str) -> str:
    return f" at {address}" if address else ""


def _plain(
    message: str, spec: ModelSpec, *, status: int | None = None, retryable: bool = False
) -> Failure:
    error = spec.error(message, kind=ModelError, status=status, retryable=retryable)
    return Failure(error=error)


def _status(error: Exception) -> int | None:
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) else None


def _provider_message(error: Exception) -> str:
    """Return the message of a provider, extracted from the JSON of its response."""
    body: object = getattr(error, "body", None)
    for name in ("error", "Error", "message", "Message", "detail"):
        if isinstance(body, Mapping) and name in body:
            body = body[name]
    message = body if isinstance(body, str) and body.strip() else str(error)
    return message.strip().removesuffix(".")  # advice follows the message


def _contains_secret(error: BaseException, secret: Secret) -> bool:
    """Return whether an error, or one of its causes, contains an API key."""
    return any(secret.hide_in(text) != text for text in _texts(error))


def _texts(error: BaseException) -> Iterator[str]:
    """Yield the text of an error, and of each of its causes and contexts."""
    seen: list[BaseException] = []
    pending: list[BaseException | None] = [error]
    while pending:
        cause = pending.pop()
        if cause is None or cause in seen:
            continue
        seen.append(cause)
        yield f"{cause} {cause!r} {getattr(cause, 'body', '')} {cause.__dict__}"
        pending += [cause.__cause__, cause.__context__]
