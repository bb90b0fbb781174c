"""Translation of errors of providers and their clients to `ModelError`.

No message and no cause contains the API key, whatever the provider returns.
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
    """A failed call."""

    error: ModelError
    retry_after_seconds: float | None = None
    """Wait before a retry that the provider requests; None if it requests none."""
    timed_out: bool = False
    """Whether the call timed out; such a call is retried once at most, with the same limit."""
    is_final: bool = False
    """Whether there is no retry although one could succeed: part of the answer was delivered."""


def key_advice(vendor: Vendor) -> str:
    """Return the advice on how to set an API key."""
    name = vendor.keys[0]
    place = f"; to a public address it goes only if {vendor.address_variable} is set to it"
    return (
        f"set {' or '.join(vendor.keys)} in the environment, or keep it in the keyring by "
        f"`keyring set spanwise {name}` (pip install 'spanwise[keyring]')" + place * vendor.is_own
    )


def status_failure(
    status: int,
    words: str,
    *,
    spec: ModelSpec,
    retry_after_seconds: float | None = None,
) -> Failure:
    """Return the failure of an HTTP status.

    Args:
        status: HTTP status, from 400 on.
        words: Message of the provider.
        spec: The parsed name of the model.
        retry_after_seconds: Wait that the provider requests.
    """
    answer = f"{spec.vendor.name} answered {status} for {spec.model!r}: {words or 'without a word'}"
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
    error = kind(
        f"{answer}; {advice}",
        provider=spec.vendor.name,
        model=spec.model,
        status=status,
        retryable=busy,
    )
    return Failure(error=error, retry_after_seconds=retry_after_seconds)


def translate(
    error: Exception, *, spec: ModelSpec, secret: Secret | None, timeout_seconds: float
) -> Failure:
    """Return the failure of an exception.

    Args:
        error: Exception of the vendor's client or of pydantic-ai.
        spec: The parsed name of the model.
        secret: API key, removed from the message.
        timeout_seconds: Time limit of the call.
    """
    message = " ".join(_provider_message(error).split())
    words = (message if secret is None else secret.hide_in(message))[:_WORDS_CHARS]
    failure = _of_client(error, words, spec) or _of_connection(error, words, spec, timeout_seconds)
    if secret is None or not _contains_secret(error, secret):
        failure.error.__cause__ = error
    return failure


def _of_client(error: Exception, words: str, spec: ModelSpec) -> Failure | None:
    """Return the failure of an error of pydantic-ai; None for an error of a connection."""
    from pydantic_ai import exceptions as known

    name = f"{spec.vendor.name}:{spec.model}"
    if isinstance(error, known.ContentFilterError):
        return _plain(f"{name} refuses to answer: {words}", spec, kind=ModelAnswerError)
    if isinstance(error, known.ModelContextWindowExceededError):
        return _plain(
            f"the request is too long for {name}: {words}; use smaller windows or budgets, or a "
            "model that takes more",
            spec,
            status=_status(error),
        )
    if isinstance(error, known.ModelQuotaExceededError):
        return _plain(
            f"the account at {spec.vendor.name} has no credit or quota left: {words}; add some, "
            "or name a fallback model",
            spec,
            status=_status(error),
        )
    if isinstance(error, known.ModelHTTPError):
        status = 429 if isinstance(error, known.ModelRateLimitError) else error.status_code
        if isinstance(error, known.ModelAuthenticationError):
            status = 401 if status != 403 else 403  # some answer 400 to an invalid key
        if error.suggested_model_id is not None:
            words = f"{words} (did you mean {error.suggested_model_id!r}?)"
        return status_failure(status, words, spec=spec, retry_after_seconds=error.retry_after)
    if isinstance(error, known.UserError):
        return _plain(f"{name} cannot be asked for this: {words}; try another model", spec)
    return None


def _of_connection(
    error: Exception, words: str, spec: ModelSpec, timeout_seconds: float
) -> Failure:
    """Return the failure of an error without an answer of the provider."""
    from pydantic_ai import exceptions as known

    name = f"{spec.vendor.name}:{spec.model}"
    if isinstance(error, UnicodeEncodeError):
        fault = "the text holds half a surrogate pair, which cannot be sent"
        return _plain(f"{name} cannot be asked: {fault}; replace it", spec)
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


def _plain(
    message: str,
    spec: ModelSpec,
    *,
    kind: type[ModelError] = ModelError,
    status: int | None = None,
    retryable: bool = False,
) -> Failure:
    error = kind(
        message,
        provider=spec.vendor.name,
        model=spec.model,
        status=status,
        retryable=retryable,
    )
    return Failure(error=error)


def _status(error: Exception) -> int | None:
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) else None


def _provider_message(error: Exception) -> str:
    """Return the message of a provider, unwrapped from the JSON around it."""
    body: object = getattr(error, "body", None)
    for name in ("error", "Error", "message", "Message", "detail"):
        if isinstance(body, Mapping) and name in body:
            body = body[name]
    message = body if isinstance(body, str) and body.strip() else str(error)
    return message.strip().removesuffix(".")  # a sentence follows it


def _contains_secret(error: BaseException, secret: Secret) -> bool:
    """Return whether an error, or one of its causes, contains an API key."""
    return any(secret.hide_in(text) != text for text in _texts(error))


def _texts(error: BaseException) -> Iterator[str]:
    """Yield all text of an error and of its causes."""
    seen: list[BaseException] = []
    pending: list[BaseException | None] = [error]
    while pending:
        cause = pending.pop()
        if cause is None or cause in seen:
            continue
        seen.append(cause)
        yield f"{cause} {cause!r} {getattr(cause, 'body', '')} {cause.__dict__}"
        pending += [cause.__cause__, cause.__context__]
