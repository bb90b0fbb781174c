"""What went wrong at a provider, as an error of ours that says what to do.

The key stands in no message and in no cause, whatever the provider sends back.
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
    """A call that failed."""

    error: ModelError
    asked_seconds: float | None = None
    """The wait that the provider asks for, before a further call."""
    is_late: bool = False
    """Whether no answer came in time: a further call waits as long, and it gets one at most."""
    is_final: bool = False
    """Whether there is no further call, though one may succeed: part of the answer was given."""


def key_advice(vendor: Vendor) -> str:
    """Return how a key is given."""
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
    asked_seconds: float | None = None,
) -> Failure:
    """Return what an HTTP status means.

    Args:
        status: From 400 on.
        words: What the provider says.
        spec: Which model was asked.
        asked_seconds: The wait that the provider asks for.
    """
    said = f"{spec.vendor.name} answered {status} for {spec.model!r}: {words or 'without a word'}"
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
        f"{said}; {advice}",
        provider=spec.vendor.name,
        model=spec.model,
        status=status,
        retryable=busy,
    )
    return Failure(error=error, asked_seconds=asked_seconds)


def translate(
    error: Exception, *, spec: ModelSpec, secret: Secret | None, timeout_seconds: float
) -> Failure:
    """Return what an exception of a client means.

    Args:
        error: What the client of the vendor, or pydantic-ai, raised.
        spec: Which model was asked.
        secret: The key, which is hidden in what is said.
        timeout_seconds: How long the call might take.
    """
    said = " ".join(_words(error).split())
    words = (said if secret is None else secret.hide_in(said))[:_WORDS_CHARS]
    failure = _of_client(error, words, spec) or _of_connection(error, words, spec, timeout_seconds)
    if secret is None or not _shows(error, secret):
        failure.error.__cause__ = error
    return failure


def _of_client(error: Exception, words: str, spec: ModelSpec) -> Failure | None:
    """Return what an error of pydantic-ai means; None for one of a connection."""
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
            status = 401 if status != 403 else 403  # some say 400 of a key that is not valid
        if error.suggested_model_id is not None:
            words = f"{words} (did you mean {error.suggested_model_id!r}?)"
        return status_failure(status, words, spec=spec, asked_seconds=error.retry_after)
    if isinstance(error, known.UserError):
        return _plain(f"{name} cannot be asked for this: {words}; try another model", spec)
    return None


def _of_connection(
    error: Exception, words: str, spec: ModelSpec, timeout_seconds: float
) -> Failure:
    """Return what an error without an answer of the provider means."""
    from pydantic_ai import exceptions as known

    name = f"{spec.vendor.name}:{spec.model}"
    if isinstance(error, UnicodeEncodeError):
        said = "the text holds half a surrogate pair, which cannot be sent"
        return _plain(f"{name} cannot be asked: {said}; replace it", spec)
    late = TimeoutError | known.ModelTimeoutError | known.ModelRequestTimeout
    if isinstance(error, late):
        said = f"{name} did not answer within {timeout_seconds:g} seconds"
        advice = "try later, allow more timeout_seconds, or lower concurrency"
        return replace(_plain(f"{said}; {advice}", spec, retryable=True), is_late=True)
    if isinstance(error, known.ModelAPIError | OSError):
        said = f"{name} cannot be reached, or broke off: {words}"
        return _plain(f"{said}; check the address and the network", spec, retryable=True)
    said = f"{name} answered what cannot be read: {type(error).__name__}: {words}"
    return _plain(f"{said}; try later, or another model", spec, retryable=True)


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


def _words(error: Exception) -> str:
    """Return what a provider says, without what is wrapped around it."""
    found: object = getattr(error, "body", None)
    for name in ("error", "Error", "message", "Message", "detail"):
        if isinstance(found, Mapping) and name in found:
            found = found[name]
    words = found if isinstance(found, str) and found.strip() else str(error)
    return words.strip().removesuffix(".")  # more is said after it


def _shows(error: BaseException, secret: Secret) -> bool:
    """Return whether a key stands in an error, or in one that it came from."""
    return any(secret.hide_in(text) != text for text in _texts(error))


def _texts(error: BaseException) -> Iterator[str]:
    seen: list[BaseException] = []
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is None or one in seen:
            continue
        seen.append(one)
        yield f"{one} {one!r} {getattr(one, 'body', '')} {one.__dict__}"
        waiting += [one.__cause__, one.__context__]
