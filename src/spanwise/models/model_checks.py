"""Checks of model objects and their results; errors name the model.

The models may be objects of the user, so their attributes and results are checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import TypeVar

from spanwise.errors import ModelAnswerError, ModelError, OptionError, SpanwiseError

_Result = TypeVar("_Result")
_Error = TypeVar("_Error", bound=ModelError)


@contextmanager
def translated_errors(name: str) -> Iterator[None]:
    """Translate an exception in the block to a `ModelError`, except for errors of Spanwise.

    Args:
        name: Vendor and model.
    """
    try:
        yield
    except (SpanwiseError, CancelledError):
        raise
    except Exception as error:
        message = f"{name} failed: {type(error).__name__}: {error}; try another model"
        raise model_error(name, message, kind=ModelError) from error


def model_error(name: str, message: str, *, kind: type[_Error]) -> _Error:
    """Return an error of a model.

    Args:
        name: Vendor and model.
        message: Complete message.
        kind: Class of the error.
    """
    provider, _, model = name.partition(":")
    return kind(message, provider=provider, model=model)


def unusable_answer(name: str, fault: str) -> ModelAnswerError:
    """Return the error for an answer that cannot be used.

    Args:
        name: Vendor and model.
        fault: Rest of the message after the name: the fault, and what to do.
    """
    return model_error(name, f"{name} {fault}", kind=ModelAnswerError)


def check_type(name: str, value: object, expected: type[_Result], *, what: str) -> _Result:
    """Return a value that a model returned, after a check of its type.

    Args:
        name: Vendor and model.
        value: The value.
        expected: Required type.
        what: Description of the value for the error message, such as "reply".

    Raises:
        ModelAnswerError: If the value is of another type.
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
    """Check that an object has the attributes and methods of a model.

    Args:
        model: The object.
        methods: Names of the required methods.
        kind: Kind of model for the error message, such as "reranker".
        has_concurrency: Whether the attribute `concurrency` is required.

    Raises:
        OptionError: If an attribute is missing or of a wrong type.
    """
    name, concurrency = getattr(model, "name", None), getattr(model, "concurrency", None)
    faults = [f"{method}()" for method in methods if not callable(getattr(model, method, None))]
    if not (isinstance(name, str) and name):
        faults.append("name (a str)")
    if not isinstance(model_version(model), str):
        faults.append("version (a str; may be left out)")
    if has_concurrency and not (isinstance(concurrency, int) and concurrency >= 1):
        faults.append("concurrency (an int, at least 1)")
    if faults:
        raise OptionError(
            f"{kind} is {model!r}, without a usable {', '.join(faults)}; see spanwise.models.ports"
        )


def accepts_images(model: object) -> bool:
    """Return whether a language model accepts images, as far as it is known."""
    return bool(getattr(model, "accepts_images", True))


def model_version(model: object) -> str:
    """Return the version of a model, which is part of its cache keys; empty if it has none."""
    version: str = getattr(model, "version", "")
    return version
