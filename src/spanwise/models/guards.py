"""Checks of model objects: faults of a user's own object become errors that name it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import TypeVar

from spanwise.errors import ModelAnswerError, ModelError, OptionError, SpanwiseError

_Result = TypeVar("_Result")


@contextmanager
def translated_errors(name: str) -> Iterator[None]:
    """Raise a `ModelError` for each exception of a model; errors of Spanwise pass unchanged.

    Args:
        name: Vendor and model, named in the error.
    """
    try:
        yield
    except (SpanwiseError, CancelledError):
        raise
    except Exception as error:
        provider, _, model = name.partition(":")
        raise ModelError(
            f"{name} failed: {type(error).__name__}: {error}; try another model",
            provider=provider,
            model=model,
        ) from error


def unusable_answer(name: str, fault: str) -> ModelAnswerError:
    """Return the error for an answer that cannot be used.

    Args:
        name: Vendor and model.
        fault: What is wrong, as a phrase that follows the name, with the advice.
    """
    provider, _, model = name.partition(":")
    return ModelAnswerError(f"{name} {fault}", provider=provider, model=model)


def check_type(name: str, value: object, expected: type[_Result], *, what: str) -> _Result:
    """Return a value that a model returned, if it is of the type of its port.

    Args:
        name: Vendor and model.
        value: The value.
        expected: The type.
        what: Name of the value in the error.

    Raises:
        ModelAnswerError: If it is of another type.
    """
    if not isinstance(value, expected):
        raise unusable_answer(
            name,
            f"returned {type(value).__name__!r} as {what}, where {expected.__name__!r} is "
            "expected; see spanwise.models.ports",
        )
    return value


def check_model(
    model: object, methods: Sequence[str], *, kind: str, has_concurrency: bool = False
) -> None:
    """Check that an object has the name and the methods of its port.

    Args:
        model: The object.
        methods: Names of its required methods.
        kind: Kind of model, named in the error.
        has_concurrency: Whether `concurrency` is required.

    Raises:
        OptionError: If an attribute is missing or of a wrong type.
    """
    name, calls = getattr(model, "name", None), getattr(model, "concurrency", None)
    faults = [f"{method}()" for method in methods if not callable(getattr(model, method, None))]
    if not (isinstance(name, str) and name):
        faults.append("name (a str)")
    if not isinstance(model_version(model), str):
        faults.append("version (a str; may be left out)")
    if has_concurrency and not (isinstance(calls, int) and calls >= 1):
        faults.append("concurrency (an int, at least 1)")
    if faults:
        raise OptionError(
            f"{kind} is {model!r}, without a usable {', '.join(faults)}; see spanwise.models.ports"
        )


def model_version(model: object) -> str:
    """Return the `version` of a model, a part of its cache keys; empty if it has none."""
    version: str = getattr(model, "version", "")
    return version
